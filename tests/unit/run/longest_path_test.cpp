#include "sim/run/longest_path.hpp"

#include <gtest/gtest.h>

#include "tests/unit/run/hand_made.hpp"

namespace pipecast {
namespace {

using testing::cards;
using testing::HandMade;

TEST(LongestPath, StartsATaskWhenItsLastPredecessorEnds) {
  HandMade made{cards(1, {}, {1e9}, Sharing::Shared), {}, {}};
  const auto brief = made.compute(0, 2);
  const auto lengthy = made.compute(0, 5);
  const auto final = made.compute(0, 1);
  made.edge(brief, final);
  made.edge(lengthy, final);
  const Timeline timeline = longest_path(made.finish());
  EXPECT_EQ(timeline.intervals[brief], (Interval{0, 2}));
  EXPECT_EQ(timeline.intervals[lengthy], (Interval{0, 5}));
  EXPECT_EQ(timeline.intervals[final], (Interval{5, 6}));
}

TEST(LongestPath, ATransferTakesExtraLatencyPlusLatencyPlusBytesOverBandwidth) {
  HandMade made{cards(2, {0.25}, {8}, Sharing::Shared), {}, {}};
  const auto message = made.transfer(0, 1, 16, 1);
  const auto other = made.transfer(0, 1, 16);
  const Timeline timeline = longest_path(made.finish());
  EXPECT_EQ(timeline.intervals[message], (Interval{0, 1 + 0.5 + 2}));
  EXPECT_EQ(timeline.intervals[other], (Interval{0, 0.5 + 2})) << "nothing is shared";
}

TEST(LongestPath, AnEmptyGraphHasAnEmptyTimeline) {
  HandMade made;
  EXPECT_TRUE(longest_path(made.finish()).intervals.empty());
}

}  // namespace
}  // namespace pipecast
