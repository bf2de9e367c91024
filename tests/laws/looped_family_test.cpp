#include <gtest/gtest.h>

#include "tests/support/theorems.hpp"

/// Closed forms of the schedules that run v chunks per rank in a loop. Costs are those of a chunk.
namespace pipecast::testing {
namespace {

constexpr StageCost kCosts[] = {kUnit, kSlowGradient, kSlowWeight, kNoWeight};

bool whole_rounds(int ranks, int microbatches) {
  return microbatches % std::max(1, microbatches / ranks) == 0;
}

/// Calls `body(shape)` for every P, v and m from P up.
template <class Body>
void for_shapes(int ranks_limit, int chunks_limit, int microbatches_limit, Body body) {
  for (int ranks = 1; ranks <= ranks_limit; ++ranks)
    for (int chunks = 1; chunks <= chunks_limit; ++chunks)
      for (int microbatches = ranks; microbatches <= microbatches_limit; ++microbatches)
        body(Shape{ranks, chunks, microbatches});
}

TEST(LoopedBfsTheorem, BubbleOfOneChunkAndEveryActivationHeld) {
  for_shapes(6, 4, 12, [](const Shape& shape) {
    const Program program = made("looped-bfs", shape);
    for (const StageCost& cost : kCosts)
      EXPECT_EQ(extra_s(program, cost), (shape.ranks - 1) * pass_s(cost)) << text(shape);
    for (int rank = 0; rank < shape.ranks; ++rank)
      EXPECT_EQ(peak_of(program, rank), shape.microbatches * shape.chunks) << text(shape);
  });
}

TEST(LoopedBfsTheorem, EqualsGpipeWithTheBackwardsReversedForOneChunk) {
  const Program looped = made("looped-bfs", {3, 1, 4});
  const Program flat = made("gpipe", {3, 1, 4});
  for (std::size_t rank = 0; rank < 3; ++rank) {
    std::vector<Op> ops = flat.ranks[rank];
    std::reverse(ops.begin() + 4, ops.end());
    EXPECT_EQ(looped.ranks[rank], ops);
  }
}

TEST(CombinedTheorem, OneMoreActivationThanInterleavedAtTheSameBubble) {
  for_shapes(6, 4, 18, [](const Shape& shape) {
    if (!whole_rounds(shape.ranks, shape.microbatches)) return;
    const Program combined = made("combined-1f1b", shape);
    const Program interleaved = made("interleaved-1f1b", shape);
    for (const StageCost& cost : kCosts)
      EXPECT_EQ(extra_s(combined, cost), (shape.ranks - 1) * pass_s(cost)) << text(shape);
    for (int rank = 0; rank < shape.ranks; ++rank)
      EXPECT_EQ(peak_of(combined, rank),
                std::min(shape.microbatches * shape.chunks, peak_of(interleaved, rank) + 1))
          << text(shape);
  });
}

TEST(CombinedTheorem, AFasterPairShortensTheSteadyState) {
  const Shape shape{4, 2, 16};
  const Program program = made("combined-1f1b", shape);
  Workload workload = uniform_workload(shape, kUnit);
  workload.overlap = {OverlapCost::Rule::Ratio, 0.75};
  EXPECT_LT(simulated(program, workload)->makespan_s, simulated(program, kUnit)->makespan_s);
}

/// extra (P−1)(F+I−W) for F = I = W and for (2,3,1); peaks (v−1)q + P, released at I (v−1)q + P −
/// r.
TEST(InterleavedZbTheorem, SavesTheWeightGradientsOfTheCoolDown) {
  for_shapes(6, 4, 18, [](const Shape& shape) {
    if (!whole_rounds(shape.ranks, shape.microbatches)) return;
    const Program program = made("interleaved-zb", shape);
    for (const StageCost& cost : {kUnit, kSlowGradient}) {
      if (shape.microbatches < 2 * shape.ranks && cost != kUnit) continue;
      const double saved = (cost.forward + cost.backward_input - cost.backward_weight).value;
      EXPECT_EQ(extra_s(program, cost), (shape.ranks - 1) * saved) << text(shape);
    }
    const int round = shape.microbatches / (shape.microbatches / shape.ranks);
    const int most = shape.microbatches * shape.chunks;
    for (int rank = 0; rank < shape.ranks; ++rank) {
      EXPECT_EQ(peak_of(program, rank), std::min(most, (shape.chunks - 1) * round + shape.ranks));
      EXPECT_EQ(peak_of(program, rank, ReleasedBy::Input),
                std::min(most, (shape.chunks - 1) * round + shape.ranks - rank));
    }
  });
}

TEST(InterleavedZbTheorem, EqualsZbH1ForOneChunk) {
  for (int ranks = 1; ranks <= 6; ++ranks)
    for (int microbatches = 1; microbatches <= 18; ++microbatches) {
      if (!whole_rounds(ranks, microbatches)) continue;
      const Shape shape{ranks, 1, microbatches};
      EXPECT_EQ(made("interleaved-zb", shape), made("zb-h1", shape)) << text(shape);
    }
}

/// With groups of P: extra (P−1)(F+I) for F = I = W, peak (v−1)P + P − r.
TEST(GroupInterleavedTheorem, FullGroupsHaveTheBubbleOfForwardAndInputGradient) {
  for (int ranks = 1; ranks <= 8; ++ranks)
    for (int chunks = 2; chunks <= 4; ++chunks)
      for (int rounds = 1; rounds <= 3; ++rounds) {
        const Shape shape{ranks, chunks, rounds * ranks};
        const Program program = made("group-interleaved", shape);
        EXPECT_EQ(extra_s(program, kUnit), 2 * (ranks - 1)) << text(shape);
        for (int rank = 0; rank < ranks; ++rank)
          EXPECT_EQ(peak_of(program, rank), (chunks - 1) * ranks + ranks - rank) << text(shape);
      }
}

TEST(GroupInterleavedTheorem, GroupsThatDivideHalfOfTheRanksHoldFewer) {
  for (const int ranks : {2, 5, 8, 16, 31})
    for (int chunks = 2; chunks <= 5; ++chunks)
      for (int group = 1; group <= ranks; ++group) {
        const Shape shape{ranks, chunks, 2 * ranks + 1};
        const Program program =
            made("group-interleaved", shape, {{"group", std::to_string(group)}});
        EXPECT_TRUE(simulated(program, kUnit)) << text(shape) << " group " << group;
        if ((ranks + 1) / 2 % group != 0) continue;
        EXPECT_LE(peak_of(program, 0), chunks * ranks - (ranks > 2 ? 1 : 0))
            << text(shape) << " group " << group;
      }
}

TEST(ForwardOnlyTheorem, FillsThePipelineOnce) {
  for_shapes(6, 4, 18, [](const Shape& shape) {
    if (shape.chunks == 1) {
      EXPECT_EQ(simulated(made("forward-only", shape), kSlowWeight)->makespan_s,
                3 * (shape.microbatches + shape.ranks - 1));
    }
    if (!whole_rounds(shape.ranks, shape.microbatches)) return;
    EXPECT_EQ(simulated(made("forward-only-interleaved", shape), kSlowWeight)->makespan_s,
              3 * (shape.microbatches * shape.chunks + shape.ranks - 1))
        << text(shape);
  });
}

}  // namespace
}  // namespace pipecast::testing
