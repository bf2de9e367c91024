#include <gtest/gtest.h>

#include "tests/support/theorems.hpp"

/// Closed forms of gpipe, 1f1b, interleaved-1f1b and the hand-made zero-bubble schedules: P ranks,
/// m microbatches, v chunks per rank, F, I, W seconds of a stage, B = I + W, free transfers.
namespace pipecast::testing {
namespace {

constexpr StageCost kCosts[] = {kUnit, kSlowGradient, kSlowWeight, kNoWeight, {{5}, {1}, {0.5}}};

TEST(GpipeTheorem, MakespanIsAllPassesPlusRanksMinusOne) {
  for (int ranks = 1; ranks <= 6; ++ranks)
    for (int microbatches = 1; microbatches <= 12; ++microbatches)
      for (const StageCost& cost : kCosts) {
        const Shape shape{ranks, 1, microbatches};
        const Program program = made("gpipe", shape);
        EXPECT_EQ(simulated(program, cost)->makespan_s, (microbatches + ranks - 1) * pass_s(cost));
        EXPECT_EQ(peak_in_flight(program, ReleasedBy::Weight),
                  std::vector<int>(static_cast<std::size_t>(ranks), microbatches));
      }
}

TEST(OneFOneBTheorem, BubbleOfGpipeWithAtMostRanksMinusRankAlive) {
  for (int ranks = 1; ranks <= 6; ++ranks)
    for (int microbatches = 1; microbatches <= 12; ++microbatches)
      for (const StageCost& cost : kCosts) {
        const Shape shape{ranks, 1, microbatches};
        const Program program = made("1f1b", shape);
        const auto run = simulated(program, cost);
        EXPECT_EQ(run->makespan_s, (microbatches + ranks - 1) * pass_s(cost)) << text(shape);
        EXPECT_DOUBLE_EQ(1 - run->work_s / (ranks * run->makespan_s),
                         double(ranks - 1) / (microbatches + ranks - 1));
        const auto peaks = peak_in_flight(program, ReleasedBy::Weight);
        for (int rank = 0; rank < ranks; ++rank)
          EXPECT_EQ(peaks[static_cast<std::size_t>(rank)], std::min(ranks - rank, microbatches));
      }
}

/// In steady state a rank may have (1 + ahead)·d + 1 microbatches alive for d later ranks, so a
/// round trip of d(F + B + 2c) does not stall it when 2c ≤ ahead·(F + B): only fill and drain pay
/// for the delay c. Plain 1F1B pays for it all along.
TEST(EagerOneFOneBTheorem, HidesTheDelayOfMessages) {
  for (int ranks = 1; ranks <= 6; ++ranks)
    for (int ahead = 1; ahead <= 3; ++ahead)
      for (int microbatches = 1; microbatches <= 30; microbatches += 7)
        for (const StageCost& cost : kCosts)
          for (const double share : {0.0, 0.25, 0.5, 1.0}) {
            const Shape shape{ranks, 1, microbatches};
            const double delay = share * ahead * pass_s(cost) / 2;
            const Program program = made("eager-1f1b", shape, {{"ahead", std::to_string(ahead)}});
            EXPECT_DOUBLE_EQ(simulated(program, cost, {delay})->makespan_s,
                             (microbatches + ranks - 1) * pass_s(cost) + 2 * (ranks - 1) * delay)
                << text(shape) << " ahead " << ahead << " delay " << delay;
            for (int rank = 0; rank < ranks; ++rank)
              EXPECT_EQ(peak_of(program, rank),
                        std::min(microbatches, (1 + ahead) * (ranks - 1 - rank) + 1));
          }
  const Shape shape{6, 1, 30};
  EXPECT_GT(simulated(made("1f1b", shape), kUnit, {1.5})->makespan_s,
            simulated(made("eager-1f1b", shape), kUnit, {1.5})->makespan_s);
  EXPECT_EQ(made("eager-1f1b", shape, {{"ahead", "0"}}), made("1f1b", shape));
}

/// extra = (P−1)(F+B) in chunk costs for m ≥ P, so (P−1)/(v·m) of the ideal; peak per rank
/// min(m·v, (v−1)q + 2(P−1−r) + 1).
void expect_interleaved(const Shape& shape, int group, const Texts& params) {
  const Program program = made("interleaved-1f1b", shape, params);
  for (const StageCost& cost : kCosts) {
    const double work = shape.microbatches * shape.chunks * pass_s(cost);
    EXPECT_EQ(simulated(program, cost)->makespan_s, work + (shape.ranks - 1) * pass_s(cost))
        << text(shape) << " group " << group;
  }
  const auto peaks = peak_in_flight(program, ReleasedBy::Weight);
  for (int rank = 0; rank < shape.ranks; ++rank)
    EXPECT_EQ(peaks[static_cast<std::size_t>(rank)],
              std::min(shape.microbatches * shape.chunks,
                       (shape.chunks - 1) * group + 2 * (shape.ranks - 1 - rank) + 1))
        << text(shape) << " rank " << rank;
}

TEST(InterleavedTheorem, BubbleIsDividedByTheChunks) {
  for (int ranks = 1; ranks <= 6; ++ranks)
    for (int chunks = 1; chunks <= 4; ++chunks)
      for (int microbatches = ranks; microbatches <= 18; ++microbatches) {
        const int rounds = microbatches / ranks;
        if (microbatches % rounds == 0)
          expect_interleaved({ranks, chunks, microbatches}, microbatches / rounds, {});
      }
}

TEST(InterleavedTheorem, HoldsForEveryGroupThatMegatronAccepts) {
  for (int ranks = 2; ranks <= 4; ++ranks)
    for (int microbatches = ranks; microbatches <= 14; ++microbatches)
      for (int group = ranks; group <= microbatches; ++group)
        if (microbatches % group == 0 || microbatches % group >= ranks)
          expect_interleaved({ranks, 3, microbatches}, group, {{"group", std::to_string(group)}});
}

TEST(InterleavedTheorem, TwoPublishedGroupTables) {
  // NVIDIA/Megatron-LM's docstrings: (microbatch, chunk) visited with group 2, m = 4 and group 3,
  // m = 5 (as forwards of rank 0 with P = 2).
  const Program two = made("interleaved-1f1b", {2, 2, 4}, {{"group", "2"}});
  std::vector<std::string> forwards;
  for (const Op& op : two.ranks[0])
    if (is_forward(op.kind)) forwards.push_back(op_text(op));
  EXPECT_EQ(forwards,
            (std::vector<std::string>{"0F0", "0F1", "2F0", "2F1", "0F2", "0F3", "2F2", "2F3"}));
  const Program three = made("interleaved-1f1b", {2, 2, 5}, {{"group", "3"}});
  forwards.clear();
  for (const Op& op : three.ranks[0])
    if (is_forward(op.kind)) forwards.push_back(op_text(op));
  EXPECT_EQ(forwards, (std::vector<std::string>{"0F0", "0F1", "0F2", "2F0", "2F1", "2F2", "0F3",
                                                "0F4", "2F3", "2F4"}));
}

/// Qi et al. 2024: extra (P−1)(F+I−W) where W ≤ F, I; worker r holds P−r whole activations and the
/// remainders of r more.
TEST(ZeroBubbleH1Theorem, SavesTheWeightGradientsOfTheCoolDown) {
  for (int ranks = 1; ranks <= 8; ++ranks)
    for (int microbatches = 2 * ranks; microbatches <= 20; ++microbatches) {
      const Program program = made("zb-h1", {ranks, 1, microbatches});
      for (const StageCost& cost : {kCosts[0], kCosts[1]}) {
        const double extra =
            (ranks - 1) * (cost.forward + cost.backward_input - cost.backward_weight).value;
        EXPECT_EQ(simulated(program, cost)->makespan_s, microbatches * pass_s(cost) + extra)
            << ranks << " ranks, " << microbatches << " microbatches";
      }
      const auto whole = peak_in_flight(program, ReleasedBy::Weight);
      const auto input = peak_in_flight(program, ReleasedBy::Input);
      for (int rank = 0; rank < ranks; ++rank) {
        EXPECT_EQ(whole[static_cast<std::size_t>(rank)], ranks);
        EXPECT_EQ(input[static_cast<std::size_t>(rank)], ranks - rank);
      }
    }
}

/// With F = I = W: no bubble in the span of any rank from m ≥ 2P−1 on, makespan work + (P−1)F, and
/// 2P−1 activations on every rank, of which 2r are only the remainder for W.
TEST(ZeroBubbleH2Theorem, NoBubbleInsideARank) {
  for (int ranks = 1; ranks <= 8; ++ranks)
    for (int microbatches = 2 * ranks - 1; microbatches <= 20; ++microbatches) {
      const Program program = made("zb-h2", {ranks, 1, microbatches});
      const auto run = simulated(program, kCosts[0]);
      for (const double span : run->spans_s) EXPECT_EQ(span, 3 * microbatches);
      EXPECT_EQ(run->makespan_s, 3 * microbatches + ranks - 1);
      const auto whole = peak_in_flight(program, ReleasedBy::Weight);
      const auto input = peak_in_flight(program, ReleasedBy::Input);
      for (int rank = 0; rank < ranks; ++rank) {
        EXPECT_EQ(whole[static_cast<std::size_t>(rank)], 2 * ranks - 1);
        EXPECT_EQ(input[static_cast<std::size_t>(rank)], 2 * ranks - 2 * rank - 1);
      }
    }
}

}  // namespace
}  // namespace pipecast::testing
