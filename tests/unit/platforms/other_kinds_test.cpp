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

std::string way(const Result<Platform>& platform, int from, int to) {
  if (!platform) return render(platform.error());
  const Result<Route> found = route(*platform, {from}, {to});
  if (!found) return found.error().front().message;
  std::string text;
  for (const LinkId link : found->links)
    text += (text.empty() ? "" : ", ") + platform->links[link.at()].name;
  return text;
}

std::string first_fault(const Result<Platform>& platform) {
  return platform ? "" : platform.error().front().message;
}

Texts cluster(Texts more) {
  more.insert({{"nodes", "4"},
               {"node_devices", "2"},
               {"leaf_nodes", "2"},
               {"scale_up_bandwidth", "450 GB/s"},
               {"scale_up_latency", "2 us"},
               {"card_bandwidth", "400 Gb/s"},
               {"leaf_latency", "4 us"},
               {"spine_latency", "6 us"}});
  return more;
}

double rate(const Platform& platform, std::string_view name) {
  for (const Link& link : platform.links)
    if (link.name == name) return link.bandwidth.value;
  return 0;
}

TEST(MeshNode, EveryPairHasItsOwnWire) {
  const auto node = make("mesh-node", {{"wire_bandwidth", "64 GB/s"}, {"wire_latency", "2 us"}});
  EXPECT_EQ(way(node, 2, 5), "n0.d2-n0.d5 mesh up");
  EXPECT_EQ(way(node, 5, 2), "n0.d2-n0.d5 mesh down");
  EXPECT_EQ(node->links.size(), 8u * 7u);
  EXPECT_DOUBLE_EQ(route(*node, {2}, {5})->latency.value, 2e-6);
}

TEST(MeshNode, CubeMeshHasSixWiresPerDeviceAndAtMostTwoHops) {
  const auto node =
      make("mesh-node",
           {{"wire_bandwidth", "25 GB/s"}, {"wire_latency", "2 us"}, {"shape", "cube-mesh"}});
  ASSERT_TRUE(node) << render(node.error());
  std::map<std::string, double> wires;
  for (const Link& link : node->links)
    if (link.name.ends_with(" up")) {
      wires[link.name.substr(0, 5)] += link.bandwidth.value / 25e9;
      wires[link.name.substr(6, 5)] += link.bandwidth.value / 25e9;
    }
  for (const auto& [device, count] : wires) EXPECT_EQ(count, 6) << device;
  EXPECT_EQ(way(node, 0, 4), "n0.d0-n0.d4 mesh up");
  EXPECT_EQ(way(node, 0, 7), "n0.d0-n0.d4 mesh up, n0.d4-n0.d7 mesh up");  // two wires all the way
  EXPECT_DOUBLE_EQ(route(*node, {0}, {7})->bandwidth.value, 50e9);
}

TEST(MeshNode, RefusesACubeOfAnotherSize) {
  EXPECT_EQ(first_fault(make(
                "mesh-node",
                {{"wire_bandwidth", "25 GB/s"}, {"shape", "cube-mesh"}, {"node_devices", "4"}})),
            "a cube-mesh has 8 devices, not 4");
}

TEST(PcieTree, ClimbsAsFarAsItMust) {
  const auto tree = make("pcie-tree", {{"nodes", "2"},
                                       {"socket_switches", "2"},
                                       {"switch_devices", "2"},
                                       {"device_bandwidth", "31 GB/s"},
                                       {"uplink_bandwidth", "31 GB/s"},
                                       {"socket_bandwidth", "20 GB/s"},
                                       {"card_bandwidth", "25 GB/s"},
                                       {"switch_latency", "1 us"},
                                       {"socket_latency", "2 us"},
                                       {"node_latency", "3 us"},
                                       {"card_latency", "5 us"}});
  EXPECT_EQ(way(tree, 0, 1), "n0.d0 slot up, n0.d1 slot down");
  EXPECT_EQ(way(tree, 0, 2), "n0.d0 slot up, n0.x0 uplink up, n0.x1 uplink down, n0.d2 slot down");
  EXPECT_EQ(way(tree, 0, 4),
            "n0.d0 slot up, n0.x0 uplink up, n0.s0 socket up, n0.s1 socket down, n0.x2 uplink "
            "down, n0.d4 slot down");
  EXPECT_EQ(way(tree, 0, 8), "n0.d0 slot up, n0.x0 card up, n1.x0 card down, n1.d0 slot down");
  EXPECT_DOUBLE_EQ(route(*tree, {0}, {2})->latency.value, 2e-6);
  EXPECT_DOUBLE_EQ(route(*tree, {0}, {4})->latency.value, 3e-6);
  EXPECT_DOUBLE_EQ(route(*tree, {0}, {8})->latency.value, 5e-6);
}

TEST(NvlinkDomain, JoinsNodesByNvlinkAndDomainsByCards) {
  const auto platform = make("nvlink-domain", cluster({{"domain_nodes", "2"}}));
  EXPECT_EQ(way(platform, 0, 3), "n0.d0 nvlink up, n1.d1 nvlink down");
  EXPECT_EQ(way(platform, 0, 4), "n0.d0 card up, u0.r0 leaf up, u1.r0 leaf down, n2.d0 card down");
  EXPECT_EQ(way(platform, 0, 5),
            "n0.d0 nvlink up, n0.d1 nvlink down, n0.d1 card up, u0.r1 leaf up, u1.r1 leaf down, "
            "n2.d1 card down");
}

