// Qi et al. 2024, figure 9: bubble rate against memory limit, all 306 points.
#include <gtest/gtest.h>

#include "tests/support/paper_limits.hpp"

namespace pipecast::testing {
namespace {

/// One chunk needs no search, nor does a V with half as much memory again as 1F1B. Between, a long
/// step needs more: every try costs its length.
std::string budget(const PaperCase& paper) {
  if (paper.shape.chunks == 1 || paper.limit >= 1.5) return "0 s";
  return paper.shape.microbatches < 8 * paper.shape.ranks ? "500 ms" : "3 s";
}

TEST(ZbAutoPaper, EveryPointOfFigureNine) {
  int points = 0;
  for (const PrintedLimit& printed : printed_limits()) {
    if (printed.source != "figure9") continue;
    const auto found = searched(printed.paper, {{"search_seconds", budget(printed.paper)}});
    ASSERT_TRUE(found) << printed.label() << "\n" << render(found.error());
    EXPECT_LE(found->bubble, printed.bubble + 0.001) << printed.label();
    EXPECT_LE(found->peak_over_limit, 1.0 + 1e-9) << printed.label();
    EXPECT_GE(found->bubble, found->bubble_bound - 1e-9) << printed.label();
    ++points;
  }
  EXPECT_EQ(points, 306);
}

}  // namespace
}  // namespace pipecast::testing
