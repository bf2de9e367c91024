// Qi et al. 2024, tables 5 and 8 and a part of figure 9: the searching schedules are at least as
// good as the authors' at the same memory, and better where there is room. All 306 points of the
// figure are in published/slow.
#include <gtest/gtest.h>

#include "tests/support/paper_limits.hpp"

namespace pipecast::testing {
namespace {

constexpr double kAllowed = 0.001;  ///< above the printed rate, its rounding included

void expect_printed(const PrintedLimit& printed, const Texts& budget) {
  const auto found = searched(printed.paper, budget);
  ASSERT_TRUE(found) << printed.label() << "\n" << render(found.error());
  EXPECT_LE(found->bubble, printed.bubble + kAllowed) << printed.label();
  EXPECT_LE(found->peak_over_limit, 1.0 + 1e-9) << printed.label();
  EXPECT_GE(found->bubble, found->bubble_bound - 1e-9) << printed.label();
}

TEST(ZbAutoPaper, TablesFiveAndEight) {
  int rows = 0;
  for (const PrintedLimit& printed : printed_limits())
    if (printed.source != "figure9") {
      expect_printed(printed, {{"search_seconds", "0 s"}});
      ++rows;
    }
  EXPECT_EQ(rows, 33);
}

/// One chunk: the constructed orders alone.
TEST(ZbAutoPaper, FigureNineWithOneChunkNeedsNoSearch) {
  int points = 0;
  for (const PrintedLimit& printed : printed_limits())
    if (printed.source == "figure9" && printed.paper.schedule == "zb-auto" &&
        printed.paper.shape.microbatches <= 4 * printed.paper.shape.ranks) {
      expect_printed(printed, {{"search_seconds", "0 s"}});
      ++points;
    }
  EXPECT_EQ(points, 6 * 17);
}

TEST(ZbAutoPaper, FigureNineOnTheV) {
  for (const PrintedLimit& printed : printed_limits())
    if (printed.source == "figure9" && printed.paper.schedule == "zb-v-auto" &&
        printed.paper.shape == Shape{16, 2, 48} && printed.paper.limit <= 1.75)
      expect_printed(printed, {{"search_seconds", "0.2 s"}});
}

struct Better {
  double limit;
  double bubble;  ///< what long annealing reached, four decimals
};

/// M_B and M_W of the 6.2B model.
PaperCase model_6b(Shape shape, StageCost cost_us, double message_us, double limit) {
  return {.schedule = "zb-auto",
          .shape = shape,
          .cost = {cost_us.forward * 1e-6, cost_us.backward_input * 1e-6,
                   cost_us.backward_weight * 1e-6},
          .message = {message_us * 1e-6},
          .activation_bytes = 34.0 * 4096 + 5.0 * 32 * 1024,
          .weight_gradient_bytes = 32.0 * 4096,
          .limit = limit};
}

void expect_better(const PaperCase& paper, const Better& better) {
  const auto found = searched(paper, {{"search_seconds", "3 s"}});
  ASSERT_TRUE(found) << render(found.error());
  EXPECT_LE(found->bubble, better.bubble + 0.00005) << "at " << paper.limit;
  EXPECT_LE(found->peak_over_limit, 1.0 + 1e-9);
}

TEST(ZbAutoPaper, StrictlyBetterWhereThereIsRoom) {
  for (const Better& better : {Better{1.25, 0.0751}, Better{1.5, 0.0475}, Better{2.0, 0.0012}})
    expect_better(model_6b({8, 1, 24}, {{29718}, {29444}, {19927}}, 527, better.limit), better);
  for (const Better& better : {Better{1.125, 0.1226}, Better{1.25, 0.0898}, Better{1.375, 0.0767}})
    expect_better(model_6b({16, 1, 48}, {{28814}, {28760}, {19352}}, 1610, better.limit), better);
}

/// Where the bound of the paper is reached, nothing is left to find.
TEST(ZbAutoPaper, ReachesTheBoundAtTheseLimits) {
  for (const double limit : {1.25, 1.5}) {
    const auto found = searched(model_6b({8, 1, 24}, {{29718}, {29444}, {19927}}, 527, limit), {});
    ASSERT_TRUE(found) << render(found.error());
    EXPECT_NEAR(found->bubble, found->bubble_bound, 1e-9) << "at " << limit;
  }
}

}  // namespace
}  // namespace pipecast::testing
