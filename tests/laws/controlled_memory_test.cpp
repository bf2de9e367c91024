#include <gtest/gtest.h>

#include "tests/support/theorems.hpp"

/// Closed forms of the controllable-memory schedules (Qi et al. 2024), free transfers, chunk costs.
/// The paper gives the slopes (about 3P bubbles and half of the memory for V-Half, 4P and a third
/// for V-Min); the exact values for every P are those of the authors' greedy reordering.
namespace pipecast::testing {
namespace {

int largest_peak(const Program& program) {
  const auto peaks = peak_in_flight(program, ReleasedBy::Weight);
  return *std::max_element(peaks.begin(), peaks.end());
}

/// Calls `body(shape)` for P from 2 to 24 and a few m ≥ 2P.
template <class Body>
void for_shapes(Body body) {
  for (int ranks = 2; ranks <= 24; ++ranks)
    for (const int microbatches : {2 * ranks, 2 * ranks + 1, 3 * ranks})
      body(Shape{ranks, 2, microbatches});
}

/// F = I = W: extra 3P−7 for even P (P ≥ 4), 3P−4 for odd; 2(P div 2 + 1) activations.
TEST(VHalfTheorem, HalfTheActivationsAndThreeSlotsPerRank) {
  for_shapes([](const Shape& shape) {
    const int ranks = shape.ranks;
    const Program program = made("v-half", shape);
    if (ranks > 2) {
      EXPECT_EQ(extra_s(program, kUnit), 3 * ranks - (ranks % 2 == 0 ? 7 : 4)) << text(shape);
    }
    EXPECT_EQ(largest_peak(program), 2 * (ranks / 2 + 1)) << text(shape);
  });
}

/// F = I = W: extra 4P−5, 4P−7 when 3 divides P; 2((P+1) div 3 + 1) activations.
TEST(VMinTheorem, AThirdOfTheActivationsAndFourSlotsPerRank) {
  for_shapes([](const Shape& shape) {
    const int ranks = shape.ranks;
    const Program program = made("v-min", shape);
    EXPECT_EQ(extra_s(program, kUnit), 4 * ranks - (ranks % 3 == 0 ? 7 : 5)) << text(shape);
    EXPECT_EQ(largest_peak(program), 2 * ((ranks + 1) / 3 + 1)) << text(shape);
  });
}

/// F = 1, B = 2: extra 5(P−1) for P mod 3 = 1, 5P−7 for P mod 3 = 2 (P ≥ 5), between those slopes
/// otherwise; 2((2P+3) div 3) activations.
TEST(VOneFOneBTheorem, TwoThirdsOfTheActivationsWithWholeBackwards) {
  for_shapes([](const Shape& shape) {
    const int ranks = shape.ranks;
    const Program program = made("v-1f1b", shape);
    const double extra = extra_s(program, kNoWeight);
    if (ranks % 3 == 1) {
      EXPECT_EQ(extra, 5 * (ranks - 1)) << text(shape);
    } else if (ranks % 3 == 2 && ranks > 2) {
      EXPECT_EQ(extra, 5 * ranks - 7) << text(shape);
    } else if (ranks > 2) {
      EXPECT_GE(extra, 5 * ranks - 9) << text(shape);
      EXPECT_LE(extra, 5 * ranks - 7) << text(shape);
    }
    EXPECT_EQ(largest_peak(program), 2 * ((2 * ranks + 3) / 3)) << text(shape);
  });
}

TEST(ControlledMemoryLaw, ThePeakDoesNotGrowWithTheMicrobatches) {
  for (const char* name : {"v-half", "v-min", "v-1f1b"})
    for (int ranks = 1; ranks <= 8; ++ranks) {
      const int peak = largest_peak(made(name, {ranks, 2, 4 * ranks}));
      for (int microbatches = 1; microbatches <= 4 * ranks; ++microbatches)
        EXPECT_LE(largest_peak(made(name, {ranks, 2, microbatches})), peak)
            << name << " " << ranks << " " << microbatches;
    }
}

}  // namespace
}  // namespace pipecast::testing
