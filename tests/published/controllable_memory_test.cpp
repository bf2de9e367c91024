#include <gtest/gtest.h>

#include "tests/support/theorems.hpp"

/// Largest span of a rank and peak of V-Half and V-Min with the authors' profiled chunk costs and
/// message delays, as their published generator computes them (Qi et al. 2024, "Pipeline
/// Parallelism with Controllable Memory", zbv_greedy with reordering; microseconds).
namespace pipecast::testing {
namespace {

struct Row {
  const char* schedule;
  Shape shape;
  StageCost cost;
  double delay;
  double span;
  int peak;
};

constexpr StageCost k6B = {{14407}, {14380}, {9676}};
constexpr StageCost k15B = {{6763}, {6969}, {5251}};
constexpr StageCost k28B = {{9458}, {9748}, {7288}};

const Row kRows[] = {
    {"v-half", {4, 2, 8}, kUnit, 0, 53, 6},          {"v-min", {4, 2, 8}, kUnit, 0, 59, 4},
    {"v-half", {4, 2, 16}, kUnit, 0, 101, 6},        {"v-min", {4, 2, 16}, kUnit, 0, 107, 4},
    {"v-half", {6, 2, 12}, kUnit, 0, 83, 8},         {"v-min", {6, 2, 12}, kUnit, 0, 89, 6},
    {"v-half", {8, 2, 16}, kUnit, 0, 113, 10},       {"v-min", {8, 2, 16}, kUnit, 0, 123, 8},
    {"v-half", {8, 2, 32}, kUnit, 0, 209, 10},       {"v-min", {8, 2, 32}, kUnit, 0, 219, 8},
    {"v-half", {16, 2, 48}, kUnit, 0, 329, 18},      {"v-min", {16, 2, 48}, kUnit, 0, 347, 12},
    {"v-half", {16, 2, 48}, k6B, 1610, 4528726, 18}, {"v-min", {16, 2, 48}, k6B, 1610, 5511082, 12},
    {"v-half", {24, 2, 72}, k15B, 755, 3343009, 26}, {"v-min", {24, 2, 72}, k15B, 755, 3995233, 18},
    {"v-half", {32, 2, 96}, k28B, 879, 6210928, 34}, {"v-min", {32, 2, 96}, k28B, 879, 7382650, 24},
};

TEST(ControllableMemory, SpansAndPeaksOfThePublishedGenerator) {
  for (const Row& row : kRows) {
    const Program program = made(row.schedule, row.shape);
    const auto run = simulated(program, row.cost, {row.delay});
    ASSERT_TRUE(run) << render(run.error());
    EXPECT_EQ(run->max_rank_span_s, row.span) << row.schedule << " " << text(row.shape);
    const auto peaks = peak_in_flight(program, ReleasedBy::Weight);
    EXPECT_EQ(*std::max_element(peaks.begin(), peaks.end()), row.peak)
        << row.schedule << " " << text(row.shape);
  }
}

}  // namespace
}  // namespace pipecast::testing
