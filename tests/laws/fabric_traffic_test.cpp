// Which traffic crosses which level: bytes per level add up to what the routes of the messages
// carry.
#include "sim/graph/fabric_traffic.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/support/platform_examples.hpp"
#include "tests/support/replica_case.hpp"

namespace pipecast {
namespace {

using testing::PlatformExample;
using testing::ReplicaCase;

ReplicaCase case_for(const Platform& platform) {
  ReplicaCase made;
  const auto devices = static_cast<int>(platform.devices.size());
  made.layout.tensor = devices >= 32 ? 4 : 1;
  made.layout.data = devices >= 32 ? 4 : 3;
  made.layout.zero = 1;
  return made;
}

double link_bytes(const FabricTraffic& traffic, TrafficKind kind) {
  double sum = 0;
  for (const LevelTraffic& level : traffic.levels) sum += level.of(kind).link_bytes;
  return sum;
}

/// Bytes × links of their routes, over the transfers of some kinds.
double carried(const TaskGraph& graph, std::initializer_list<OpKind> kinds) {
  double sum = 0;
  for (const Task& task : graph.tasks) {
    if (task.route < 0 || std::find(kinds.begin(), kinds.end(), task.kind) == kinds.end()) continue;
    const Route& way = graph.routes[static_cast<std::size_t>(task.route)];
    sum += task.bytes * static_cast<double>(way.links.size());
  }
  return sum;
}

TEST(FabricTrafficLaws, LevelsAddUpToWhatTheRoutesCarry) {
  for (const PlatformExample& example : testing::platform_examples()) {
    SCOPED_TRACE(example.kind);
    const Platform platform = testing::example_platform(example);
    const ReplicatedGraph built = testing::replicated(case_for(platform), platform, Replicas::All);
    const auto expect = [&](TrafficKind kind, std::initializer_list<OpKind> ops) {
      const double bytes = carried(built.graph, ops);
      EXPECT_GT(bytes, 0) << traffic_name(kind);
      EXPECT_NEAR(link_bytes(built.traffic, kind), bytes, 1e-9 * bytes) << traffic_name(kind);
    };
    expect(TrafficKind::Pipeline, {OpKind::SendForward, OpKind::SendBackward});
    expect(TrafficKind::GradientReduction, {OpKind::ReduceGrad});
    expect(TrafficKind::ParameterGather, {OpKind::Unshard});
    EXPECT_EQ(link_bytes(built.traffic, TrafficKind::StashedActivation), 0);
  }
}

TEST(FabricTrafficLaws, EveryLinkOfARouteHasItsLevelAndMessagesCountOncePerLevel) {
  for (const PlatformExample& example : testing::platform_examples()) {
    SCOPED_TRACE(example.kind);
    const Platform platform = testing::example_platform(example);
    const FabricLevels levels = fabric_levels(platform);
    std::vector<std::size_t> count(levels.levels.size(), 0);
    for (const std::int32_t level : levels.level_of) {
      ASSERT_LT(level, static_cast<std::int32_t>(levels.levels.size()));
      if (level >= 0) ++count[static_cast<std::size_t>(level)];
    }
    for (std::size_t level = 0; level < count.size(); ++level) {
      EXPECT_EQ(count[level], levels.levels[level].count);
      EXPECT_GT(count[level], 0u);
    }
    for (std::int32_t to = 1; to < static_cast<std::int32_t>(platform.devices.size()); ++to) {
      const Route way = *route(platform, {0}, {to});
      for (const LinkId link : way.links) EXPECT_GE(levels.level_of[link.at()], 0);
    }
    const ReplicatedGraph built = testing::replicated(case_for(platform), platform, Replicas::All);
    for (const LevelTraffic& level : built.traffic.levels)
      for (const Crossing& crossing : level.kinds) EXPECT_LE(crossing.bytes, crossing.link_bytes);
  }
}

/// Tensor in the node, pipeline and data over nodes: all of it crosses cards twice and the NVLink
/// never; a ring all-reduce of n carries 2 (n−1)/n of the bytes per member.
TEST(FabricTrafficLaws, ARailClustersTrafficHasItsClosedForm) {
  const Platform platform = testing::example_platform(
      {"rail-cluster", testing::cluster_texts({{"pod_nodes", "4"}, {"core_latency", "5 us"}})});
  ReplicaCase made;
  made.layout.tensor = 4;
  made.layout.data = 4;
  made.layout.gradient_reduction.algorithm = CollectiveAlgorithm::Ring;
  const FabricTraffic traffic = testing::replicated(made, platform, Replicas::Symmetric).traffic;
  std::vector<std::string> names;
  for (const LevelTraffic& level : traffic.levels) names.push_back(level.level.name);
  EXPECT_EQ(names, (std::vector<std::string>{"nvlink", "leaf", "spine", "core"}));
  const LevelTraffic& cards = traffic.levels[1];
  EXPECT_EQ(cards.level.links, "card");
  EXPECT_EQ(cards.level.count, 64u);   // 32 cards, two directions
  const double messages = 16 * 2 * 4;  // replicas, there and back, microbatches
  EXPECT_EQ(cards.of(TrafficKind::Pipeline).messages, messages);
  EXPECT_DOUBLE_EQ(cards.of(TrafficKind::Pipeline).bytes, messages * 40e6);
  EXPECT_DOUBLE_EQ(cards.of(TrafficKind::Pipeline).link_bytes, 2 * messages * 40e6);
  const double reduced = 4 * 2 * 4 * (2.0 * 3 / 4) * 400e6;  // rings, stages, members
  EXPECT_DOUBLE_EQ(cards.of(TrafficKind::GradientReduction).bytes, reduced);
  EXPECT_EQ(traffic.levels[0].of(TrafficKind::GradientReduction), Crossing{});
  // Stages are 16 devices apart: pod 0 to pod 1, so every pipeline message crosses the core.
  EXPECT_DOUBLE_EQ(traffic.levels[3].of(TrafficKind::Pipeline).bytes, messages * 40e6);
  EXPECT_EQ(traffic.levels[3].of(TrafficKind::GradientReduction).messages, 0);
  ASSERT_EQ(cards.busiest.size(), kBusiestLinks);
  EXPECT_DOUBLE_EQ(cards.busiest[0].bytes, 4 * 40e6 + 1.5 * 400e6);
  EXPECT_DOUBLE_EQ(cards.busiest[0].seconds, cards.busiest[0].bytes / 50e9);
}

}  // namespace
}  // namespace pipecast
