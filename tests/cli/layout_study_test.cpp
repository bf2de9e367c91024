#include <gtest/gtest.h>

#include <string>

#include "tests/cli/shell.hpp"

namespace pipecast::cli {
namespace {

constexpr const char* kStudy = R"(name: layouts
scenario:
  workload:
    model: {layers: 12, hidden: 1536, heads: 16, feed_forward: 6144, vocabulary: 50304}
    sequence_length: 2048
    global_batch: 32
  platform: {preset: dgx-a100-ib, nodes: 2}
layouts: search
objectives: [tokens_per_s]
)";

std::string exported(const Workshop& workshop, const std::string& database) {
  const Outcome outcome = workshop.sh("pipecast study export " + database + " --csv -");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  return outcome.out;
}

TEST(LayoutStudy, SameRowsInShardsAndWithAnyNumberOfWorkers) {
  const Workshop workshop;
  workshop.write("layouts.yaml", kStudy);
  const Outcome whole = workshop.sh("pipecast sweep layouts.yaml --out whole.db --jobs 1");
  ASSERT_EQ(whole.code, 0) << whole.err;
  const std::string rows = exported(workshop, "whole.db");
  EXPECT_EQ(rows.find("candidate,rank,cluster,pipeline.schedule,pipeline.ranks,"), 0U) << rows;
  for (const char* part : {"1", "2", "3"})
    workshop.sh(std::string("pipecast sweep layouts.yaml --out part") + part +
                ".db --quiet --jobs 2 --shard " + part + "/3");
  const Outcome merged = workshop.sh("pipecast study merge part?.db --out joined.db");
  EXPECT_EQ(merged.code, 0) << merged.err;
  EXPECT_EQ(merged.out, whole.out);
  EXPECT_EQ(exported(workshop, "joined.db"), rows);
}

TEST(LayoutStudy, GoesOnAfterAKill) {
  const Workshop workshop;
  workshop.write("layouts.yaml", kStudy);
  workshop.sh("pipecast sweep layouts.yaml --out whole.db --quiet");
  for (const char* moment : {"0.1", "0.3"})
    workshop.sh(std::string("pipecast sweep layouts.yaml --out killed.db --jobs 2 --quiet & p=$!; "
                            "sleep ") +
                moment + "; kill -9 $p; wait $p");
  EXPECT_EQ(workshop.sh("pipecast sweep layouts.yaml --out killed.db --quiet").code, 0);
  EXPECT_EQ(exported(workshop, "killed.db"), exported(workshop, "whole.db"));
}

TEST(LayoutStudy, TellsTheRankOfALayoutAndTheRegretOfScreening) {
  const Workshop workshop;
  workshop.write("layouts.yaml", std::string(kStudy) + "simgrid: all\n");
  workshop.sh("sed -i 's/search/{tensor: [1, 2], context: 1, schedules: 1f1b}/' layouts.yaml");
  ASSERT_EQ(workshop.sh("pipecast sweep layouts.yaml --out l.db --quiet").code, 0);
  const Outcome rank = workshop.sh("pipecast study rank l.db tensor=2 microbatch_size=1");
  EXPECT_EQ(rank.code, 0) << rank.err;
  EXPECT_EQ(rank.out.find("winner of "), 0U) << rank.out;
  EXPECT_NE(rank.out.find("\nrank "), std::string::npos) << rank.out;
  EXPECT_EQ(workshop.sh("pipecast study rank l.db tensor=3").code, 1);
  EXPECT_EQ(workshop.sh("pipecast study rank l.db tensor").code, 2);
  const Outcome regret = workshop.sh("pipecast study regret l.db");
  EXPECT_EQ(regret.code, 0) << regret.err;
  EXPECT_NE(regret.out.find("screening alone drops the winner in "), std::string::npos)
      << regret.out;
}

TEST(LayoutStudy, NothingThatDividesIsInfeasible) {
  const Workshop workshop;
  workshop.write("layouts.yaml", kStudy);
  const Outcome outcome = workshop.sh(
      "sed -i 's/layouts: search/layouts: {tensor: 8}/; s/nodes: 2/nodes: 7/' layouts.yaml\n"
      "pipecast sweep layouts.yaml --out l.db");
  EXPECT_EQ(outcome.code, 3);
  EXPECT_NE(outcome.err.find("no layout divides: "), std::string::npos) << outcome.err;
}

TEST(LayoutStudy, TheSmallestShippedOneRuns) {
  const Workshop workshop;
  const Outcome outcome =
      workshop.sh("pipecast sweep scenarios/studies/gpt2-on-8-ascend.yaml --out a.db");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("tokens_per_s"), std::string::npos) << outcome.out;
  EXPECT_EQ(workshop.sh("pipecast study report a.db --out a.html").code, 0);
  EXPECT_NE(workshop.read("a.html").find("--tensor-model-parallel-size"), std::string::npos);
}

}  // namespace
}  // namespace pipecast::cli
