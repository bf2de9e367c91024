#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/cli/study_runs.hpp"

/// What a study does when something around it breaks.
namespace pipecast::cli {
namespace {

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

std::size_t count_of(const std::string& text, std::string_view part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

/// One message, which says `part`, and the exit code of a user's fault.
void expect_one_message(const Outcome& outcome, std::string_view part) {
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  EXPECT_EQ(count_of(outcome.err, "error:"), 1U) << outcome.err;
  EXPECT_TRUE(has(outcome.err, part)) << part << "\n" << outcome.err;
}

TEST(StudyFaults, SurvivesBeingKilledAnywhere) {
  const Workshop workshop;
  workshop.write("busy.yaml", busy_study());
  const WholeStudy whole = run_whole(workshop, "busy.yaml");
  for (const double part : {0.02, 0.1, 0.3, 0.6, 0.8, 0.95})
    EXPECT_TRUE(
        same_table(killed_and_resumed(workshop, "busy.yaml", part * whole.seconds), whole.csv))
        << part;
}

/// Killed again and again without ever having ended, the same database goes on.
TEST(StudyFaults, GoesOnThroughManyKills) {
  const Workshop workshop;
  workshop.write("busy.yaml", busy_study());
  const WholeStudy whole = run_whole(workshop, "busy.yaml");
  const std::string sweep = "pipecast sweep busy.yaml --out many.db --jobs 2 --quiet";
  for (int kill = 1; kill <= 5; ++kill)
    workshop.sh(fmt::format("{} & p=$!; sleep {:.3f}; kill -9 $p; wait $p", sweep,
                            whole.seconds * kill / 10));
  EXPECT_EQ(workshop.sh(sweep).code, 0);
  EXPECT_TRUE(same_table(exported(workshop, "many.db"), whole.csv));
}

TEST(StudyFaults, AKilledWorkerCostsNothing) {
  const Workshop workshop;
  workshop.write("busy.yaml", busy_study());
  const WholeStudy whole = run_whole(workshop, "busy.yaml");
  const Outcome outcome = workshop.sh(
      fmt::format("pipecast sweep busy.yaml --out killed.db --jobs 2 --quiet & p=$!; sleep {:.3f}\n"
                  "kill -9 $(cat /proc/$p/task/$p/children); wait $p",
                  whole.seconds / 3));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(same_table(exported(workshop, "killed.db"), whole.csv));
}

/// One candidate that takes a while; its worker is killed whenever there is one.
TEST(StudyFaults, ARowWhoseWorkerDiesTwiceSaysSo) {
  const Workshop workshop;
  workshop.write("heavy.yaml", R"(name: heavy
scenario:
  pipeline: {schedule: 1f1b, ranks: 64, microbatches: 16384}
  workload: {costs: {forward: 10 ms, backward: 20 ms}}
  platform: {delay: 10 us}
axes: {pipeline.ranks: [64]}
)");
  const Outcome outcome = workshop.sh(R"(
pipecast sweep heavy.yaml --out heavy.db --jobs 1 & p=$!
killed=
while [ -d /proc/$p ] && ! grep -q '^State:.Z' /proc/$p/status; do
  for w in $(cat /proc/$p/task/$p/children 2>/dev/null); do
    case " $killed " in
      *" $w "*) ;;
      *) sleep 0.1; kill -9 $w && killed="$killed $w" ;;
    esac
  done
  sleep 0.05
done
wait $p; s=$?
echo $killed | wc -w
exit $s)");
  EXPECT_EQ(outcome.code, 3) << outcome.err;
  EXPECT_TRUE(has(outcome.out, "crashed: the worker was killed by signal 9 (Killed), twice"))
      << outcome.out;
  EXPECT_TRUE(has(outcome.out, "\n2\n")) << outcome.out;
  EXPECT_TRUE(has(exported(workshop, "heavy.db"), "crashed,\"the worker was killed by signal 9"))
      << exported(workshop, "heavy.db");
}

/// A file system of 2 MB that can be filled, mounted over a folder of the workshop.
class FullDisk {
 public:
  explicit FullDisk(const Workshop& workshop) : workshop_(workshop) {
    mounted_ = workshop.sh("mkdir disk && mount -t tmpfs -o size=2m tmpfs disk").code == 0;
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;
  ~FullDisk() {
    if (mounted_) workshop_.sh("umount disk");
  }
  bool mounted() const { return mounted_; }
  void fill() const { workshop_.sh("cat /dev/zero >disk/fill"); }
  void make_room() const { workshop_.sh("rm disk/fill"); }

 private:
  const Workshop& workshop_;
  bool mounted_ = false;
};

/// Runs this test once more where it may mount: as root of a user namespace of its own. False where
/// the machine gives none.
bool passes_in_own_namespace() {
  if (std::getenv("PIPECAST_IN_NAMESPACE") != nullptr) return false;
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  if (std::system("unshare --map-root-user --mount true 2>/dev/null") != 0) return false;
  EXPECT_EQ(std::system(fmt::format("PIPECAST_IN_NAMESPACE=1 unshare --map-root-user --mount {} "
                                    "--gtest_brief=1 --gtest_filter={}.{} >&2",
                                    self, test->test_suite_name(), test->name())
                            .c_str()),
            0);
  return true;
}

TEST(StudyFaults, AFullDiskKeepsWhatIsThere) {
  const Workshop workshop;
  const FullDisk disk(workshop);
  if (!disk.mounted()) {
    if (passes_in_own_namespace()) return;
    GTEST_SKIP() << "this machine lets nobody mount a small file system";
  }
  workshop.write("busy.yaml", busy_study());
  const WholeStudy whole = run_whole(workshop, "busy.yaml");
  ASSERT_EQ(workshop.sh("pipecast sweep busy.yaml --out disk/s.db --shard 1/9 --quiet").code, 0);
  const std::string before = exported(workshop, "disk/s.db");
  disk.fill();
  expect_one_message(workshop.sh("pipecast sweep busy.yaml --out disk/s.db --quiet"),
                     "no space left to write 'disk/s.db'");
  EXPECT_TRUE(same_table(exported(workshop, "disk/s.db"), before));
  expect_one_message(workshop.sh("pipecast sweep busy.yaml --out disk/new.db --quiet"),
                     "no space left to write 'disk/new.db'");
  expect_one_message(workshop.sh("pipecast study merge whole.db --out disk/s.db"),
                     "no space left to write 'disk/s.db'");
  EXPECT_TRUE(same_table(exported(workshop, "disk/s.db"), before));
  expect_one_message(workshop.sh("pipecast study export whole.db --csv disk/x.csv"),
                     "cannot write 'disk/x.csv': No space left on device");
  expect_one_message(workshop.sh("pipecast study report whole.db --out disk/x.html"),
                     "cannot write 'disk/x.html': No space left on device");
  EXPECT_EQ(workshop.sh("ls disk").out, "fill\nnew.db\ns.db\n");
  disk.make_room();
  EXPECT_EQ(workshop.sh("pipecast sweep busy.yaml --out disk/s.db --quiet").code, 0);
  EXPECT_TRUE(same_table(exported(workshop, "disk/s.db"), whole.csv));
}

/// The disk fills up at different moments: while rows are added, while the log is put into the
/// file.
TEST(StudyFaults, ADiskThatFillsUpLosesNothing) {
  const Workshop workshop;
  workshop.write("busy.yaml", busy_study());
  const WholeStudy whole = run_whole(workshop, "busy.yaml");
  for (const int blocks : {16, 64, 160, 256}) {
    const Outcome full = workshop.sh(fmt::format(
        "rm -f full.db*; ulimit -f {}; pipecast sweep busy.yaml --out full.db --quiet", blocks));
    expect_one_message(full, "full.db'");
    EXPECT_EQ(workshop.sh("pipecast sweep busy.yaml --out full.db --quiet").code, 0);
    EXPECT_TRUE(same_table(exported(workshop, "full.db"), whole.csv)) << blocks;
  }
}

/// What a kill has left is read where nothing can be written.
TEST(StudyFaults, AFullDiskDoesNotHideRows) {
  const Workshop workshop;
  const FullDisk disk(workshop);
  if (!disk.mounted()) {
    if (passes_in_own_namespace()) return;
    GTEST_SKIP() << "this machine lets nobody mount a small file system";
  }
  workshop.write("busy.yaml", busy_study());
  workshop.sh(
      "sed -i 's/range: \\[4, 128\\]/range: [4, 4000]/' busy.yaml\n"
      "pipecast sweep busy.yaml --out disk/s.db --jobs 1 --quiet & p=$!\n"
      "tries=200; while [ $(stat -c %s disk/s.db-wal 2>/dev/null || echo 0) -lt 100000 ] && "
      "[ $tries -gt 0 ]; do sleep 0.02; tries=$((tries - 1)); done\n"
      "kill -9 $p; wait $p");
  disk.fill();
  const Outcome outcome =
      workshop.sh("[ -s disk/s.db-wal ] && pipecast study export disk/s.db --csv -");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_GT(count_of(outcome.out, "\n"), 10U);
}

TEST(StudyFaults, AReadOnlyDiskIsReadAndNotWritten) {
  const Workshop workshop;
  const FullDisk disk(workshop);
  if (!disk.mounted()) {
    if (passes_in_own_namespace()) return;
    GTEST_SKIP() << "this machine lets nobody mount a small file system";
  }
  workshop.write("busy.yaml", busy_study());
  const WholeStudy whole = run_whole(workshop, "busy.yaml");
  workshop.sh("cp whole.db disk/s.db; mount -o remount,bind,ro disk");
  EXPECT_TRUE(same_table(exported(workshop, "disk/s.db"), whole.csv));
  expect_one_message(workshop.sh("pipecast sweep busy.yaml --out disk/s.db"),
                     "'disk/s.db' may not be written");
  expect_one_message(workshop.sh("pipecast sweep busy.yaml --out disk/new.db"),
                     "cannot open 'disk/new.db'");
  expect_one_message(workshop.sh("pipecast study export whole.db --csv disk/x.csv"),
                     "cannot write 'disk/x.csv'");
}

TEST(StudyFaults, WhatIsNoFileIsNoDatabase) {
  const Workshop workshop;
  workshop.write("busy.yaml", busy_study());
  expect_one_message(workshop.sh("pipecast sweep busy.yaml --out ''"), "'' cannot be a study");
  expect_one_message(workshop.sh("pipecast sweep busy.yaml --out -"), "'-' cannot be a study");
  expect_one_message(workshop.sh("pipecast sweep busy.yaml --out :memory:"), "cannot be a study");
  expect_one_message(workshop.sh("pipecast sweep busy.yaml --out /dev/null"), "cannot be a study");
  expect_one_message(workshop.sh("pipecast sweep busy.yaml --out ."), "'.' is a folder");
  expect_one_message(workshop.sh("pipecast sweep busy.yaml --out no/place.db"),
                     "cannot open 'no/place.db'");
  expect_one_message(workshop.sh("pipecast sweep busy.yaml --out busy.yaml/s.db"),
                     "cannot open 'busy.yaml/s.db'");
  EXPECT_EQ(workshop.listing(), "busy.yaml");
}

/// Ways to damage a database of a few pages, each a shell command on s.db.
TEST(StudyFaults, ADamagedDatabaseIsLeftAlone) {
  const Workshop workshop;
  workshop.write("busy.yaml", busy_study());
  run_whole(workshop, "busy.yaml");
  for (const char* damage :
       {"head -c 9000 whole.db >s.db", "head -c 100 whole.db >s.db",
        "dd if=/dev/zero of=s.db bs=4096 seek=2 count=3 conv=notrunc 2>/dev/null",
        "printf 'garbage' | dd of=s.db bs=1 seek=0 conv=notrunc 2>/dev/null",
        "printf 'garbage' | dd of=s.db bs=1 seek=105 conv=notrunc 2>/dev/null",
        "sed -i 's/waiting_for_collective_s/waiting_for_collective_t/' s.db",
        "dd if=whole.db of=s.db bs=4096 skip=9 seek=10 count=1 conv=notrunc 2>/dev/null"}) {
    ASSERT_EQ(workshop.sh(std::string("cp whole.db s.db; ") + damage + "; cp s.db before.db").code,
              0);
    for (const char* command : {"study export s.db --csv -", "study report s.db --out s.html",
                                "sweep busy.yaml --out s.db", "study merge s.db --out m.db",
                                "study merge whole.db --out s.db"}) {
      const Outcome outcome = workshop.sh(std::string("pipecast ") + command);
      EXPECT_EQ(outcome.out, "") << damage << "\n" << command;
      expect_one_message(outcome, "'s.db'");
      EXPECT_EQ(workshop.sh("cmp s.db before.db && rm -f m.db && [ ! -e s.db-wal ]").code, 0)
          << damage << "\n"
          << command;
    }
  }
}

TEST(StudyFaults, PartsOfDifferentStudiesAreNotMerged) {
  const Workshop workshop;
  workshop.write("busy.yaml", busy_study());
  ASSERT_EQ(workshop
                .sh("pipecast sweep busy.yaml --out 1.db --shard 1/8 --quiet\n"
                    "sed 's/forward: 10 ms/forward: 11 ms/' busy.yaml >other.yaml\n"
                    "pipecast sweep other.yaml --out 2.db --shard 2/8 --quiet")
                .code,
            0);
  const std::string before = exported(workshop, "1.db");
  expect_one_message(workshop.sh("pipecast study merge 2.db --out 1.db"),
                     "'2.db' and '1.db' are parts of different studies");
  EXPECT_TRUE(same_table(exported(workshop, "1.db"), before));
  expect_one_message(workshop.sh("pipecast sweep busy.yaml --out 2.db"),
                     "'2.db' holds rows of another study");
}

/// A part that has screened but let SimGrid run nothing: the merge knows.
TEST(StudyFaults, AMergeSaysWhatIsNotFinished) {
  const Workshop workshop;
  workshop.write("busy.yaml", busy_study());
  ASSERT_EQ(workshop
                .sh("sed 's/simgrid: .*/simgrid: none/' busy.yaml >screened.yaml\n"
                    "pipecast sweep busy.yaml --out 1.db --shard 1/2 --quiet\n"
                    "pipecast sweep screened.yaml --out 2.db --shard 2/2 --quiet")
                .code,
            0);
  const Outcome unfinished = workshop.sh("pipecast study merge 1.db 2.db --out m.db");
  EXPECT_EQ(unfinished.code, 0) << unfinished.err;
  EXPECT_TRUE(has(unfinished.err, "SimGrid has not run ")) << unfinished.err;
  const Outcome half = workshop.sh("pipecast study merge 1.db --out h.db");
  EXPECT_TRUE(has(half.err, "have no row yet")) << half.err;
}

TEST(StudyFaults, TwoWritersDoNotShareADatabase) {
  const Workshop workshop;
  workshop.write("busy.yaml", busy_study());
  const Outcome second = workshop.sh(
      "sed -i 's/range: \\[4, 128\\]/range: [4, 4000]/' busy.yaml\n"
      "pipecast sweep busy.yaml --out s.db --jobs 1 --quiet & p=$!\n"
      "tries=200; while [ ! -s s.db-wal ] && [ $tries -gt 0 ]; do sleep 0.02; "
      "tries=$((tries - 1)); done\n"
      "pipecast sweep busy.yaml --out s.db --jobs 1 --quiet; s=$?; kill -9 $p; wait $p; exit $s");
  expect_one_message(second, "another process is writing 's.db'");
}

}  // namespace
}  // namespace pipecast::cli
