#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "platforms/platform_kind.hpp"
#include "sim/graph/flows.hpp"
#include "sim/model/collective_cost.hpp"
#include "sim/model/collectives.hpp"
#include "sim/run/longest_path.hpp"
#include "sim/run/simgrid_run.hpp"

namespace pipecast {
namespace {

using Texts = std::map<std::string, std::string, std::less<>>;
constexpr double kPort = 100e9;
constexpr double kPortLatency = 2e-6;
constexpr double kCard = 25e9;
constexpr double kCardLatency = 4e-6;

Platform make(std::string_view name, const Texts& texts) {
  const std::vector<PlatformKind> kinds = builtin_platform_kinds();
  const PlatformKind* kind = find_platform_kind(kinds, name);
  Result<Platform> platform = make_platform(*kind, *parse_fields(kind->fields, texts));
  EXPECT_TRUE(platform) << render(platform.error());
  return *platform;
}

Platform node() {
  return make("nvlink-node", {{"scale_up_bandwidth", "100 GB/s"}, {"scale_up_latency", "2 us"}});
}

Platform cluster(int nodes, int node_devices) {
  return make("rail-cluster", {{"nodes", std::to_string(nodes)},
                               {"node_devices", std::to_string(node_devices)},
                               {"scale_up_bandwidth", "100 GB/s"},
                               {"scale_up_latency", "2 us"},
                               {"card_bandwidth", "25 GB/s"},
                               {"leaf_latency", "4 us"}});
}

std::vector<DeviceId> first(std::int32_t devices) {
  std::vector<DeviceId> group;
  for (std::int32_t device = 0; device < devices; ++device) group.push_back({device});
  return group;
}

double end_of(const Timeline& timeline) {
  double end = 0;
  for (const Interval& interval : timeline.intervals) end = std::max(end, interval.end_s);
  return end;
}

/// Both evaluators give this time.
void expect_both(const CollectiveRequest& request, const Platform& platform, double seconds) {
  const Result<CollectivePlan> plan = plan_collective(request, platform);
  ASSERT_TRUE(plan) << render(plan.error());
  const TaskGraph graph = *build_flow_graph(plan->flows, platform);
  EXPECT_NEAR(end_of(longest_path(graph)), seconds, 1e-9 * seconds)
      << collective_name(request.kind) << " " << algorithm_name(plan->algorithm);
  const Result<Timeline> shared = simgrid_run(graph, platform);
  ASSERT_TRUE(shared) << render(shared.error());
  EXPECT_NEAR(end_of(*shared), seconds, 1e-9 * seconds)
      << collective_name(request.kind) << " " << algorithm_name(plan->algorithm);
}

/// 2 (n−1) α + 2 (n−1)/n × bytes ÷ β, and half of it for gather and scatter.
TEST(CollectiveLaws, RingsHaveTheirClosedForm) {
  const Platform platform = node();
  for (const double bytes : {1.0, 1e6, 1e10})
    for (std::int32_t devices = 2; devices <= 8; ++devices) {
      const double hops = devices - 1;
      const double once = hops * kPortLatency + hops / devices * bytes / kPort;
      const auto request = [&](Collective kind) {
        return CollectiveRequest{kind, CollectiveAlgorithm::Ring, first(devices), Bytes{bytes}};
      };
      expect_both(request(Collective::AllReduce), platform, 2 * once);
      expect_both(request(Collective::AllGather), platform, once);
      expect_both(request(Collective::ReduceScatter), platform, once);
      expect_both(request(Collective::Broadcast), platform, hops * kPortLatency + bytes / kPort);
    }
}

TEST(CollectiveLaws, AllToAllTakesAMessageAfterTheOther) {
  for (std::int32_t devices = 2; devices <= 8; ++devices)
    expect_both({Collective::AllToAll, {}, first(devices), Bytes{8e8}}, node(),
                (devices - 1) * (kPortLatency + 8e8 / devices / kPort / kExchangeReaches[0]));
}

/// Across nodes no two messages of a step meet on a card, whatever the slots they go between.
TEST(CollectiveLaws, AllToAllKeepsEveryCardBusyWithOneMessage) {
  for (const int node_devices : {1, 2, 4})
    for (const int nodes : {2, 3, 4}) {
      const int devices = nodes * node_devices;
      const double message = 8e8 / devices / kCard / kExchangeReaches[1];
      const double latency = node_devices == 1 ? kCardLatency : kCardLatency + kPortLatency;
      const Platform platform = cluster(nodes, node_devices);
      const Result<CollectivePlan> plan =
          plan_collective({Collective::AllToAll, {}, first(devices), Bytes{8e8}}, platform);
      ASSERT_TRUE(plan) << render(plan.error());
      const TaskGraph graph = *build_flow_graph(plan->flows, platform);
      const Result<Timeline> shared = simgrid_run(graph, platform);
      ASSERT_TRUE(shared) << render(shared.error());
      const double least = (devices - node_devices) * message;
      EXPECT_GE(end_of(*shared), least);
      EXPECT_LE(end_of(*shared), 1.02 * (least + devices * latency))
          << nodes << " nodes of " << node_devices;
      EXPECT_NEAR(end_of(longest_path(graph)) / end_of(*shared), 1, 0.02);
    }
}

TEST(CollectiveLaws, InTheSwitchEveryPortCarriesTheMessageOnce) {
  Platform platform = node();
  platform.collectives_inside.in_switch = true;
  expect_both({Collective::AllReduce, {}, first(8), Bytes{1e9}}, platform,
              2 * kPortLatency + 1e9 / kPort);
}

/// On a full mesh every device exchanges with all others at once: two phases of bytes/n.
TEST(CollectiveLaws, AMeshUsesAllItsWires) {
  const Platform mesh =
      make("mesh-node", {{"wire_bandwidth", "25 GB/s"}, {"wire_latency", "2 us"}});
  const double phase = kPortLatency + 1e9 / 8 / kCard;
  expect_both({Collective::AllReduce, {}, first(8), Bytes{1e9}}, mesh, 2 * phase);
  expect_both({Collective::AllToAll, {}, first(8), Bytes{1e9}}, mesh, phase);
}

/// Across nodes of a mesh the rings go different ways inside, so a wire carries one of them.
TEST(CollectiveLaws, RingsAcrossMeshesDoNotMeetOnAWire) {
  const Platform platform = make("rail-cluster", {{"nodes", "4"},
                                                  {"node_devices", "8"},
                                                  {"scale_up", "mesh"},
                                                  {"scale_up_bandwidth", "175 GB/s"},
                                                  {"scale_up_latency", "2 us"},
                                                  {"card_bandwidth", "25 GB/s"},
                                                  {"leaf_latency", "4 us"}});
  const double hops_across = 8;  // of the 62 hops of a ring, 4 of 32 edges leave a node
  const double share = 2.0 * 31 / 32 * 1e9 / 8;
  expect_both({Collective::AllReduce, CollectiveAlgorithm::Ring, first(32), Bytes{1e9}}, platform,
              (62 - hops_across) * kPortLatency + hops_across * kCardLatency + share / kCard);
}

/// Hierarchical all-reduce is held up by the slower of its two parts, and pays the hops of both.
TEST(CollectiveLaws, HierarchiesStreamThroughBothParts) {
  const Platform platform = cluster(4, 4);
  const double inside = 2 * 3.0 / 4 * 1e9 / kPort;
  const double across = 2 * 3.0 / 4 * (1e9 / 4) / kCard;
  expect_both({Collective::AllReduce, CollectiveAlgorithm::Hierarchical, first(16), Bytes{1e9}},
              platform, 6 * kPortLatency + 6 * kCardLatency + std::max(inside, across));
}

/// d rings, each leaving the node by another card: every card carries 2 (n−1)/n × bytes/d.
TEST(CollectiveLaws, RingsAcrossNodesUseEveryCard) {
  const Platform platform = cluster(4, 4);
  const double share = 2.0 * 15 / 16 * 1e9 / 4;
  const double hops_across = 8;  // of the 30 hops of a ring, 4 of 16 edges leave a node
  expect_both({Collective::AllReduce, CollectiveAlgorithm::Ring, first(16), Bytes{1e9}}, platform,
              (30 - hops_across) * kPortLatency + hops_across * kCardLatency + share / kCard);
}

/// Where the network's switches reduce, a card carries its slot's part of the message once.
TEST(CollectiveLaws, SwitchesOfTheNetworkTakeTheTripOffTheCards) {
  Platform platform = cluster(4, 4);
  platform.collectives_across.in_switch = true;
  expect_both({Collective::AllReduce, CollectiveAlgorithm::Automatic, first(16), Bytes{1e9}},
              platform, 6 * kPortLatency + 2 * kCardLatency + 2 * 3.0 / 4 * 1e9 / kPort);
}

/// A tree is held up by the devices in its middle, which send and receive twice the message.
TEST(CollectiveLaws, TreesTakeTwiceTheMessageOnAPort) {
  const Platform platform = cluster(8, 1);
  const Result<CollectivePlan> plan = plan_collective(
      {Collective::AllReduce, CollectiveAlgorithm::Tree, first(8), Bytes{1e9}}, platform);
  ASSERT_TRUE(plan);
  const Result<Timeline> shared = simgrid_run(*build_flow_graph(plan->flows, platform), platform);
  ASSERT_TRUE(shared);
  const double depth = 3;
  EXPECT_NEAR(end_of(*shared), 2 * depth * kCardLatency + 2 * 1e9 / kCard / kTreeReaches, 1e-9);
}

/// Across nodes a card carries what its slot's trees do, an eighth of that of one tree for all; a
/// port inside up and down what the chains of the other slots do.
TEST(CollectiveLaws, TreesUseEveryCard) {
  const Platform platform = cluster(4, 8);
  const Result<CollectivePlan> plan = plan_collective(
      {Collective::AllReduce, CollectiveAlgorithm::Tree, first(32), Bytes{1e9}}, platform);
  ASSERT_TRUE(plan) << render(plan.error());
  const Result<Timeline> shared = simgrid_run(*build_flow_graph(plan->flows, platform), platform);
  ASSERT_TRUE(shared);
  const double hops = 14 * kPortLatency + 4 * kCardLatency;
  const double wire = std::max(2 * 7.0 / 8 * 1e9 / kPort, 2 * 1e9 / 8 / kCard);
  EXPECT_NEAR(end_of(*shared), hops + wire / kTreeReaches, 1e-4);
}

/// Few bytes: fewer hops win; many bytes: the ring, which moves less.
TEST(CollectiveLaws, TheAlgorithmFollowsTheSize) {
  const Platform platform = cluster(16, 1);
  const auto chosen = [&](double bytes) {
    return plan_collective({Collective::AllReduce, {}, first(16), Bytes{bytes}}, platform)
        ->algorithm;
  };
  EXPECT_EQ(chosen(1e3), CollectiveAlgorithm::Tree);
  EXPECT_EQ(chosen(1e10), CollectiveAlgorithm::Ring);
}

/// A message between two nodes and a ring over the same card share it.
TEST(CollectiveLaws, CollectivesContendWithMessages) {
  const Platform platform = cluster(2, 1);
  Result<CollectivePlan> plan = plan_collective(
      {Collective::AllGather, CollectiveAlgorithm::Ring, first(2), Bytes{2e9}}, platform);
  ASSERT_TRUE(plan);
  plan->flows.push_back({{0}, {1}, Bytes{1e9}});
  const Result<Timeline> shared = simgrid_run(*build_flow_graph(plan->flows, platform), platform);
  ASSERT_TRUE(shared);
  EXPECT_NEAR(shared->intervals[0].end_s, kCardLatency + 2 * 1e9 / kCard, 1e-9);
  EXPECT_NEAR(shared->intervals[1].end_s, kCardLatency + 1e9 / kCard, 1e-9);  // the other way
  EXPECT_NEAR(shared->intervals[2].end_s, kCardLatency + 2 * 1e9 / kCard, 1e-9);
}

}  // namespace
}  // namespace pipecast
