#include "tests/cli/study_runs.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <sstream>

namespace pipecast::cli {

std::string busy_study() {
  return R"(name: busy
scenario:
  pipeline: {schedule: 1f1b, ranks: 4, microbatches: 8}
  workload:
    costs: {forward: 10 ms, backward_input: 10 ms, backward_weight: 9 ms}
    activation: {held_by_forward: 1 GiB, released_by_backward_input: 100 MiB}
    message: 27 MiB
  platform: {preset: dgx-h100-ib}
axes:
  pipeline.schedule: [gpipe, 1f1b, zb-h1, interleaved-1f1b]
  pipeline.ranks: [2, 4, 8]
  pipeline.microbatches: {range: [4, 128]}
objectives: [step_s, peak_memory_bytes]
simgrid: {best: 40}
)";
}

testing::AssertionResult same_table(const std::string& table, const std::string& wanted) {
  if (table == wanted) return testing::AssertionSuccess();
  std::istringstream lines(table);
  std::istringstream wanted_lines(wanted);
  std::string line;
  std::string wanted_line;
  for (int number = 1;; ++number) {
    const bool more = static_cast<bool>(std::getline(lines, line));
    const bool wants_more = static_cast<bool>(std::getline(wanted_lines, wanted_line));
    if (more && wants_more && line == wanted_line) continue;
    return testing::AssertionFailure() << "line " << number << " is\n"
                                       << (more ? line : "missing") << "\nwanted is\n"
                                       << (wants_more ? wanted_line : "the end");
  }
}

std::string exported(const Workshop& workshop, const std::string& database) {
  const Outcome outcome = workshop.sh("pipecast study export " + database + " --csv -");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  return outcome.out;
}

WholeStudy run_whole(const Workshop& workshop, const std::string& study) {
  const auto begin = std::chrono::steady_clock::now();
  const Outcome outcome =
      workshop.sh("pipecast sweep " + study + " --out whole.db --jobs 2 --quiet");
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  return {exported(workshop, "whole.db"), took.count()};
}

std::string killed_and_resumed(const Workshop& workshop, const std::string& study, double seconds) {
  const std::string sweep = "pipecast sweep " + study + " --out killed.db --jobs 2 --quiet";
  const Outcome killed = workshop.sh(fmt::format(
      "rm -f killed.db*\n{} & parent=$!\nsleep {:.3f}\n"
      "workers=$(cat /proc/$parent/task/$parent/children 2>/dev/null)\n"
      "kill -9 $parent; wait $parent 2>/dev/null\n"
      "for worker in $workers; do tries=50\n"
      "  while [ -d /proc/$worker ] && [ $tries -gt 0 ]; do sleep 0.1; tries=$((tries - 1)); done\n"
      "  [ ! -d /proc/$worker ] || exit 99\ndone",
      sweep, seconds));
  EXPECT_EQ(killed.code, 0) << "a worker outlives its parent\n" << killed.err;
  const Outcome resumed = workshop.sh(sweep);
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  return exported(workshop, "killed.db");
}

}  // namespace pipecast::cli
