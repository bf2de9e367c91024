#include "sim/read/platform_xml.hpp"

#include <gtest/gtest.h>

#include "sim/read/xml_units.hpp"

namespace pipecast {
namespace {

constexpr std::string_view kHead =
    "<?xml version='1.0'?>\n"
    "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
    "<platform version=\"4.1\">\n";

std::string file(std::string_view body) {
  return std::string(kHead) + std::string(body) + "</platform>\n";
}

Platform read(std::string_view body) {
  const auto platform = read_platform_xml(file(body), "machine.xml");
  EXPECT_TRUE(platform) << render(platform.error());
  return platform.value_or(Platform{});
}

std::string faults(std::string_view body) {
  const auto platform = read_platform_xml(file(body), "machine.xml");
  return platform ? "" : render(platform.error());
}

std::string way(const Platform& platform, int from, int to) {
  const Result<Route> found = route(platform, {from}, {to});
  if (!found) return found.error().front().message;
  std::string text;
  for (const LinkId link : found->links)
    text += (text.empty() ? "" : ", ") + platform.links[link.at()].name;
  return text;
}

/// Two nodes with NVLink inside, cards and a fabric between them.
constexpr std::string_view kCluster = R"(  <zone id="cluster" routing="Full">
    <zone id="node0" routing="Full">
      <host id="n0g0" speed="989Tf"><prop id="hbm_bytes" value="85899345920"/><prop id="kind" value="h100"/></host>
      <host id="n0g1" speed="989Tf"/>
      <router id="n0r"/>
      <link id="n0-nvl" bandwidth="450GBps" latency="600ns" sharing_policy="SPLITDUPLEX"/>
      <link id="n0g0-nic" bandwidth="50GBps" latency="1us" sharing_policy="SPLITDUPLEX"/>
      <link id="n0g1-nic" bandwidth="50GBps" latency="1us" sharing_policy="SPLITDUPLEX"/>
      <route src="n0g0" dst="n0g1"><link_ctn id="n0-nvl" direction="UP"/></route>
      <route src="n0g0" dst="n0r"><link_ctn id="n0g0-nic" direction="UP"/></route>
      <route src="n0g1" dst="n0r"><link_ctn id="n0g1-nic" direction="UP"/></route>
    </zone>
    <zone id="node1" routing="Full">
      <host id="n1g0" speed="989Tf"/> <router id="n1r"/>
      <link id="n1g0-nic" bandwidth="50GBps" latency="1us" sharing_policy="SPLITDUPLEX"/>
      <route src="n1g0" dst="n1r"><link_ctn id="n1g0-nic" direction="UP"/></route>
    </zone>
    <link id="ib" bandwidth="400Gbps" latency="2us" sharing_policy="SPLITDUPLEX"/>
    <zoneRoute src="node0" dst="node1" gw_src="n0r" gw_dst="n1r"><link_ctn id="ib" direction="UP"/></zoneRoute>
  </zone>
)";

TEST(PlatformXml, FollowsZonesAndTheirGateways) {
  const Platform platform = read(kCluster);
  EXPECT_EQ(platform.name, "machine");
  ASSERT_EQ(platform.devices.size(), 3u);
  EXPECT_EQ(platform.devices[0], (Device{"n0g0", "h100", Bytes{85899345920}, 1.0}));
  EXPECT_EQ(way(platform, 0, 1), "n0-nvl_UP");
  EXPECT_EQ(way(platform, 1, 0), "n0-nvl_DOWN");
  EXPECT_EQ(way(platform, 0, 2), "n0g0-nic_UP, ib_UP, n1g0-nic_DOWN");
  EXPECT_EQ(way(platform, 2, 1), "n1g0-nic_UP, ib_DOWN, n0g1-nic_DOWN");
  EXPECT_DOUBLE_EQ(route(platform, {0}, {2})->latency.value, 4e-6);
  EXPECT_DOUBLE_EQ(route(platform, {0}, {2})->bandwidth.value, 50e9);  // 400 Gbps are 50 GBps
  EXPECT_DOUBLE_EQ(route(platform, {0}, {1})->bandwidth.value, 450e9);
}

TEST(PlatformXml, ShortestZonesTakeTheFewestLinks) {
  const Platform platform = read(R"(<zone id="z" routing="Floyd">
<host id="a" speed="1f"/><host id="b" speed="1f"/><host id="c" speed="1f"/><router id="r"/>
<link id="ar" bandwidth="1GBps" latency="1us"/><link id="rb" bandwidth="1GBps" latency="1us"/>
<link id="bc" bandwidth="1GBps" latency="1us"/><link id="ac" bandwidth="1GBps" latency="9us"/>
<route src="a" dst="r"><link_ctn id="ar"/></route>
<route src="r" dst="b"><link_ctn id="rb"/></route>
<route src="b" dst="c"><link_ctn id="bc"/></route>
<route src="a" dst="c"><link_ctn id="ac"/></route>
</zone>
)");
  EXPECT_EQ(way(platform, 0, 2), "ac");
  EXPECT_EQ(way(platform, 1, 0), "bc, ac");  // a tie goes to c, declared before r, as in SimGrid
  EXPECT_EQ(platform.devices.size(), 3u);
}

TEST(PlatformXml, ClustersHaveALinkPerHostAndABackbone) {
  const Platform platform = read(
      "<cluster id=\"c\" prefix=\"h\" suffix=\"\" radical=\"0-2,7\" speed=\"1Gf\" bw=\"10GBps\" "
      "lat=\"5us\" bb_bw=\"20GBps\" bb_lat=\"1us\"/>\n");
  ASSERT_EQ(platform.devices.size(), 4u);
  EXPECT_EQ(platform.devices[3].name, "h7");
  EXPECT_EQ(way(platform, 0, 3), "c_link_0_UP, c_backbone, c_link_7_DOWN");
}

/// As in SimGrid's small_platform.xml: a host's way to itself, and its disks.
TEST(PlatformXml, WhatDoesNotMatterIsPassedOver) {
  const Platform platform = read(R"(<zone id="z" routing="Full">
<host id="a" speed="1f"><disk id="d" read_bw="1MBps" write_bw="1MBps"/></host><host id="b" speed="1f"/>
<link id="loopback" bandwidth="1GBps" latency="1us" sharing_policy="FATPIPE"/>
<link id="l" bandwidth="1GBps" latency="1us"/>
<route src="a" dst="a"><link_ctn id="loopback"/></route>
<route src="a" dst="b"><link_ctn id="l"/></route>
</zone>
)");
  EXPECT_EQ(way(platform, 0, 1), "l");
  EXPECT_EQ(way(platform, 1, 0), "l");
}

TEST(PlatformXml, OneWayRoutesStayOneWay) {
  const Platform platform = read(R"(<zone id="z" routing="Full">
<host id="a" speed="1f"/><host id="b" speed="1f"/>
<link id="l" bandwidth="1GBps" latency="1us" sharing_policy="FATPIPE"/>
<route src="a" dst="b" symmetrical="NO"><link_ctn id="l"/></route>
</zone>
)");
  EXPECT_EQ(way(platform, 0, 1), "l");
  EXPECT_EQ(platform.links[0].sharing, Sharing::FatPipe);
  EXPECT_EQ(way(platform, 1, 0), "platform machine has no route from b to a");
}

TEST(PlatformXml, WritingAndReadingKeepsDevicesLinksAndRoutes) {
  const Platform first = read(kCluster);
  const Result<std::string> written = write_platform_xml(first);
  ASSERT_TRUE(written);
  const auto second = read_platform_xml(*written, "machine.xml");
  ASSERT_TRUE(second) << render(second.error());
  EXPECT_EQ(*second, first);
}

TEST(PlatformXml, FaultsHaveTheirPlaceAndASuggestion) {
  const std::string text = faults(R"(<zone id="z" routing="Full">
<host id="a" speed="1f"/><host id="b" speed="1f"/><host id="a" speed="1f"/>
<link id="wire" bandwidth="1GBytes" latency="1us"/>
<link id="slow" bandwidth="0Bps" latency="1 fortnight"/>
<route src="a" dst="c"><link_ctn id="wire"/></route>
<route src="a" dst="b"><link_ctn id="wir"/></route>
<disk id="d"/>
</zone>
)");
  for (const char* expected :
       {"machine.xml:5:51: error: two hosts or routers are named 'a'",
        "machine.xml:6:1: error: bandwidth: unknown unit 'GBytes'",
        "machine.xml:7:1: error: latency: unknown unit 'fortnight'",
        "the bandwidth of 'slow' must be greater than 0",
        "machine.xml:8:1: error: there is no host 'c'",
        "machine.xml:9:24: error: there is no link 'wir'", "did you mean 'wire'?",
        "machine.xml:10:1: error: <disk> is not read here"})
    EXPECT_NE(text.find(expected), std::string::npos) << expected << "\n" << text;
}

TEST(PlatformXml, RefusesWhatItDoesNotRead) {
  EXPECT_NE(faults("<zone id=\"z\" routing=\"Vivaldi\"/>").find("routing 'Vivaldi' is not read"),
            std::string::npos);
  EXPECT_NE(faults("").find("a platform has one outermost zone, not 0"), std::string::npos);
  EXPECT_NE(faults("<zone id=\"z\" routing=\"Full\"/>").find("the platform has no hosts"),
            std::string::npos);
  const auto old = read_platform_xml("<platform version=\"3\"><zone/></platform>", "old.xml");
  EXPECT_NE(render(old.error()).find("only version 4"), std::string::npos);
}

std::string cluster_fault(const std::string& radical, const std::string& more) {
  return faults("<cluster id=\"c\" prefix=\"h\" suffix=\"\" radical=\"" + radical +
                "\" speed=\"1f\" bw=\"1GBps\" lat=\"1us\" " + more + "/>\n");
}

std::string wired_fault(const std::string& radical, const std::string& topology,
                        const std::string& parameters) {
  return cluster_fault(radical,
                       "topology=\"" + topology + "\" topo_parameters=\"" + parameters + "\"");
}

/// tests/agree/simgrid_clusters_test.cpp compares what is read with SimGrid.
TEST(PlatformXml, ClustersThatAreNotReadSayWhy) {
  const auto expect = [](const std::string& text, const char* message) {
    EXPECT_NE(text.find(std::string("machine.xml:4:1: error: ") + message), std::string::npos)
        << text;
  };
  expect(wired_fault("0-1", "HYPERCUBE", "2"), "a cluster of topology 'HYPERCUBE' is not read");
  expect(wired_fault("0-6", "TORUS", "4,2"), "the topology has 8 hosts, the radical 7");
  expect(wired_fault("0-7", "TORUS", "4,x"), "topo_parameters '4,x' are not the sizes of a torus");
  expect(wired_fault("0-7", "TORUS", "99999999999999999999"), "topo_parameters");
  expect(wired_fault("0-7", "FAT_TREE", "2;4,2;1,2"),
         "topo_parameters '2;4,2;1,2' are not those of a");
  expect(wired_fault("0-7", "FAT_TREE", "2;4,4;1,2;1,1"),
         "the topology has 16 hosts, the radical 8");
  expect(wired_fault("0-7", "FAT_TREE", "2;4,2;9999,9999;999,999"), "the fat tree has more than");
  expect(wired_fault("0-7", "DRAGONFLY", "2,1;2,1;2,1"), "topo_parameters '2,1;2,1;2,1' are not");
  expect(wired_fault("0-5", "DRAGONFLY", "3,1;1,1;2,1;1"), "3 groups need as many blades");
  expect(wired_fault("0-599", "TORUS", "600"), "more than 512 hosts in a cluster that is not flat");
  expect(cluster_fault("0-1", "limiter_link=\"1GBps\""), "limiter_link is not read");
  expect(cluster_fault("0-1", "topology=\"TORUS\""), "<cluster> needs topo_parameters");
  expect(cluster_fault("3-1", ""), "radical '3-1' is not a list of ranges");
  expect(cluster_fault("0-9999999", ""), "radical '0-9999999' has more than");
}

TEST(PlatformXml, LargeFlatClustersAreReadWithoutWritingRoutesOut) {
  const auto wide = [](const std::string& id, int hosts) {
    return "<cluster id=\"" + id + "\" prefix=\"" + id + "\" suffix=\"\" radical=\"0-" +
           std::to_string(hosts - 1) + "\" speed=\"1Gf\" bw=\"10GBps\" lat=\"5us\" router_id=\"r" +
           id + "\" bb_bw=\"20GBps\" bb_lat=\"1us\"/>\n";
  };
  const std::string joined = "<zone id=\"z\" routing=\"Full\">\n" + wide("a", 3000) +
                             wide("b", 2000) +
                             "<link id=\"l\" bandwidth=\"1GBps\" latency=\"50us\"/>\n"
                             "<zoneRoute src=\"a\" dst=\"b\" gw_src=\"GATE\" gw_dst=\"rb\">"
                             "<link_ctn id=\"l\"/></zoneRoute>\n</zone>\n";
  const auto with_gate = [&](const std::string& gate) {
    std::string text = joined;
    return text.replace(text.find("GATE"), 4, gate);
  };
  const Platform platform = read(with_gate("ra"));
  ASSERT_EQ(platform.devices.size(), 5000u);
  EXPECT_EQ(way(platform, 0, 2999), "a_link_0_UP, a_backbone, a_link_2999_DOWN");
  EXPECT_EQ(way(platform, 7, 3004), "a_link_7_UP, a_backbone, l, b_backbone, b_link_4_DOWN");
  EXPECT_EQ(way(platform, 4999, 0), "b_link_1999_UP, b_backbone, l, a_backbone, a_link_0_DOWN");
  EXPECT_EQ(innermost_groups(platform)[2999], 0);
  EXPECT_EQ(innermost_groups(platform)[3000], 1);
  // A host as the gateway makes ways that levels cannot say.
  EXPECT_NE(
      faults(with_gate("a5")).find("more than 512 hosts, and not all of them in flat clusters"),
      std::string::npos);
}

/// What is read is written as hosts, links and routes, and read back the same.
TEST(PlatformXml, WiredClustersAreWrittenAndReadBack) {
  for (const auto& [topology, parameters] : std::vector<std::pair<std::string, std::string>>{
           {"TORUS", "4,2"}, {"FAT_TREE", "2;4,2;1,2;1,2"}, {"DRAGONFLY", "2,1;2,2;2,1;1"}}) {
    const Platform first = read(
        "<cluster id=\"c\" prefix=\"h\" suffix=\"\" radical=\"0-7\" speed=\"1f\" bw=\"1GBps\" "
        "lat=\"1us\" topology=\"" +
        topology + "\" topo_parameters=\"" + parameters +
        "\"><prop id=\"memory\" value=\"80000000000\"/></cluster>\n");
    const auto second = read_platform_xml(*write_platform_xml(first), "machine.xml");
    ASSERT_TRUE(second) << topology << render(second.error());
    EXPECT_EQ(*second, first) << topology;
    EXPECT_EQ(first.devices[7].memory.value, 80e9);
  }
}

/// Two nodes of two devices, a rail per slot, and a spine; messages for the other rail are
/// forwarded.
Platform rails() {
  Platform platform;
  platform.name = "machine";
  const auto link = [&](const std::string& name) {
    platform.links.push_back({name, {1e-6}, {50e9}, Sharing::Shared});
    return LinkId{static_cast<std::int32_t>(platform.links.size()) - 1};
  };
  RoutingLevel node{"nvlink", {0, 0, 1, 1}, {}, {}};
  RoutingLevel leaf{"leaf", {0, 0, 0, 0}, {}, {}};
  leaf.lanes = {{0, 0, 1, 1}, {0, 1, 0, 1}, {{{0}, {1}}, {{2}, {3}}}};
  for (const char* name : {"a", "b", "c", "d"}) {
    platform.devices.push_back({name, "h100", {80e9}, 1});
    node.climb.push_back({link(std::string(name) + " port up")});
    node.descend.push_back({link(std::string(name) + " port down")});
    leaf.climb.push_back({link(std::string(name) + " card up")});
    leaf.descend.push_back({link(std::string(name) + " card down")});
  }
  platform.routing = LevelRouting{{node, leaf}};
  platform.collectives_inside = {{3e-6}, 0.7, {18e6}, true};
  return platform;
}

TEST(PlatformXml, LevelsAreWrittenAndReadBack) {
  const Platform first = rails();
  const auto written = write_levels_xml(first);
  ASSERT_TRUE(written) << render(written.error());
  const auto second = read_platform_xml(*written, "machine.xml");
  ASSERT_TRUE(second) << render(second.error());
  EXPECT_EQ(*second, first);
}

/// Every change of a line is found at its element.
TEST(PlatformXml, LevelsThatDoNotFitTogetherAreFaults) {
  const std::string whole = *write_levels_xml(rails());
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = whole;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    const auto platform = read_platform_xml(text.replace(at, from.size(), to), "machine.xml");
    return platform ? std::string("read") : render(platform.error());
  };
  const auto expect = [](const std::string& text, const char* message) {
    EXPECT_NE(text.find(message), std::string::npos) << text;
    EXPECT_NE(text.find("machine.xml:"), std::string::npos) << text;
  };
  expect(with("<router id=\"a door\"/>", "<router id=\"a gate\"/>"), "there is no host 'a door'");
  expect(with("src=\"a door\" dst=\"a\"", "src=\"b door\" dst=\"a\""),
         "host 'a' is entered by another way than its door");
  expect(with("src=\"a\" dst=\"nvlink 0.0.0 up\"", "src=\"a\" dst=\"nvlink 0.1.0 up\""),
         "host 'a' is reached from a meeting point of level 0 that it does not climb to");
  expect(with("dst=\"leaf 1.0.0 up\" symmetrical=\"NO\"><link_ctn id=\"a card up\"/>",
              "dst=\"leaf 1.0.0 up\" symmetrical=\"NO\"><link_ctn id=\"b card up\"/>"),
         "the door of 'a' does not climb as the host does");
  expect(with("id=\"lanes 1\" value=\"0\"", "id=\"lanes 1\" value=\"1\""),
         "lanes 1 must name an inner level, not '1'");
  expect(with("routing=\"Dijkstra\"", "routing=\"Full\""), "has routing Dijkstra");
  expect(with("0.7 18000000 in-switch", "0.7 in-switch"), "collectives inside");
  expect(with("id=\"level 1\"", "id=\"level one\""),
         "router 'leaf 1.0.0 up' is neither a meeting point of a level nor a door");
}

