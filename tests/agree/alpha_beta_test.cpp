#include <gtest/gtest.h>

#include "tests/agree/agreement.hpp"

namespace pipecast {
namespace {

using testing::Placed;

constexpr double kLatency = 5e-6;
constexpr double kBandwidth = 47.5e9;

/// Sender and receiver with a link of latency α/2 and bandwidth 1/β each, and messages one by one.
Placed messages(const std::vector<double>& sizes, Sharing sharing) {
  Placed placed;
  placed.platform.devices = {{"a", "", Bytes{}, 1.0}, {"b", "", Bytes{}, 1.0}};
  placed.platform.links = {{"up", {kLatency / 2}, {kBandwidth}, sharing},
                           {"down", {kLatency / 2}, {kBandwidth}, sharing}};
  placed.platform.routing = UniformRouting{{LinkId{0}, LinkId{1}}};
  placed.graph.ranks = 2;
  placed.graph.device_of_rank = {{0}, {1}};
  placed.graph.routes = {*route(placed.platform, {0}, {1})};
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
  for (std::uint32_t id = 0; id < sizes.size(); ++id) {
    Task task;
    task.kind = OpKind::SendForward;
    task.stream = Stream::Transfer;
    task.bytes = sizes[id];
    task.peer = 1;
    task.route = 0;
    placed.graph.tasks.push_back(task);
    placed.graph.order.push_back(id);
    if (id > 0) edges.emplace_back(id - 1, id);
  }
  placed.graph.dependencies = DependencyGraph(boost::edges_are_sorted, edges.begin(), edges.end(),
                                              static_cast<std::uint32_t>(sizes.size()),
                                              static_cast<std::uint32_t>(edges.size()));
  return placed;
}

/// A message of n bytes takes α + β n, from one byte to 100 GB, shared link or not.
TEST(Agree, AlphaBetaLawFromOneByteToAHundredGigabytes) {
  for (const Sharing sharing : {Sharing::Shared, Sharing::FatPipe})
    for (double bytes = 1; bytes <= 100e9; bytes *= 10) {
      const Placed placed = messages({bytes}, sharing);
      const Result<Timeline> timeline = simgrid_run(placed.graph, placed.platform);
      ASSERT_TRUE(timeline) << render(timeline.error());
      const double expected = kLatency + bytes / kBandwidth;
      EXPECT_NEAR(makespan(*timeline).value, expected, 1e-12 * expected) << bytes << " bytes";
    }
}

/// All sizes in one run: the largest must not blur the smallest.
TEST(Agree, AlphaBetaLawInOneRun) {
  std::vector<double> sizes;
  for (double bytes = 1; bytes <= 100e9; bytes *= 10) sizes.push_back(bytes);
  const Placed placed = messages(sizes, Sharing::Shared);
  const Result<Timeline> timeline = simgrid_run(placed.graph, placed.platform);
  ASSERT_TRUE(timeline) << render(timeline.error());
  for (std::size_t id = 0; id < sizes.size(); ++id) {
    const Interval& interval = timeline->intervals[id];
    const double expected = kLatency + sizes[id] / kBandwidth;
    EXPECT_NEAR(interval.end_s - interval.start_s, expected, 1e-9 * expected) << sizes[id];
  }
}

/// n equal messages through one card, all at once, take n times as long each.
TEST(Agree, MessagesThroughOneCardShareItEvenly) {
  for (int count = 1; count <= 16; ++count) {
    Placed placed =
        messages(std::vector<double>(static_cast<std::size_t>(count), 1e9), Sharing::Shared);
    placed.graph.dependencies = DependencyGraph(static_cast<std::uint32_t>(count));
    const Result<Timeline> timeline = simgrid_run(placed.graph, placed.platform);
    ASSERT_TRUE(timeline) << render(timeline.error());
    const double expected = kLatency + count * 1e9 / kBandwidth;
    for (const Interval& interval : timeline->intervals)
      EXPECT_NEAR(interval.end_s, expected, 1e-9 * expected) << count << " messages";
  }
}

}  // namespace
}  // namespace pipecast
