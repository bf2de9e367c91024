#include <gtest/gtest.h>

#include "tests/support/theorems.hpp"

/// Closed forms of the schedules on a V, on a zigzag and in two directions. Costs are those of a
/// chunk.
namespace pipecast::testing {
namespace {

/// F = I = W, m ≥ 2P−1: makespan work + P−1, no bubble in the span of any rank, 2P activations.
TEST(ZbvTheorem, NoBubbleInsideARank) {
  for (int ranks = 1; ranks <= 8; ++ranks)
    for (int microbatches = 2 * ranks - 1; microbatches <= 20; ++microbatches) {
      const Shape shape{ranks, 2, microbatches};
      const Program program = made("zbv", shape);
      EXPECT_EQ(extra_s(program, kUnit), ranks - 1) << text(shape);
      EXPECT_EQ(extra_span_s(program, kUnit), 0) << text(shape);
      for (int rank = 0; rank < ranks; ++rank)
        EXPECT_EQ(peak_of(program, rank), 2 * ranks) << text(shape);
    }
}

/// F = I = W: extra P−2, P+1 activations. DeepSeek-V3's (P/2−1)(F&B + B − 3W) gives the same for
/// F&B = F + B.
TEST(DualPipeTheorem, HalfTheBubbleOfItsV) {
  for (int ranks = 2; ranks <= 12; ranks += 2)
    for (int microbatches = 2 * ranks; microbatches <= 2 * ranks + 8; microbatches += 2) {
      const Shape shape{ranks, 1, microbatches};
      const Program program = made("dualpipe", shape);
      EXPECT_EQ(extra_s(program, kUnit), ranks - 2) << text(shape);
      EXPECT_EQ((ranks / 2 - 1) * (3 + 2 - 3), ranks - 2);
      for (int rank = 0; rank < ranks; ++rank)
        EXPECT_EQ(peak_of(program, rank), ranks + 1) << text(shape);
    }
}

TEST(DualPipeTheorem, EveryRankHoldsTwoStages) {
  const Program program = made("dualpipe", {4, 1, 8});
  EXPECT_EQ(program.placement.directions(), 2);
  for (int stage = 0; stage < 4; ++stage) {
    EXPECT_EQ(program.placement.rank({stage}, {0}), Rank{stage});
    EXPECT_EQ(program.placement.rank({stage}, {7}), Rank{3 - stage});
  }
}

TEST(DualPipeVTheorem, BubbleAndPeakOfTheV) {
  for (int ranks = 1; ranks <= 8; ++ranks)
    for (int microbatches = 2 * ranks; microbatches <= 2 * ranks + 5; ++microbatches) {
      const Shape shape{ranks, 2, microbatches};
      const Program program = made("dualpipe-v", shape);
      EXPECT_EQ(extra_s(program, kUnit), 2 * (ranks - 1)) << text(shape);
      for (int rank = 0; rank < ranks; ++rank)
        EXPECT_EQ(peak_of(program, rank), 2 * ranks + 1) << text(shape);
    }
}

/// Li and Hoefler 2021, F = B: P/n − 2 idle slots next to 2m, however many rounds; for one pair the
/// bubble ratio is (P−2)/(2m+P−2), and rank r holds P/2 + 1 + min(r, P−1−r) activations.
TEST(ChimeraTheorem, MiddleBubblesVanishWhenForwardEqualsBackward) {
  for (int ranks = 2; ranks <= 16; ranks += 2)
    for (int pairs = 1; pairs <= ranks / 2; ++pairs) {
      if (ranks / 2 % pairs != 0) continue;
      for (int rounds = 1; rounds <= 5; ++rounds) {
        const Shape shape{ranks, 1, rounds * ranks};
        const Program program = made("chimera", shape, {{"pairs", std::to_string(pairs)}});
        EXPECT_EQ(extra_s(program, kEqualHalves), ranks / pairs - 2)
            << text(shape) << " pairs " << pairs;
        for (int rank = 0; rank < ranks && pairs == 1; ++rank)
          EXPECT_EQ(peak_of(program, rank), ranks / 2 + 1 + std::min(rank, ranks - 1 - rank))
              << text(shape);
      }
    }
}

/// One pair, B = 2F: (m/P + 1)(P−2)F.
TEST(ChimeraTheorem, MiddleBubblesOfALongerBackward) {
  for (int ranks = 2; ranks <= 12; ranks += 2)
    for (int rounds = 1; rounds <= 4; ++rounds) {
      const Shape shape{ranks, 1, rounds * ranks};
      EXPECT_EQ(extra_s(made("chimera", shape), kNoWeight), (rounds + 1) * (ranks - 2))
          << text(shape);
    }
}

TEST(ChimeraTheorem, EveryRankHoldsAStagePerPipeline) {
  for (const int pairs : {1, 2, 4}) {
    const Program program = made("chimera", {8, 1, 8}, {{"pairs", std::to_string(pairs)}});
    std::vector<int> held(8, 0);
    for (const Rank rank : program.placement.rank_of) ++held[rank.at()];
    EXPECT_EQ(held, std::vector<int>(8, 2 * pairs));
  }
}

/// F = I = W, m ≥ P: extra 2(P−1), so a bubble ratio of (P−1)/(3mw + P−1); rank r holds
/// m·v − P + 1 + r activations.
TEST(HanayoTheorem, WavesDivideTheBubble) {
  for (int ranks = 1; ranks <= 6; ++ranks)
    for (int waves = 1; waves <= 4; ++waves)
      for (int microbatches = ranks; microbatches <= 2 * ranks + 1; ++microbatches) {
        const Shape shape{ranks, 2 * waves, microbatches};
        const Program program = made("hanayo", shape, {{"waves", std::to_string(waves)}});
        const auto run = simulated(program, kUnit);
        EXPECT_EQ(run->makespan_s - run->busiest_s, 2 * (ranks - 1)) << text(shape);
        EXPECT_NEAR(1 - run->work_s / (ranks * run->makespan_s),
                    double(ranks - 1) / (3 * microbatches * waves + ranks - 1), 1e-14);
        for (int rank = 0; rank < ranks; ++rank)
          EXPECT_EQ(peak_of(program, rank), microbatches * 2 * waves - ranks + 1 + rank)
              << text(shape);
      }
}

}  // namespace
}  // namespace pipecast::testing
