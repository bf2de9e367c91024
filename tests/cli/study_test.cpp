#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "sim/study/candidate_text.hpp"
#include "tests/cli/shell.hpp"
#include "tests/cli/study_runs.hpp"

namespace pipecast::cli {
namespace {

/// 96 candidates, a third of them no valid shape, some over the memory of a device.
constexpr const char* kStudy = R"(name: small
scenario:
  pipeline: {schedule: 1f1b, ranks: 4, microbatches: 8}
  workload:
    costs: {forward: 10 ms, backward_input: 10 ms, backward_weight: 9 ms}
    activation: {held_by_forward: 5 GiB, released_by_backward_input: 100 MiB}
    message: 27 MiB
  platform: {preset: dgx-h100-ib}
axes:
  pipeline.schedule: [gpipe, 1f1b, zb-h1, interleaved-1f1b]
  pipeline.ranks: [2, 4, 8]
  pipeline.chunks: [1, 2]
  pipeline.microbatches: [6, 8, 16, 32]
objectives: [step_s, peak_memory_bytes]
)";

std::string swept(const Workshop& workshop, const std::string& options = "--jobs 2") {
  const Outcome outcome = workshop.sh("pipecast sweep small.yaml --out whole.db " + options);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  return exported(workshop, "whole.db");
}

TEST(Study, SameRowsWhateverTheNumberOfWorkers) {
  const Workshop workshop;
  workshop.write("small.yaml", kStudy);
  const std::string two = swept(workshop);
  EXPECT_NE(two.find("simgrid"), std::string::npos);
  EXPECT_NE(two.find("screening"), std::string::npos);
  workshop.sh("rm whole.db");
  EXPECT_EQ(swept(workshop, "--jobs 1"), two);
  workshop.sh("rm whole.db");
  EXPECT_EQ(swept(workshop, "--jobs 5"), two);
}

TEST(Study, TheSameCommandAgainAddsNothing) {
  const Workshop workshop;
  workshop.write("small.yaml", kStudy);
  const std::string first = swept(workshop);
  EXPECT_EQ(swept(workshop), first);
  EXPECT_EQ(workshop.listing(), "small.yaml whole.db");
}

TEST(Study, MergedShardsEqualTheWhole) {
  const Workshop workshop;
  workshop.write("small.yaml", kStudy);
  const std::string whole = swept(workshop);
  for (const char* part : {"0", "1", "2"}) {
    const Outcome outcome = workshop.sh(std::string("pipecast sweep small.yaml --out part") + part +
                                        ".db --quiet --shard " + part + "/3");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
  }
  const Outcome some = workshop.sh("pipecast study merge part0.db part2.db --out joined.db");
  EXPECT_NE(some.err.find("have no row yet"), std::string::npos) << some.err;
  EXPECT_EQ(workshop.sh("pipecast study merge part1.db --out joined.db").code, 0);
  EXPECT_TRUE(same_table(exported(workshop, "joined.db"), whole));
}

TEST(Study, StopsCleanlyAtAnInterrupt) {
  const Workshop workshop;
  workshop.write("small.yaml", kStudy);
  const Outcome outcome = workshop.sh(
      "sed -i 's/\\[6, 8, 16, 32\\]/{range: [256, 2048, 1]}/' small.yaml\n"
      "pipecast sweep small.yaml --out whole.db --jobs 2 & p=$!; sleep 2; kill -TERM $p; wait $p");
  EXPECT_EQ(outcome.code, 130) << outcome.err;
  EXPECT_NE(outcome.err.find("goes on from there"), std::string::npos) << outcome.err;
  EXPECT_EQ(workshop.listing(), "small.yaml whole.db");
}

TEST(Study, NothingFeasibleEndsWithTheNearestMisses) {
  const Workshop workshop;
  workshop.write("small.yaml", kStudy);
  const Outcome outcome = workshop.sh(
      "sed -i 's/5 GiB/60 GiB/; s/ranks: \\[2, 4, 8\\]/ranks: [4, 8]/' small.yaml\n"
      "pipecast sweep small.yaml --out whole.db");
  EXPECT_EQ(outcome.code, 3) << outcome.err;
  EXPECT_NE(outcome.out.find("0 feasible"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("infeasible by reason: shape "), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("memory: needs "), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("more on rank 0"), std::string::npos) << outcome.out;
}

TEST(Study, LeavesFilesThatAreNoStudiesAlone) {
  const Workshop workshop;
  workshop.write("small.yaml", kStudy);
  workshop.write("notes.db", "these are no rows, but notes of someone else, long enough to matter");
  const Outcome notes = workshop.sh("pipecast sweep small.yaml --out notes.db");
  EXPECT_EQ(notes.code, 1);
  EXPECT_EQ(notes.err.find("error: 'notes.db' is not a study database"), 0U) << notes.err;
  EXPECT_EQ(workshop.read("notes.db").find("these are no rows"), 0U);
  const Outcome missing = workshop.sh("pipecast sweep small.yaml --out no/such/place.db");
  EXPECT_EQ(missing.code, 1);
  EXPECT_NE(missing.err.find("cannot open 'no/such/place.db'"), std::string::npos) << missing.err;
  EXPECT_EQ(workshop.sh("pipecast study export nothing.db --csv -").code, 1);
}

TEST(Study, RefusesToMixStudies) {
  const Workshop workshop;
  workshop.write("small.yaml", kStudy);
  swept(workshop);
  const Outcome other = workshop.sh(
      "sed -i 's/forward: 10 ms/forward: 11 ms/' small.yaml\n"
      "pipecast sweep small.yaml --out whole.db");
  EXPECT_EQ(other.code, 1);
  EXPECT_NE(other.err.find("holds rows of another study"), std::string::npos) << other.err;
}

TEST(Study, ReportsEveryFaultOfAStudyAtItsPlace) {
  const Workshop workshop;
  workshop.write("wrong.yaml", R"(name: wrong
scenario:
  pipeline: {schedule: 1f1b, ranks: 4, microbatches: 8}
  workload: {costs: {forward: 10 ms, backward: 20 ms}}
  platform: {delay: 1 us}
axes:
  pipeline.schedule: [1f1b, zbh1]
  pipeline.rnaks: [2, 4]
  pipeline.microbatches: [8, many]
)");
  const Outcome outcome = workshop.sh("pipecast sweep wrong.yaml --out whole.db");
  EXPECT_EQ(outcome.code, 1);
  for (const char* place :
       {"wrong.yaml:7:29: error: unknown schedule 'zbh1'", "did you mean 'zb-h1'?",
        "unknown key 'rnaks' in pipeline", "wrong.yaml:9:30: error: microbatches"})
    EXPECT_NE(outcome.err.find(place), std::string::npos) << place << "\n" << outcome.err;
  EXPECT_EQ(workshop.listing(), "wrong.yaml");
}

TEST(Study, RefusesGoalsItCannotRead) {
  const Workshop workshop;
  workshop.write("wrong.yaml", std::string(kStudy) + R"(constraints: {power: 5}
training: {critical_batch: 4e6}
quote: {price_per_node: [5 USD, 3 USD], amortisation: soon}
uncertainty: {jitter: 7}
simgrid: sometimes
)");
  const Outcome outcome = workshop.sh("pipecast sweep wrong.yaml --out whole.db");
  EXPECT_EQ(outcome.code, 1);
  for (const char* part :
       {"constraints.power", "critical_batch needs reference_batch", "runs from 5 down to 3",
        "is not a time such as '90 days'", "uncertainty.jitter is 7, allowed is 0 to 1",
        "simgrid cannot be 'sometimes'"})
    EXPECT_NE(outcome.err.find(part), std::string::npos) << part << "\n" << outcome.err;
}

TEST(Study, ReportHoldsTheAnswers) {
  const Workshop workshop;
  ASSERT_EQ(
      workshop.sh("pipecast sweep scenarios/studies/rent-a100-or-h100.yaml --out rent.db").code, 0);
  const Outcome report = workshop.sh("pipecast study report rent.db --out rent.html");
  EXPECT_EQ(report.code, 0) << report.err;
  const std::string page = workshop.read("rent.html");
  for (const char* title :
       {"Feasible candidates, best first", "What the winner hangs on", "When ranges are drawn",
        "Where clusters cost the same", "The winner again", "one rank 10 % slower"})
    EXPECT_NE(page.find(title), std::string::npos) << title;
  EXPECT_EQ(workshop.sh("pipecast study report rent.db --out again.html").code, 0);
  EXPECT_EQ(workshop.read("again.html"), page);
}

/// Tokens, FLOPs and the end of the step come from the model where there is one.
TEST(Study, AModelKnowsItsTokens) {
  const Workshop workshop;
  workshop.write("layouts.yaml",
                 "name: microbatch sizes\n"
                 "base: scenarios/models/ascend-gpt2-microbatch-2.yaml\n"
                 "axes: {transfers: [overlapped, blocking]}\n"
                 "objectives: [tokens_per_s]\n");
  const Outcome sweep = workshop.sh("pipecast sweep layouts.yaml --out layouts.db");
  ASSERT_EQ(sweep.code, 0) << sweep.err;
  ASSERT_EQ(workshop
                .sh("pipecast run scenarios/models/ascend-gpt2-microbatch-2.yaml --json r.json "
                    "--quiet")
                .code,
            0);
  const auto run = nlohmann::json::parse(workshop.read("r.json"));
  const std::string tokens = figure_text(run["throughput"]["tokens_per_s"].get<double>(), "-");
  EXPECT_NE(sweep.out.find(tokens), std::string::npos) << tokens << "\n" << sweep.out;
}

TEST(Study, ShippedStudiesRun) {
  const Workshop workshop;
  for (const char* name : {"which-schedule", "rent-a100-or-h100"}) {
    const Outcome outcome = workshop.sh(std::string("pipecast sweep scenarios/studies/") + name +
                                        ".yaml --out " + name + ".db");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_NE(outcome.out.find("simgrid"), std::string::npos) << outcome.out;
  }
}

}  // namespace
}  // namespace pipecast::cli
