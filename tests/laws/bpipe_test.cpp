#include <gtest/gtest.h>

#include "sim/report/memory.hpp"
#include "tests/support/theorems.hpp"

/// 1F1B with activations lent to the partner rank (Kim et al. 2023, BPipe).
namespace pipecast::testing {
namespace {

/// Activations of a byte each, so that bytes and counts can be compared.
Workload unit_bytes(const Shape& shape, const StageCost& cost) {
  Workload workload = uniform_workload(shape, cost);
  for (StageBytes& bytes : workload.bytes) bytes.held_by_forward = {1};
  return workload;
}

int shared(int ranks) { return (ranks + 3) / 2; }  // ceil((P + 2) / 2)

/// With instant transfers: the time of 1F1B, and on no rank more than ceil((P+2)/2) activations,
/// where 1F1B holds P on rank 0.
TEST(BpipeTheorem, NoRankHoldsMoreThanHalfOfThePipeline) {
  for (int ranks = 1; ranks <= 12; ++ranks)
    for (const int microbatches : {1, ranks / 2 + 1, ranks, ranks + 1, 3 * ranks})
      for (const StageCost& cost : {kUnit, kSlowGradient, kNoWeight}) {
        const Shape shape{ranks, 1, microbatches};
        const Program program = made("1f1b-bpipe", shape);
        const Workload workload = unit_bytes(shape, cost);
        const auto run = simulated(program, workload);
        ASSERT_TRUE(run) << render(run.error());
        EXPECT_EQ(run->makespan_s, (microbatches + ranks - 1) * pass_s(cost)) << text(shape);
        const MemoryUse use = measure_memory(program, workload, run->graph.tasks, run->timeline);
        for (int rank = 0; rank < ranks; ++rank) {
          const RankMemory& memory = use.ranks[static_cast<std::size_t>(rank)];
          EXPECT_LE(memory.peak_in_flight, shared(ranks)) << text(shape) << " rank " << rank;
          EXPECT_EQ(memory.peak_activation.value, memory.peak_in_flight);
        }
      }
}

TEST(BpipeTheorem, ComputesInTheOrderOfOneFOneB) {
  for (int ranks = 1; ranks <= 8; ++ranks)
    for (int microbatches = 1; microbatches <= 17; ++microbatches) {
      const Shape shape{ranks, 1, microbatches};
      EXPECT_EQ(made("1f1b-bpipe", shape).ranks, made("1f1b", shape).ranks) << text(shape);
    }
}

/// Rank r lends to P − 1 − r only, and only what its limit does not leave room for.
TEST(BpipeTheorem, OnlyEarlyRanksLendToTheirPartners) {
  const Program program = made("1f1b-bpipe", {8, 1, 24});
  std::vector<int> lent(8, 0);
  for (const ActivationExchange& exchange : program.exchanges) {
    EXPECT_EQ(exchange.host.value, 7 - exchange.stage.value);
    ++lent[exchange.stage.at()];
  }
  EXPECT_EQ(lent, (std::vector<int>{19, 19, 19, 0, 0, 0, 0, 0}));
  EXPECT_TRUE(made("1f1b-bpipe", {3, 1, 24}).exchanges.empty());
}

/// An exchange has most of a round trip to hide in: short delays cost nothing beyond those of 1F1B,
/// and while activations are on their way both ranks hold them.
TEST(BpipeTheorem, ShortExchangesHideBehindComputation) {
  const Shape shape{8, 1, 24};
  const Program lending = made("1f1b-bpipe", shape);
  const auto lent = simulated(lending, unit_bytes(shape, kUnit), {0.5});
  const auto plain = simulated(made("1f1b", shape), unit_bytes(shape, kUnit), {0.5});
  EXPECT_EQ(lent->makespan_s, plain->makespan_s);
  EXPECT_EQ(lent->graph.tasks.size(), plain->graph.tasks.size() + 2 * lending.exchanges.size());
  const MemoryUse use =
      measure_memory(lending, unit_bytes(shape, kUnit), lent->graph.tasks, lent->timeline);
  EXPECT_LE(use.ranks[0].peak_in_flight, shared(8) + 1);
  EXPECT_LT(use.ranks[0].peak_in_flight, 8);
}

TEST(BpipeLaw, LendingEverywhereLeavesNothingBehind) {
  for (int ranks = 4; ranks <= 9; ++ranks)
    for (const double delay : {0.0, 0.5, 3.0}) {
      const Shape shape{ranks, 1, 3 * ranks};
      const Program program = made("1f1b-bpipe", shape);
      const Workload workload = unit_bytes(shape, kSlowGradient);
      const auto run = simulated(program, workload, {delay});
      for (const MemoryCurve& curve :
           rank_curves(program, workload, run->graph.tasks, run->timeline)) {
        for (std::size_t i = 1; i < curve.size(); ++i) {
          EXPECT_GE(curve[i].bytes, 0);
          EXPECT_GE(curve[i].time_s, curve[i - 1].time_s);
        }
        EXPECT_EQ(curve.back().bytes, 0);
      }
    }
}

}  // namespace
}  // namespace pipecast::testing
