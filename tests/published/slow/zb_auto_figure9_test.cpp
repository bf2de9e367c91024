// Qi et al. 2024, figure 9: bubble rate against memory limit, all 306 points.
#include <gtest/gtest.h>

#include "tests/support/paper_limits.hpp"

namespace pipecast::testing {
namespace {

TEST(ZbAutoPaper, EveryPointOfFigureNine) {
  int points = 0;
  for (const PrintedLimit& printed : printed_limits()) {
    if (printed.source != "figure9") continue;
    const auto found = searched(printed.paper, {{"search_seconds", "0.5 s"}});
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
