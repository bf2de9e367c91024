#include "sim/report/topology.hpp"

#include <gtest/gtest.h>

#include "sim/report/topology_groups.hpp"

namespace pipecast {
namespace {

/// Two nodes of two devices: a port each, and one card per node.
Platform two_nodes() {
  Platform platform;
  platform.name = "little";
  RoutingLevel inner{"nvlink", {0, 0, 1, 1}, {}, {}};
  RoutingLevel outer{"leaf", {0, 0, 0, 0}, {}, {}};
  for (std::int32_t device = 0; device < 4; ++device) {
    const std::string name = "n" + std::to_string(device / 2) + ".d" + std::to_string(device % 2);
    platform.devices.push_back({name, "x1", Bytes{1073741824}, 1.0});
    platform.links.push_back({name + " nvlink up", Seconds{1e-6}, {4e11}, Sharing::Shared});
    platform.links.push_back({name + " nvlink down", Seconds{1e-6}, {4e11}, Sharing::Shared});
    inner.climb.push_back({{2 * device}});
    inner.descend.push_back({{2 * device + 1}});
    outer.climb.push_back({{8 + device / 2}});
    outer.descend.push_back({{10 + device / 2}});
  }
  for (const char* end : {"up", "down"})
    for (const char* node : {"n0", "n1"})
      platform.links.push_back(
          {std::string(node) + " card " + end, Seconds{2e-6}, {5e10}, Sharing::Shared});
  platform.routing = LevelRouting{{inner, outer}};
  return platform;
}

TEST(TopologyText, NamesDevicesLevelsLinksAndWhatLiesInWhat) {
  EXPECT_EQ(topology_text(two_nodes()),
            "little: 4 devices\n"
            "  4 × x1, 1.00 GiB\n"
            "levels, from the inside out (the way between the first two devices that meet there)\n"
            "  level        groups    latency  bandwidth  way\n"
            "  nvlink            2       2 us   400 GB/s  n0.d0 nvlink up → n0.d1 nvlink down\n"
            "  leaf              1       4 us    50 GB/s  n0 card up → n1 card down\n"
            "links, one direction each\n"
            "        4 × card         50 GB/s       2 us\n"
            "        8 × nvlink      400 GB/s       1 us\n"
            "leaf 0 (4 devices)\n"
            "├─ nvlink 0 (2 devices)\n"
            "│  ├─ n0.d0\n"
            "│  └─ n0.d1\n"
            "└─ nvlink 1 (2 devices)\n"
            "   ├─ n1.d0\n"
            "   └─ n1.d1\n");
}

TEST(TopologyGroups, LeaveOutRailsAndCountWhatTheyHide) {
  Platform platform = two_nodes();
  std::get<LevelRouting>(platform.routing).levels.front().group_of = {0, 1, 0, 1};
  const TopologyGroup whole = topology_groups(platform, 1);
  EXPECT_EQ(whole.devices, 4u);
  EXPECT_EQ(whole.members.size(), 1u);
  EXPECT_EQ(whole.hidden, 1u);
  RoutingLevel rail = std::get<LevelRouting>(platform.routing).levels.back();
  std::get<LevelRouting>(platform.routing)
      .levels.insert(std::get<LevelRouting>(platform.routing).levels.begin() + 1, rail);
  std::get<LevelRouting>(platform.routing).levels[1].group_of = {0, 0, 1, 1};  // cuts the rails
  EXPECT_EQ(topology_groups(platform, 8).members.size(), 2u);
}

TEST(TopologySvg, DrawsEveryDeviceOnce) {
  const std::string svg = topology_svg(two_nodes());
  EXPECT_TRUE(svg.starts_with("<svg xmlns="));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  for (const char* name : {"n0.d0", "n0.d1", "n1.d0", "n1.d1"}) {
    const std::size_t found = svg.find(std::string(">") + name + "<");
    ASSERT_NE(found, std::string::npos) << name;
    EXPECT_EQ(svg.find(std::string(">") + name + "<", found + 1), std::string::npos) << name;
  }
}

/// Boxes are as wide as their names, and a page of many levels stays one.
TEST(TopologySvg, LargeMachinesStayReadable) {
  Platform platform;
  RoutingLevel level{"node", {}, {}, {}};
  std::vector<RoutingLevel> levels(4, level);
  for (int device = 0; device < 4096; ++device) {
    platform.devices.push_back({"node" + std::to_string(device), "", {}, 1});
    int size = 8;
    for (RoutingLevel& each : levels) {
      each.group_of.push_back(device / size);
      size *= 8;
    }
  }
  platform.routing = LevelRouting{levels};
  const std::string svg = topology_svg(platform);
  EXPECT_EQ(svg.substr(0, svg.find('\n')).find("viewBox=\"0 0 1"), svg.find("viewBox")) << svg;
  EXPECT_NE(svg.find("and 4 more"), std::string::npos);
  EXPECT_NE(svg.find(">node512<"), std::string::npos);
  EXPECT_NE(svg.find("width=\"59\""), std::string::npos);  // 10 + 7 letters of 7
  EXPECT_LT(svg.size(), 200000u);
}

TEST(TopologySvg, EscapesNames) {
  Platform platform = constant_delay_platform(2, Seconds{1e-6});
  platform.devices[0].name = "a<b>&\"c";
  EXPECT_NE(topology_svg(platform).find("a&lt;b&gt;&amp;&quot;c"), std::string::npos);
}

}  // namespace
}  // namespace pipecast
