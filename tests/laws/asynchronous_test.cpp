#include <gtest/gtest.h>

#include "sim/model/weights.hpp"
#include "tests/support/theorems.hpp"

/// Closed forms of the schedules that train on without a flush, and of seq1f1b.
namespace pipecast::testing {
namespace {

constexpr StageCost kCosts[] = {kUnit, kSlowGradient, kSlowWeight};

/// When the last gradient of each step is there.
std::vector<double> step_ends(const Program& program, const Simulated& run) {
  std::vector<double> ends(static_cast<std::size_t>(program.steps), 0);
  const int per_step = program.shape.microbatches / program.steps;
  for (std::size_t id = 0; id < run.graph.tasks.size(); ++id) {
    const Task& task = run.graph.tasks[id];
    if (!is_work(task)) continue;
    double& end = ends[static_cast<std::size_t>(task.microbatch / per_step)];
    end = std::max(end, run.timeline.intervals[id].end_s);
  }
  return ends;
}

/// One fill and drain for all steps together; in between a step takes m(F + B), as long as the work
/// of a rank.
void expect_no_flush(const char* schedule, const Shape& shape, int steps, const Texts& params) {
  const Program program = made(schedule, shape, params);
  for (const StageCost& cost : kCosts) {
    const auto run = simulated(program, cost);
    EXPECT_EQ(run->makespan_s, (shape.microbatches * steps + shape.ranks - 1) * pass_s(cost))
        << schedule << " " << text(shape);
    const std::vector<double> ends = step_ends(program, *run);
    for (std::size_t step = 1; step < ends.size(); ++step)
      EXPECT_EQ(ends[step] - ends[step - 1], shape.microbatches * pass_s(cost))
          << schedule << " " << text(shape);
  }
  for (int rank = 0; rank < shape.ranks; ++rank)
    EXPECT_EQ(peak_of(program, rank), std::min(shape.ranks - rank, shape.microbatches * steps));
}

TEST(PipedreamTheorem, StepsFollowWithoutABubble) {
  for (int ranks = 1; ranks <= 6; ++ranks)
    for (int microbatches = 1; microbatches <= 9; ++microbatches)
      for (const int steps : {1, 3}) {
        const Texts params{{"steps", std::to_string(steps)}};
        expect_no_flush("pipedream", {ranks, 1, microbatches}, steps, params);
        if (microbatches >= ranks)
          expect_no_flush("pipedream-2bw", {ranks, 1, microbatches}, steps, params);
      }
}

/// Updating after every microbatch, rank r stashes P − r versions and trains P − 1 − r updates
/// behind.
TEST(PipedreamTheorem, StashesAVersionPerMicrobatchInFlight) {
  for (int ranks = 1; ranks <= 6; ++ranks) {
    const auto use = weight_use(made("pipedream", {ranks, 1, 2 * ranks}));
    for (int rank = 0; rank < ranks; ++rank)
      EXPECT_EQ(use[static_cast<std::size_t>(rank)], (WeightUse{ranks - rank, ranks - 1 - rank}))
          << ranks << " ranks, rank " << rank;
  }
}

/// With a microbatches per update the P − r in flight belong to at most ceil((P − r − 1) / a) + 1
/// versions.
TEST(PipedreamTheorem, AccumulationNeedsFewerVersions) {
  for (int ranks = 2; ranks <= 6; ++ranks)
    for (int accumulate = 1; accumulate <= 4; ++accumulate) {
      const Program program =
          made("pipedream", {ranks, 1, 12}, {{"accumulate", std::to_string(accumulate)}});
      const auto use = weight_use(program);
      for (int rank = 0; rank < ranks; ++rank) {
        const int behind = (ranks - rank - 1 + accumulate - 1) / accumulate;
        EXPECT_EQ(use[static_cast<std::size_t>(rank)], (WeightUse{behind + 1, behind}))
            << ranks << " ranks, rank " << rank << ", " << accumulate << " per update";
      }
    }
}

TEST(Pipedream2bwTheorem, TwoVersionsOneUpdateBehind) {
  for (int ranks = 1; ranks <= 6; ++ranks)
    for (int microbatches = ranks; microbatches <= 12; ++microbatches)
      for (const WeightUse& use : weight_use(made("pipedream-2bw", {ranks, 1, microbatches})))
        EXPECT_EQ(use, (WeightUse{2, 1})) << ranks << " ranks, " << microbatches;
}

TEST(FlushLaw, SynchronousSchedulesHoldOneVersion) {
  for (const char* name : {"gpipe", "1f1b", "zb-h1", "seq1f1b"})
    for (const WeightUse& use : weight_use(made(name, {4, 1, 8}))) EXPECT_EQ(use, WeightUse{});
}

/// k equal cuts: 1F1B over m·k units of a k-th, so the bubble is a k-th of 1F1B's; P − r + k − 1
/// units alive on rank r.
TEST(Seq1f1bTheorem, BubbleAndActivationsShrinkWithTheCuts) {
  for (int ranks = 1; ranks <= 6; ++ranks)
    for (const int cuts : {1, 2, 4, 8})
      for (int microbatches = 1; microbatches <= 9; ++microbatches) {
        const Shape shape{ranks, 1, microbatches};
        const Program program = made("seq1f1b", shape, {{"cuts", std::to_string(cuts)}});
        for (const StageCost& cost : kCosts) {
          EXPECT_EQ(simulated(program, cost)->makespan_s,
                    (microbatches * cuts + ranks - 1) * pass_s(cost) / cuts)
              << text(shape) << " cuts " << cuts;
        }
        for (int rank = 0; rank < ranks; ++rank)
          EXPECT_EQ(peak_of(program, rank), std::min(microbatches * cuts, ranks - rank + cuts - 1))
              << text(shape) << " cuts " << cuts;
        if (cuts == 1) {
          EXPECT_EQ(program, made("1f1b", shape));
        }
      }
}

/// Whatever the cuts cost, a rank computes the same in total, and its first rank starts with the
/// first cut: uneven cuts cannot beat the fill of their largest cut on the way to the last rank.
TEST(Seq1f1bTheorem, UnevenCutsKeepTheWorkAndLengthenTheBubble) {
  for (int ranks = 2; ranks <= 6; ++ranks)
    for (int microbatches = 2; microbatches <= 8; ++microbatches) {
      const Shape shape{ranks, 1, microbatches};
      const Program even = made("seq1f1b", shape, {{"cuts", "4"}});
      const Program uneven = made("seq1f1b", shape, {{"cuts", "4"}, {"cut_costs", "1:2:3:2"}});
      const auto even_run = simulated(even, kUnit);
      const auto uneven_run = simulated(uneven, kUnit);
      EXPECT_EQ(uneven_run->busiest_s, even_run->busiest_s);
      EXPECT_GT(uneven_run->makespan_s, even_run->makespan_s) << text(shape);
    }
}

}  // namespace
}  // namespace pipecast::testing
