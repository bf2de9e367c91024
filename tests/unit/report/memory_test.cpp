#include "sim/report/memory.hpp"

#include <gtest/gtest.h>

#include "tests/unit/report/run_fixture.hpp"

namespace pipecast {
namespace {

using testing::byte_workload;
using testing::make_run;
using testing::make_test_op;
using testing::one_f_one_b_program;

Program one_rank(int microbatches, std::vector<Op> ops) {
  Program program;
  program.shape = {1, 1, microbatches};
  program.placement = loop_placement(program.shape);
  program.ranks = {std::move(ops)};
  return program;
}

testing::TestRun run_one_rank(int microbatches, std::vector<Op> ops) {
  Program program = one_rank(microbatches, std::move(ops));
  Workload workload = byte_workload(program.shape, {{1}, {1}, {1}});
  return make_run(std::move(program), std::move(workload), constant_delay_platform(1, {}));
}

TEST(Memory, SplitBackwardReleasesInTwoSteps) {
  const auto run = run_one_rank(
      1, {make_test_op(OpKind::Forward, 0, 0), make_test_op(OpKind::BackwardInput, 0, 0),
          make_test_op(OpKind::BackwardWeight, 0, 0)});
  const auto curves = rank_curves(run.program, run.workload, run.graph.tasks, run.timeline);
  const MemoryCurve expected{{0, 0}, {0, 100}, {2, 70}, {3, 0}};
  EXPECT_EQ(curves.at(0), expected);
  EXPECT_EQ(stage_curves(run.program, run.workload, run.graph.tasks, run.timeline).at(0), expected);
}

TEST(Memory, AReleaseAtAnInstantComesBeforeTheTakeThatFollowsInProgramOrder) {
  const auto run = run_one_rank(
      2, {make_test_op(OpKind::Forward, 0, 0), make_test_op(OpKind::BackwardFull, 0, 0),
          make_test_op(OpKind::Forward, 0, 1), make_test_op(OpKind::BackwardFull, 0, 1)});
  EXPECT_EQ(run.summary.ranks.at(0).peak_activation.value, 100);
  EXPECT_EQ(run.summary.ranks.at(0).peak_in_flight, 1);
}

TEST(Memory, AnOverlappedPairHoldsBothActivationsUntilItEnds) {
  const auto run = run_one_rank(
      2, {make_test_op(OpKind::Forward, 0, 0), make_test_op(OpKind::Forward, 0, 1, true),
          make_test_op(OpKind::BackwardFull, 0, 0), make_test_op(OpKind::BackwardFull, 0, 1)});
  const auto curves = rank_curves(run.program, run.workload, run.graph.tasks, run.timeline);
  const MemoryCurve expected{{0, 0}, {0, 100}, {1, 200}, {4, 100}, {6, 0}};
  EXPECT_EQ(curves.at(0), expected);
}

TEST(Memory, TwoConventionsOfInFlight) {
  const auto run = run_one_rank(
      2, {make_test_op(OpKind::Forward, 0, 0), make_test_op(OpKind::BackwardInput, 0, 0),
          make_test_op(OpKind::Forward, 0, 1), make_test_op(OpKind::BackwardInput, 0, 1),
          make_test_op(OpKind::BackwardWeight, 0, 0), make_test_op(OpKind::BackwardWeight, 0, 1)});
  EXPECT_EQ(run.summary.ranks.at(0).peak_in_flight, 2);
  EXPECT_EQ(run.summary.ranks.at(0).peak_in_flight_free_at_input, 1);
  EXPECT_EQ(run.summary.ranks.at(0).peak_activation.value, 170);
}

TEST(Memory, WithoutABackwardAForwardKeepsItsActivationOnlyWhileItRuns) {
  const auto run =
      run_one_rank(2, {make_test_op(OpKind::Forward, 0, 0), make_test_op(OpKind::Forward, 0, 1)});
  const auto curves = rank_curves(run.program, run.workload, run.graph.tasks, run.timeline);
  const MemoryCurve expected{{0, 0}, {0, 100}, {1, 0}, {1, 100}, {2, 0}};
  EXPECT_EQ(curves.at(0), expected);
}

TEST(Memory, StaticMemoryCountsEveryCopyOfAStage) {
  // Two directions: stage 0 on rank 0 and 1, stage 1 on rank 1 and 0.
  Program program;
  program.shape = {2, 1, 2};
  program.placement.stages = 2;
  program.placement.rank_of = {{0}, {1}, {1}, {0}};
  program.placement.direction_of = {0, 1};
  program.ranks = {{make_test_op(OpKind::Forward, 0, 0), make_test_op(OpKind::Forward, 1, 1)},
                   {make_test_op(OpKind::Forward, 0, 1), make_test_op(OpKind::Forward, 1, 0)}};
  Workload workload = byte_workload(program.shape, {{1}, {1}, {1}});
  const auto run =
      make_run(std::move(program), std::move(workload), constant_delay_platform(2, {}));
  const MemoryUse use = measure_memory(run.program, run.workload, run.graph.tasks, run.timeline);
  EXPECT_EQ(use.ranks.at(0).parameters.value, 2000);
  EXPECT_EQ(use.ranks.at(1).static_memory().value, 12000);
  ASSERT_EQ(run.summary.stages.size(), 4U);
  EXPECT_EQ(run.summary.stages[2].stage.value, 0);
  EXPECT_EQ(run.summary.stages[2].rank.value, 1);
  EXPECT_EQ(run.summary.stages[2].peak_in_flight, 1);
}

TEST(Memory, PeakSaysWhenItWasReached) {
  Program program = one_f_one_b_program(4, 8);
  Workload workload = byte_workload(program.shape, {{1}, {1}, {1}});
  const auto run =
      make_run(std::move(program), std::move(workload), constant_delay_platform(4, {}));
  const MemoryUse use = measure_memory(run.program, run.workload, run.graph.tasks, run.timeline);
  EXPECT_EQ(use.ranks.at(0).peak_activation.value, 400);
  EXPECT_EQ(use.ranks.at(0).peak_at_s, 3);
  EXPECT_EQ(use.ranks.at(3).peak_in_flight, 1);
}

}  // namespace
}  // namespace pipecast
