#include "sim/model/collectives.hpp"

#include <gtest/gtest.h>

#include <map>

#include "sim/model/collective_cost.hpp"

namespace pipecast {
namespace {

constexpr double kRate = 100e9;
constexpr double kLatency = 2e-6;

/// Devices behind one switch, each with a port of its own.
Platform star(std::int32_t devices) {
  Platform platform;
  platform.name = "star";
  RoutingLevel level;
  level.name = "switch";
  for (std::int32_t device = 0; device < devices; ++device) {
    platform.devices.push_back({"d" + std::to_string(device), "", Bytes{}, 1.0});
    for (const char* end : {"up", "down"})
      platform.links.push_back(
          {"d" + std::to_string(device) + end, Seconds{kLatency / 2}, {kRate}, Sharing::Shared});
    level.group_of.push_back(0);
    level.climb.push_back({{2 * device}});
    level.descend.push_back({{2 * device + 1}});
  }
  platform.routing = LevelRouting{{level}};
  return platform;
}

std::vector<DeviceId> first(std::int32_t devices) {
  std::vector<DeviceId> group;
  for (std::int32_t device = 0; device < devices; ++device) group.push_back({device});
  return group;
}

CollectivePlan plan(Collective kind, CollectiveAlgorithm algorithm, std::int32_t devices,
                    const Platform& platform) {
  const Result<CollectivePlan> made =
      plan_collective({kind, algorithm, first(devices), Bytes{8e6}}, platform);
  EXPECT_TRUE(made) << render(made.error());
  return made.value_or(CollectivePlan{});
}

std::string refusal(const CollectiveRequest& request, const Platform& platform) {
  const Result<CollectivePlan> made = plan_collective(request, platform);
  return made ? "" : made.error().front().message;
}

TEST(Collectives, ARingStreamsToTheNextDevice) {
  const CollectivePlan ring = plan(Collective::AllReduce, CollectiveAlgorithm::Ring, 4, star(4));
  ASSERT_EQ(ring.flows.size(), 4u);
  for (std::int32_t device = 0; device < 4; ++device) {
    const Flow& flow = ring.flows[static_cast<std::size_t>(device)];
    EXPECT_EQ(flow.from, DeviceId{device});
    EXPECT_EQ(flow.to, DeviceId{(device + 1) % 4});
    EXPECT_DOUBLE_EQ(flow.bytes.value, 2.0 * 3 / 4 * 8e6);
    EXPECT_DOUBLE_EQ(flow.extra.value, (2 * 3 - 1) * kLatency);  // the route adds the last hop
  }
}

TEST(Collectives, GatherScatterAndBroadcastCarryTheirShare) {
  const Platform platform = star(8);
  const auto bytes = [&](Collective kind) {
    return plan(kind, CollectiveAlgorithm::Ring, 8, platform).flows.front().bytes.value;
  };
  EXPECT_DOUBLE_EQ(bytes(Collective::AllGather), 7.0 / 8 * 8e6);
  EXPECT_DOUBLE_EQ(bytes(Collective::ReduceScatter), 7.0 / 8 * 8e6);
  EXPECT_DOUBLE_EQ(bytes(Collective::Broadcast), 8e6);
  EXPECT_EQ(plan(Collective::Broadcast, CollectiveAlgorithm::Ring, 8, platform).flows.size(), 7u);
}

/// Everything that a device sends and receives adds up over the two trees; who is inside one tree
/// is a leaf of the other.
TEST(Collectives, TwoTreesBalanceTheirDevices) {
  const CollectivePlan tree = plan(Collective::AllReduce, CollectiveAlgorithm::Tree, 8, star(8));
  std::map<DeviceId, double> sent;
  for (const Flow& flow : tree.flows) sent[flow.from] += flow.bytes.value;
  EXPECT_EQ(tree.flows.size(), 2u * 2u * 7u);
  for (const auto& [device, total] : sent) EXPECT_LE(total, 2 * 8e6 / kTreeReaches) << device.value;
}

TEST(Collectives, AllToAllGoesPairByPairBehindASwitch) {
  const CollectivePlan exchange =
      plan(Collective::AllToAll, CollectiveAlgorithm::Automatic, 4, star(4));
  ASSERT_EQ(exchange.flows.size(), 12u);
  EXPECT_EQ(exchange.algorithm, CollectiveAlgorithm::Direct);
  EXPECT_TRUE(exchange.flows[0].after.empty());
  EXPECT_EQ(exchange.flows[4].after, std::vector<std::uint32_t>{0});
  EXPECT_DOUBLE_EQ(exchange.flows[4].bytes.value, 2e6 / kExchangeReaches[0]);
}

TEST(Collectives, SwitchesHalveTheTraffic) {
  Platform platform = star(8);
  platform.collectives_inside.in_switch = true;
  const CollectivePlan reduced =
      plan(Collective::AllReduce, CollectiveAlgorithm::Automatic, 8, platform);
  EXPECT_EQ(reduced.algorithm, CollectiveAlgorithm::InSwitch);
  for (const Flow& flow : reduced.flows) EXPECT_DOUBLE_EQ(flow.bytes.value, 8e6);
  EXPECT_EQ(plan(Collective::AllReduce, CollectiveAlgorithm::Automatic, 4, platform).algorithm,
            CollectiveAlgorithm::Ring);
}

TEST(Collectives, ProtocolsFollowTheFit) {
  Platform platform = star(8);
  platform.collectives_inside = {Seconds{20e-6}, 0.5, Bytes{16e6}, false};
  const auto flow = [&](double bytes) {
    return plan_collective(
               {Collective::AllReduce, CollectiveAlgorithm::Ring, first(8), Bytes{bytes}}, platform)
        ->flows.front();
  };
  const double wire = 2.0 * 7 / 8 / (0.5 * kRate);  // seconds per byte of the large protocol
  const double late = 16e6 * wire;
  EXPECT_DOUBLE_EQ(flow(1e5).extra.value, 20e-6 - kLatency);
  EXPECT_NEAR(flow(1e5).bytes.value / kRate, 1e5 * wire / 0.13, 1e-12);
  EXPECT_NEAR(flow(4e6).extra.value, 20e-6 + 0.376 * (late - 20e-6) - kLatency, 1e-12);
  EXPECT_NEAR(flow(4e6).bytes.value / kRate, 4e6 * wire / 0.95, 1e-12);
  EXPECT_NEAR(flow(1e9).extra.value, late - kLatency, 1e-12);
  EXPECT_NEAR(flow(1e9).bytes.value / kRate, 1e9 * wire, 1e-12);
}

TEST(Collectives, SayWhatIsWrong) {
  const Platform platform = star(4);
  EXPECT_EQ(refusal({Collective::AllReduce, {}, {{0}}, Bytes{1}}, platform),
            "a collective needs at least two devices");
  EXPECT_EQ(refusal({Collective::AllReduce, {}, {{0}, {9}}, Bytes{1}}, platform),
            "platform star has 4 devices, the group names device 9");
  EXPECT_EQ(refusal({Collective::AllReduce, {}, {{0}, {1}, {0}}, Bytes{1}}, platform),
            "device 0 is twice in the group");
  EXPECT_EQ(
      refusal({Collective::AllReduce, CollectiveAlgorithm::InSwitch, first(4), Bytes{1}}, platform),
      "all-reduce by in-switch on platform star: its switches cannot reduce");
  EXPECT_EQ(refusal({Collective::AllReduce, CollectiveAlgorithm::Hierarchical, first(4), Bytes{1}},
                    platform),
            "all-reduce by hierarchical on platform star: the group is inside one node");
  EXPECT_EQ(
      refusal({Collective::AllToAll, CollectiveAlgorithm::Direct, first(4), Bytes{-1}}, platform),
      "the size of a collective must be at least 0 B");
  EXPECT_EQ(refusal({Collective::AllToAll, {}, first(4096), Bytes{1}}, star(4096)),
            "all-to-all by direct would be 16773120 flows; at most 4194304 are allowed");
}

TEST(Collectives, BusFactorsAreThoseOfNcclTests) {
  EXPECT_DOUBLE_EQ(bus_factor(Collective::AllReduce, 8), 1.75);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::AllGather, 8), 0.875);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::Broadcast, 8), 1);
}

}  // namespace
}  // namespace pipecast