TEST(NvlinkDomain, NamesTheNearestSizes) {
  const auto platform = make("nvlink-domain", cluster({{"domain_nodes", "3"}}));
  ASSERT_FALSE(platform);
  EXPECT_EQ(platform.error().front().message, "nodes is 4, not a multiple of domain_nodes 3");
  EXPECT_EQ(platform.error().front().hint, "nearest: 3 or 6");
}

TEST(SuperNode, HasTwoScaleUpTiersAndACardPlane) {
  const auto platform =
      make("super-node", cluster({{"domain_nodes", "2"}, {"domain_latency", "3 us"}}));
  EXPECT_EQ(way(platform, 0, 1), "n0.d0 ub up, n0.d1 ub down");
  EXPECT_EQ(way(platform, 0, 2), "n0.d0 ub up, n0 ub up, n1 ub down, n1.d0 ub down");
  EXPECT_EQ(way(platform, 0, 4), "n0.d0 card up, u0 leaf up, u1 leaf down, n2.d0 card down");
  EXPECT_DOUBLE_EQ(route(*platform, {0}, {2})->latency.value, 3e-6);
  EXPECT_DOUBLE_EQ(rate(*platform, "n0 ub up"), 2 * 450e9);
}

TEST(FatTree, PutsAllCardsOfANodeOnOneLeafAndSharesThem) {
  const auto platform = make("fat-tree", cluster({{"node_cards", "1"}}));
  EXPECT_EQ(way(platform, 0, 3), "n0.c0 card up, n1.c0 card down");
  EXPECT_EQ(way(platform, 1, 4), "n0.c0 card up, u0 leaf up, u1 leaf down, n2.c0 card down");
  EXPECT_DOUBLE_EQ(rate(*platform, "u0 leaf up"), 2 * 50e9);
  EXPECT_EQ(first_fault(make("fat-tree", cluster({{"node_cards", "3"}}))),
            "node_devices is 2, not a multiple of node_cards 3");
}

TEST(MultiPlane, ForwardsToAnotherPlaneInsideTheNode) {
  const auto platform = make("multi-plane", cluster({}));
  EXPECT_EQ(way(platform, 1, 5),
            "n0.d1 card up, plane1.u0 leaf up, plane1.u1 leaf down, n2.d1 card down");
  EXPECT_EQ(way(platform, 0, 5),
            "n0.d0 nvlink up, n0.d1 nvlink down, n0.d1 card up, plane1.u0 leaf up, plane1.u1 leaf "
            "down, n2.d1 card down");
}

TEST(MultiPlane, KeepsItsPlanesApartAtTheCore) {
  const auto platform =
      make("multi-plane", cluster({{"pod_nodes", "2"}, {"core_latency", "8 us"}}));
  EXPECT_EQ(way(platform, 0, 4),
            "n0.d0 card up, plane0.u0 leaf up, plane0.u0 spine up, plane0.u1 spine down, plane0.u1 "
            "leaf down, n2.d0 card down");
}

TEST(Torus, WalksDimensionByDimensionTheShorterWayRound) {
  const auto torus = make("torus", {{"shape", "3x5"}, {"wire_bandwidth", "90 GB/s"}});
  EXPECT_EQ(way(torus, 0, 1), "t0.d0 axis1 up");
  EXPECT_EQ(way(torus, 0, 4), "t0.d4 axis1 down");  // round the end
  EXPECT_EQ(way(torus, 0, 12), "t0.d10 axis0 down, t0.d10 axis1 up, t0.d11 axis1 up");
}

TEST(Torus, WithoutWrapsGoesTheOnlyWay) {
  const auto grid =
      make("torus", {{"shape", "4"}, {"wire_bandwidth", "90 GB/s"}, {"wraps", "false"}});
  EXPECT_EQ(way(grid, 3, 0), "t0.d2 axis0 down, t0.d1 axis0 down, t0.d0 axis0 down");
  EXPECT_EQ(grid->links.size(), 6u);
}

TEST(Torus, JoinsSlicesByTheirHosts) {
  const auto torus = make("torus", {{"shape", "2x4"},
                                    {"slices", "2"},
                                    {"wire_bandwidth", "90 GB/s"},
                                    {"host_bandwidth", "25 GB/s"}});
  EXPECT_EQ(way(torus, 5, 8), "h1 network up, h2 network down");
}

TEST(Torus, SaysWhatAShapeIs) {
  const auto torus = make("torus", {{"shape", "4by4"}, {"wire_bandwidth", "90 GB/s"}});
  ASSERT_FALSE(torus);
  EXPECT_EQ(torus.error().front().message, "shape is '4by4', not a list of sizes");
  EXPECT_EQ(first_fault(make("torus", {{"shape", "1024x1025"}, {"wire_bandwidth", "90 GB/s"}})),
            "a platform of kind torus would have 1049600 devices; at most 1048576 are allowed");
}

TEST(TwoSites, CrossOverTheLineOfEachSite) {
  const auto platform =
      make("two-sites", cluster({{"site_bandwidth", "10 GB/s"}, {"site_latency", "5 ms"}}));
  EXPECT_EQ(way(platform, 0, 2), "n0.d0 card up, n1.d0 card down");
  EXPECT_EQ(way(platform, 0, 4),
            "n0.d0 card up, u0.r0 leaf up, s0 line up, s1 line down, u1.r0 leaf down, n2.d0 card "
            "down");
  EXPECT_DOUBLE_EQ(route(*platform, {0}, {4})->latency.value, 5e-3);
  EXPECT_DOUBLE_EQ(route(*platform, {0}, {4})->bandwidth.value, 10e9);
}

}  // namespace
}  // namespace pipecast
