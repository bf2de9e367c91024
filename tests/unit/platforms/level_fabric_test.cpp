#include <gtest/gtest.h>

#include <map>
#include <string>

#include "platforms/platform_kind.hpp"

namespace pipecast {
namespace {

using Texts = std::map<std::string, std::string, std::less<>>;

Result<Platform> make(std::string_view name, const Texts& texts) {
  const std::vector<PlatformKind> kinds = builtin_platform_kinds();
  const PlatformKind* kind = find_platform_kind(kinds, name);
  EXPECT_NE(kind, nullptr) << name;
  const Result<FieldValues> values = parse_fields(kind->fields, texts);
  if (!values) return fail(values.error());
  return make_platform(*kind, *values);
}

std::string way(const Platform& platform, int from, int to) {
  const Result<Route> found = route(platform, {from}, {to});
  if (!found) return found.error().front().message;
  std::string text;
  for (const LinkId link : found->links)
    text += (text.empty() ? "" : ", ") + platform.links[link.at()].name;
  return text;
}

Texts cluster(Texts more = {}) {
  more.insert({{"nodes", "4"},
               {"node_devices", "2"},
               {"leaf_nodes", "2"},
               {"scale_up_bandwidth", "450 GB/s"},
               {"scale_up_latency", "3 us"},
               {"card_bandwidth", "400 Gb/s"},
               {"leaf_latency", "4 us"},
               {"spine_latency", "6 us"}});
  return more;
}

TEST(NvlinkNode, EveryPairHasItsOwnPortsAndTheLatencyOfTheWholeWay) {
  const Result<Platform> node = make("nvlink-node", {{"node_devices", "8"},
                                                     {"accelerator", "h100_sxm5_80gb"},
                                                     {"memory", "80 GiB"},
                                                     {"scale_up_bandwidth", "450 GB/s"},
                                                     {"scale_up_achieved", "0.8"},
                                                     {"scale_up_latency", "3 us"}});
  ASSERT_TRUE(node) << render(node.error());
  EXPECT_EQ(node->devices.size(), 8u);
  EXPECT_EQ(node->links.size(), 16u);
  EXPECT_EQ(node->devices[3], (Device{"n0.d3", "h100_sxm5_80gb", Bytes{85899345920}, 1.0}));
  EXPECT_EQ(way(*node, 1, 5), "n0.d1 nvlink up, n0.d5 nvlink down");
  const Route there = *route(*node, {1}, {5});
  EXPECT_DOUBLE_EQ(there.latency.value, 3e-6);
  EXPECT_DOUBLE_EQ(there.bandwidth.value, 360e9);
}

TEST(NvlinkNode, NeedsABandwidth) {
  const Result<Platform> node = make("nvlink-node", {});
  ASSERT_FALSE(node);
  EXPECT_EQ(node.error().front().message,
            "a platform of kind nvlink-node needs scale_up_bandwidth");
}

TEST(RailCluster, StaysOnTheLeafOfItsRail) {
  const Result<Platform> platform = make("rail-cluster", cluster());
  ASSERT_TRUE(platform) << render(platform.error());
  EXPECT_EQ(way(*platform, 0, 1), "n0.d0 nvlink up, n0.d1 nvlink down");
  EXPECT_EQ(way(*platform, 1, 3), "n0.d1 card up, n1.d1 card down");
  EXPECT_DOUBLE_EQ(route(*platform, {1}, {3})->latency.value, 4e-6);
  EXPECT_DOUBLE_EQ(route(*platform, {1}, {3})->bandwidth.value, 50e9);
}

TEST(RailCluster, CrossesTheSpineBetweenLeaves) {
  const Result<Platform> platform = make("rail-cluster", cluster());
  EXPECT_EQ(way(*platform, 1, 5), "n0.d1 card up, u0.r1 leaf up, u1.r1 leaf down, n2.d1 card down");
  EXPECT_DOUBLE_EQ(route(*platform, {1}, {5})->latency.value, 6e-6);
}

TEST(RailCluster, ReachesAnotherRailOverNvlink) {
  const Result<Platform> platform = make("rail-cluster", cluster());
  EXPECT_EQ(way(*platform, 0, 3),
            "n0.d0 nvlink up, n0.d1 nvlink down, n0.d1 card up, n1.d1 card down");
  EXPECT_DOUBLE_EQ(route(*platform, {0}, {3})->latency.value, 7e-6);
}

TEST(RailCluster, ReachesAnotherRailThroughTheSpine) {
  const Result<Platform> platform = make("rail-cluster", cluster({{"cross_rail", "spine"}}));
  ASSERT_TRUE(platform) << render(platform.error());
  EXPECT_EQ(way(*platform, 0, 3), "n0.d0 card up, u0.r0 leaf up, u0.r1 leaf down, n1.d1 card down");
}

TEST(RailCluster, OversubscriptionNarrowsTheUplinks) {
  const Result<Platform> platform = make("rail-cluster", cluster({{"leaf_oversubscription", "4"},
                                                                  {"pod_nodes", "2"},
                                                                  {"spine_oversubscription", "2"},
                                                                  {"core_latency", "8 us"}}));
  ASSERT_TRUE(platform) << render(platform.error());
  std::map<std::string, double> rate;
  for (const Link& link : platform->links) rate[link.name] = link.bandwidth.value;
  EXPECT_DOUBLE_EQ(rate["u0.r0 leaf up"], 2 * 50e9 / 4);        // 2 cards of a rail, 4:1
  EXPECT_DOUBLE_EQ(rate["p0 spine up"], 2 * 2 * 50e9 / 4 / 2);  // both rails, then 2:1
  EXPECT_EQ(way(*platform, 0, 4),
            "n0.d0 card up, u0.r0 leaf up, p0 spine up, p1 spine down, u1.r0 leaf down, "
            "n2.d0 card down");
  EXPECT_DOUBLE_EQ(route(*platform, {0}, {4})->latency.value, 8e-6);
}

TEST(RailCluster, ReportsEveryFaultAtOnce) {
  const Result<Platform> platform =
      make("rail-cluster", {{"nodes", "1000000"}, {"pod_nodes", "33"}});
  ASSERT_FALSE(platform);
  EXPECT_EQ(platform.error().size(), 4u) << render(platform.error());
  EXPECT_NE(render(platform.error()).find("8000000 devices; at most 1048576 are allowed"),
            std::string::npos);
  EXPECT_NE(render(platform.error()).find("pod_nodes is 33, not a multiple of leaf_nodes 32"),
            std::string::npos);
}

}  // namespace
}  // namespace pipecast
