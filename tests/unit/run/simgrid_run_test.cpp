#include "sim/run/simgrid_run.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "sim/run/longest_path.hpp"
#include "tests/unit/run/hand_made.hpp"

namespace pipecast {
namespace {

using testing::cards;
using testing::HandMade;

constexpr double kRelative = 1e-12;

void expect_near(double measured, double expected) {
  EXPECT_NEAR(measured, expected, kRelative * std::abs(expected));
}

Timeline run(HandMade& made) {
  Result<Timeline> timeline = simgrid_run(made.finish(), made.platform);
  EXPECT_TRUE(timeline) << render(timeline.error());
  return timeline ? *timeline : Timeline{};
}

TEST(SimgridRun, AnEmptyGraphHasAnEmptyTimeline) {
  HandMade made;
  EXPECT_TRUE(run(made).intervals.empty());
}

TEST(SimgridRun, ADiamondOfComputesWaitsForItsLongerSide) {
  HandMade made{cards(1, {}, {1e9}, Sharing::Shared), {}, {}};
  const auto first = made.compute(0, 1.0);
  const auto brief = made.compute(0, 2.0);
  const auto lengthy = made.compute(0, 5.0);
  const auto final = made.compute(0, 0.5);
  made.edge(first, brief);
  made.edge(first, lengthy);
  made.edge(brief, final);
  made.edge(lengthy, final);
  const Timeline timeline = run(made);
  ASSERT_EQ(timeline.intervals.size(), 4U);
  EXPECT_EQ(timeline.intervals[first], (Interval{0, 1}));
  EXPECT_EQ(timeline.intervals[brief], (Interval{1, 3}));
  EXPECT_EQ(timeline.intervals[lengthy], (Interval{1, 6}));
  EXPECT_EQ(timeline.intervals[final], (Interval{6, 6.5}));
}

TEST(SimgridRun, TasksOfNoLengthEndWhenTheyStart) {
  HandMade made{cards(1, {}, {1e9}, Sharing::Shared), {}, {}};
  for (int position = 0; position < 5; ++position) made.compute(0, position == 2 ? 1.0 : 0.0);
  for (std::uint32_t position = 0; position < 4; ++position) made.edge(position, position + 1);
  const Timeline timeline = run(made);
  ASSERT_EQ(timeline.intervals.size(), 5U);
  EXPECT_EQ(timeline.intervals[1], (Interval{0, 0}));
  EXPECT_EQ(timeline.intervals[2], (Interval{0, 1}));
  EXPECT_EQ(timeline.intervals[4], (Interval{1, 1}));
}

TEST(SimgridRun, AllTasksOfNoLengthEndAtZero) {
  HandMade made{cards(2, {}, {1e9}, Sharing::Shared), {}, {}};
  const auto before = made.compute(0, 0);
  const auto message = made.transfer(0, 1, 0);
  made.edge(before, message);
  EXPECT_EQ(makespan(run(made)).value, 0);
}

TEST(SimgridRun, AMessageWithoutBytesTakesTheLatency) {
  HandMade made{cards(2, {3e-6}, {1e9}, Sharing::Shared), {}, {}};
  const auto before = made.compute(0, 1.0);
  const auto message = made.transfer(0, 1, 0);
  made.edge(before, message);
  const Timeline timeline = run(made);
  EXPECT_EQ(timeline.intervals[message].start_s, 1.0);
  EXPECT_EQ(timeline.intervals[message].end_s, 1.0 + 6e-6);
}

TEST(SimgridRun, TheExtraLatencyComesBeforeTheBytes) {
  HandMade made{cards(2, {1e-6}, {1e9}, Sharing::Shared), {}, {}};
  const auto delayed = made.transfer(0, 1, 1e6, 0.25);
  const auto plain = made.transfer(0, 1, 1e6);
  const Timeline timeline = run(made);
  expect_near(timeline.intervals[plain].end_s, 2e-6 + 1e-3);  // alone on the card all the time
  expect_near(timeline.intervals[delayed].end_s, 0.25 + 2e-6 + 1e-3);
}

TEST(SimgridRun, ConstantDelayIsTheDelayWhateverTheSize) {
  HandMade made{constant_delay_platform(3, {601e-6}), {}, {}};
  const auto first = made.transfer(0, 1, 0);
  const auto second = made.transfer(0, 1, 1e12);
  const auto third = made.transfer(2, 1, 1);
  const Timeline timeline = run(made);
  expect_near(timeline.intervals[first].end_s, 601e-6);
  expect_near(timeline.intervals[second].end_s, 601e-6);
  expect_near(timeline.intervals[third].end_s, 601e-6);
}

TEST(SimgridRun, FractionsOfAByteCount) {
  HandMade made{cards(2, {}, {10}, Sharing::FatPipe), {}, {}};
  const auto message = made.transfer(0, 1, 2.5);
  const auto tiny = made.transfer(0, 1, 1e-3);
  const Timeline timeline = run(made);
  expect_near(timeline.intervals[message].end_s, 0.25);
  expect_near(timeline.intervals[tiny].end_s, 1e-4);
}

TEST(SimgridRun, FlowsOnAFatPipeDoNotShare) {
  HandMade made{cards(3, {}, {1e9}, Sharing::FatPipe), {}, {}};
  const auto first = made.transfer(0, 1, 1e9);
  const auto second = made.transfer(0, 1, 1e9);
  const auto third = made.transfer(0, 2, 2e9);
  const Timeline timeline = run(made);
  expect_near(timeline.intervals[first].end_s, 1);
  expect_near(timeline.intervals[second].end_s, 1);
  expect_near(timeline.intervals[third].end_s, 2);
}

/// Two flows of a and b ≥ a bytes on a link of c bytes/s: the first ends at 2a/c, the second gets
/// the whole link after that and ends at (a + b)/c.
TEST(SimgridRun, TwoMessagesThroughOneCardShareIt) {
  HandMade made{cards(3, {}, {1e9}, Sharing::Shared), {}, {}};
  const auto small = made.transfer(0, 1, 1e9);
  const auto large = made.transfer(0, 2, 3e9);
  const Timeline timeline = run(made);
  expect_near(timeline.intervals[small].end_s, 2);
  expect_near(timeline.intervals[large].end_s, 4);
}

TEST(SimgridRun, SendingDoesNotSlowReceiving) {
  HandMade made{cards(2, {}, {1e9}, Sharing::Shared), {}, {}};
  const auto there = made.transfer(0, 1, 1e9);
  const auto back = made.transfer(1, 0, 1e9);
  const Timeline timeline = run(made);
  expect_near(timeline.intervals[there].end_s, 1);
  expect_near(timeline.intervals[back].end_s, 1);
}

/// Max–min fairness looks at bytes only: a longer way must not lower a flow's share.
TEST(SimgridRun, LatencyDoesNotChangeTheShare) {
  Platform platform = cards(3, {}, {1e9}, Sharing::Shared);
  platform.links[5].latency = {1e-3};  // down to device 2
  HandMade made{platform, {}, {}};
  const auto near = made.transfer(0, 1, 1e9, 1e-3);  // both begin to flow after 1 ms
  const auto far = made.transfer(0, 2, 1e9);
  const Timeline timeline = run(made);
  expect_near(timeline.intervals[near].end_s, 2.001);
  expect_near(timeline.intervals[far].end_s, 2.001);
}

/// A flow held back elsewhere leaves the rest of a common link to the other: 1/4 and 3/4.
TEST(SimgridRun, WhatOneFlowCannotUseGoesToTheOther) {
  Platform platform = cards(3, {}, {4e9}, Sharing::Shared);
  platform.links[3].bandwidth = {1e9};  // down to device 1
  HandMade made{platform, {}, {}};
  const auto slow = made.transfer(0, 1, 1e9);
  const auto fast = made.transfer(0, 2, 3e9);
  const Timeline timeline = run(made);
  expect_near(timeline.intervals[slow].end_s, 1);
  expect_near(timeline.intervals[fast].end_s, 1);
}

/// A graph may hold several ways between the same two devices, and one from a device to itself.
TEST(SimgridRun, RoutesOfOnePairKeepTheirOwnLinks) {
  HandMade made{cards(2, {}, {1e9}, Sharing::Shared), {}, {}};
  made.platform.links.push_back({"side", {0.5}, {4e9}, Sharing::Shared});
  const auto main = made.transfer(0, 1, 1e9);
  const auto side = made.transfer(0, 1, 1e9);
  const auto self = made.transfer(0, 1, 1e9);
  Route way = made.graph.routes[0];
  way.links = {LinkId{4}};
  way.latency = {0.5};
  made.graph.routes.push_back(way);
  made.graph.tasks[side].route = 1;
  way.to = way.from;
  made.graph.routes.push_back(way);
  made.graph.tasks[self].route = 2;
  const Timeline timeline = run(made);
  expect_near(timeline.intervals[main].end_s, 1);
  expect_near(timeline.intervals[side].end_s, 1);  // 0.5 s on the way, half of 4 GB/s
  expect_near(timeline.intervals[self].end_s, 1);
}

/// Events closer than SimGrid's default precision of 1 ns must stay apart.
TEST(SimgridRun, KeepsEventsApartThatLieWithinAPicosecond) {
  HandMade made{cards(3, {}, {1e12}, Sharing::FatPipe), {}, {}};
  const auto one = made.transfer(0, 1, 1);
  const auto two = made.transfer(0, 2, 2);
  const Timeline timeline = run(made);
  expect_near(timeline.intervals[one].end_s, 1e-12);
  expect_near(timeline.intervals[two].end_s, 2e-12);
}

TEST(SimgridRun, LongChainsOfVeryShortTasksEndWhereTheyShould) {
  for (const double seconds : {1e-10, 1e-7, 1e-3}) {
    HandMade made{cards(2, {}, {1e10}, Sharing::Shared), {}, {}};
    for (int step = 0; step < 1000; ++step) {
      made.compute(0, seconds);
      made.transfer(0, 1, seconds * 1e10);
    }
    for (std::uint32_t task = 0; task + 1 < 2000; ++task) made.edge(task, task + 1);
    EXPECT_NEAR(makespan(run(made)).value, 2000 * seconds, 1e-9 * 2000 * seconds);
  }
}

TEST(SimgridRun, SameInputSameBytes) {
  std::uint64_t digests[2];
  for (std::uint64_t& value : digests) {
    HandMade made{cards(8, {1e-6}, {1e9}, Sharing::Shared), {}, {}};
    for (int from = 0; from < 8; ++from)
      for (int to = 0; to < 8; ++to)
        if (from != to) made.transfer(from, to, 1e6 * (from + 1) + to);
    value = digest(run(made));
  }
  EXPECT_EQ(digests[0], digests[1]);
}

TEST(SimgridRun, ManyRunsInOneProcess) {
  for (int round = 0; round < 20; ++round) {
    HandMade made{cards(2, {}, {1e9}, Sharing::Shared), {}, {}};
    made.transfer(0, 1, 1e9 * (round + 1));
    expect_near(makespan(run(made)).value, round + 1);
  }
}

}  // namespace
}  // namespace pipecast