TEST(PlatformXml, LevelsThatCannotBeWrittenSayWhy) {
  const auto refused = [](const Platform& platform) {
    const auto written = write_levels_xml(platform);
    return written ? std::string() : written.error().front().message;
  };
  Platform uneven = rails();
  std::get<LevelRouting>(uneven.routing).levels[1].climb[2].push_back({0});
  EXPECT_EQ(refused(uneven),
            "platform machine cannot be written as a SimGrid file: the ways of level 1 differ in "
            "length");
  Platform apart = rails();
  std::get<LevelRouting>(apart.routing).levels.pop_back();
  EXPECT_EQ(refused(apart),
            "platform machine cannot be written as a SimGrid file: not all devices reach each "
            "other");
  EXPECT_NE(refused(constant_delay_platform(600, {1})).find("600 devices and no levels"),
            std::string::npos);
}

TEST(PlatformXml, RefusesBrokenAndHostileXml) {
  const auto message = [](const std::string& text) {
    const auto read = read_platform_xml(text, "x.xml");
    return read ? std::string() : render(read.error());
  };
  EXPECT_NE(message("<platform version=\"4\">\n<zone>\n</platform>").find("x.xml:3:3: error: "),
            std::string::npos)
      << message("<platform version=\"4\">\n<zone>\n</platform>");
  EXPECT_NE(message("<!DOCTYPE p [<!ENTITY a \"aaaa\">]><platform version=\"4\"/>")
                .find("entity declarations are not allowed"),
            std::string::npos);
  std::string deep;
  for (int level = 0; level < 100; ++level) deep += "<zone>";
  EXPECT_NE(message(deep).find("nested more than 64 deep"), std::string::npos);
  std::string many = "<zone id=\"z\" routing=\"Full\">";
  for (int host = 0; host < 600; ++host)
    many += "<host id=\"h" + std::to_string(host) + "\" speed=\"1f\"/>";
  EXPECT_NE(message(file(many + "</zone>")).find("more than 512 hosts"), std::string::npos);
}

