#include "sim/report/idle.hpp"

#include <gtest/gtest.h>

#include <array>

#include "tests/unit/report/run_fixture.hpp"

namespace pipecast {
namespace {

using testing::make_run;
using testing::one_f_one_b_program;

std::vector<IdleStretch> stretches_of(const testing::TestRun& run, int rank) {
  const RunIndex index = index_run(run.graph, run.timeline);
  return idle_stretches(run.program, run.graph, run.timeline, index, Rank{rank});
}

testing::TestRun two_ranks(double delay_s, double gap_s) {
  Program program = one_f_one_b_program(2, 1);
  Workload workload = uniform_workload(program.shape, {{3}, {4}, {2}});
  workload.overheads.gap = {gap_s};
  return make_run(std::move(program), std::move(workload), constant_delay_platform(2, {delay_s}));
}

TEST(Idle, IsCutWhereTheLastMessageStarted) {
  // rank 0: F 0–3, then waits for the gradient: rank 1 gets the activation at 5, F 5–8, B 8–14, the
  // gradient travels 14–16, B 16–22.
  const auto run = two_ranks(2, 0);
  const std::vector<IdleStretch> rank0 = stretches_of(run, 0);
  ASSERT_EQ(rank0.size(), 2U);
  EXPECT_EQ(rank0[0], (IdleStretch{3, 14, Phase::WarmUp, IdleCause::Dependency, kNoTask}));
  EXPECT_EQ(rank0[1].start_s, 14);
  EXPECT_EQ(rank0[1].end_s, 16);
  EXPECT_EQ(rank0[1].cause, IdleCause::Transfer);
  EXPECT_EQ(run.graph.tasks[static_cast<std::size_t>(rank0[1].message)].kind, OpKind::SendBackward);
  const std::vector<IdleStretch> rank1 = stretches_of(run, 1);
  ASSERT_EQ(rank1.size(), 3U);
  EXPECT_EQ(rank1[0], (IdleStretch{0, 3, Phase::WarmUp, IdleCause::Dependency, kNoTask}));
  EXPECT_EQ(rank1[1].cause, IdleCause::Transfer);
  EXPECT_EQ(rank1[2], (IdleStretch{14, 22, Phase::CoolDown, IdleCause::Dependency, kNoTask}));
}

TEST(Idle, ARuntimeGapIsNotWaitingForTheMessageThatIsOnItsWayMeanwhile) {
  // The gap of rank 0 lasts until 13, the gradient leaves at 5 + 3 + 10 + 6 = 24.
  const auto run = two_ranks(2, 10);
  const std::vector<IdleStretch> rank0 = stretches_of(run, 0);
  ASSERT_EQ(rank0.size(), 3U);
  EXPECT_EQ(rank0[0], (IdleStretch{3, 13, Phase::WarmUp, IdleCause::Gap, kNoTask}));
  EXPECT_EQ(rank0[1], (IdleStretch{13, 24, Phase::WarmUp, IdleCause::Dependency, kNoTask}));
  EXPECT_EQ(rank0[2].seconds(), 2);
  const RankSummary& row = run.summary.ranks[0];
  EXPECT_EQ(row.gap_s, 10);
  EXPECT_EQ(row.warmup_idle_s, 21);
  EXPECT_EQ(row.waiting_for_transfer_s, 2);
  EXPECT_EQ(row.idle_s, 23);
}

TEST(Idle, GPipesPauseBetweenForwardsAndBackwardsIsWarmUp) {
  Program program;
  program.shape = {2, 1, 2};
  program.placement = loop_placement(program.shape);
  for (int rank = 0; rank < 2; ++rank)
    program.ranks.push_back({testing::make_test_op(OpKind::Forward, rank, 0),
                             testing::make_test_op(OpKind::Forward, rank, 1),
                             testing::make_test_op(OpKind::BackwardFull, rank, 0),
                             testing::make_test_op(OpKind::BackwardFull, rank, 1)});
  Workload workload = uniform_workload(program.shape, {{1}, {1}, {1}});
  const auto run =
      make_run(std::move(program), std::move(workload), constant_delay_platform(2, {}));
  EXPECT_EQ(run.summary.ranks[0].warmup_idle_s, 3);
  EXPECT_EQ(run.summary.ranks[0].cooldown_idle_s, 0);
  EXPECT_EQ(run.summary.ranks[1].warmup_idle_s, 1);
  EXPECT_EQ(run.summary.ranks[1].cooldown_idle_s, 2);
  EXPECT_EQ(run.summary.ranks[1].steady_idle_s, 0);
}

TEST(Idle, ARankThatOnlyWaitsIsIdleAllTheTime) {
  Program program;
  program.shape = {2, 1, 1};
  program.placement.stages = 1;
  program.placement.rank_of = {{0}};
  program.ranks = {{testing::make_test_op(OpKind::Forward, 0, 0)}, {}};
  Workload workload = uniform_workload({1, 1, 1}, {{5}, {1}, {1}});
  const auto run =
      make_run(std::move(program), std::move(workload), constant_delay_platform(2, {}));
  EXPECT_EQ(run.summary.ranks[1].idle_s, 5);
  EXPECT_EQ(run.summary.ranks[1].span_s, 0);
  EXPECT_EQ(run.summary.bubble_fraction, 0.5);
}

TEST(Idle, FindsTheMessageBehindAGapThatJoinsSeveral) {
  Program program = one_f_one_b_program(2, 1);
  program.ranks = {{testing::make_test_op(OpKind::Forward, 0, 0)},
                   {testing::make_test_op(OpKind::Forward, 1, 0)}};
  Workload workload = uniform_workload(program.shape, {{3}, {0}, {0}});
  auto run = make_run(program, workload, constant_delay_platform(2, {2}));
  // Put a task without duration between the transfer (2) and its consumer (1).
  run.graph.tasks.push_back(
      {.rank = 1, .stage = -1, .microbatch = -1, .kind = OpKind::Gap, .stream = Stream::Compute});
  using Edge = std::pair<std::uint32_t, std::uint32_t>;
  const std::array<Edge, 3> edges{Edge{0, 2}, Edge{2, 3}, Edge{3, 1}};
  run.graph.dependencies =
      DependencyGraph(boost::edges_are_sorted, edges.data(), edges.data() + edges.size(), 4);
  run.graph.order = {0, 2, 3, 1};
  run.timeline = testing::run_unshared(run.graph);
  const std::vector<IdleStretch> rank1 = stretches_of(run, 1);
  ASSERT_EQ(rank1.size(), 2U);
  EXPECT_EQ(rank1[1], (IdleStretch{3, 5, Phase::WarmUp, IdleCause::Transfer, 2}));
}

}  // namespace
}  // namespace pipecast