TEST(PlatformXml, GatewaysInACircleHaveNoRoute) {
  const Platform platform = read(R"(<zone id="z" routing="Full">
<zone id="a" routing="Full"><host id="x" speed="1f"/></zone>
<zone id="b" routing="Full"><host id="y" speed="1f"/></zone>
<link id="l" bandwidth="1GBps" latency="1us"/>
<zoneRoute src="a" dst="b" gw_src="y" gw_dst="x"><link_ctn id="l"/></zoneRoute>
</zone>
)");
  EXPECT_EQ(way(platform, 0, 1), "platform machine has no route from x to y");
}

TEST(SimgridUnits, BytesAndBitsDiffer) {
  EXPECT_DOUBLE_EQ(parse_simgrid_bandwidth("450GBps").value(), 450e9);
  EXPECT_DOUBLE_EQ(parse_simgrid_bandwidth("400Gbps").value(), 50e9);
  EXPECT_DOUBLE_EQ(parse_simgrid_bandwidth("1MiBps").value(), 1048576);
  EXPECT_DOUBLE_EQ(parse_simgrid_bandwidth("1e9").value(), 1e9);
  EXPECT_DOUBLE_EQ(parse_simgrid_bandwidth("1.5e3kBps").value(), 1.5e6);
  EXPECT_DOUBLE_EQ(parse_simgrid_time("600ns").value(), 6e-7);
  EXPECT_DOUBLE_EQ(parse_simgrid_time("0.5").value(), 0.5);
  EXPECT_FALSE(parse_simgrid_time("5 years"));
  EXPECT_FALSE(parse_simgrid_bandwidth("fast"));
}

}  // namespace
}  // namespace pipecast
