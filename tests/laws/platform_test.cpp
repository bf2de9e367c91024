#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "platforms/platform_kind.hpp"
#include "sim/graph/flows.hpp"
#include "sim/read/platform_xml.hpp"
#include "sim/run/longest_path.hpp"
#include "sim/run/simgrid_run.hpp"
#include "tests/support/platform_examples.hpp"

namespace pipecast {
namespace {

using testing::example_platform;
using testing::platform_examples;
using testing::PlatformExample;

/// The name of the link that carries the other direction.
std::string mirrored(const std::string& name) {
  if (name.ends_with(" up")) return name.substr(0, name.size() - 2) + "down";
  if (name.ends_with(" down")) return name.substr(0, name.size() - 4) + "up";
  return name;
}

template <class Visit>
void for_each_pair(const Platform& platform, Visit visit) {
  const auto devices = static_cast<std::int32_t>(platform.devices.size());
  for (std::int32_t from = 0; from < devices; ++from)
    for (std::int32_t to = 0; to < devices; ++to)
      if (from != to) visit(DeviceId{from}, DeviceId{to});
}

TEST(PlatformLaws, EveryRegisteredKindHasAnExample) {
  const std::vector<PlatformExample> all = platform_examples();
  for (const PlatformKind& kind : builtin_platform_kinds())
    EXPECT_TRUE(std::any_of(all.begin(), all.end(), [&](const PlatformExample& example) {
      return example.kind == kind.name;
    })) << kind.name;
}

TEST(PlatformLaws, EveryPairHasARouteWithoutRepeatedLinks) {
  for (const PlatformExample& example : platform_examples()) {
    const Platform platform = example_platform(example);
    for_each_pair(platform, [&](DeviceId from, DeviceId to) {
      const Result<Route> way = route(platform, from, to);
      ASSERT_TRUE(way) << example.kind << render(way.error());
      std::vector<LinkId> links = way->links;
      std::sort(links.begin(), links.end());
      EXPECT_EQ(std::adjacent_find(links.begin(), links.end()), links.end()) << example.kind;
      EXPECT_GT(way->bandwidth.value, 0);
    });
  }
}

TEST(PlatformLaws, TheWayBackTakesAsLong) {
  for (const PlatformExample& example : platform_examples()) {
    const Platform platform = example_platform(example);
    for_each_pair(platform, [&](DeviceId from, DeviceId to) {
      const Route there = *route(platform, from, to);
      const Route back = *route(platform, to, from);
      EXPECT_NEAR(there.latency.value, back.latency.value, 1e-15) << example.kind;
      EXPECT_DOUBLE_EQ(there.bandwidth.value, back.bandwidth.value) << example.kind;
    });
  }
}

TEST(PlatformLaws, TheWayBackMirrorsTheWayThereWhereDeclared) {
  for (const PlatformExample& example : platform_examples()) {
    if (!example.symmetric) continue;
    const Platform platform = example_platform(example);
    for_each_pair(platform, [&](DeviceId from, DeviceId to) {
      const Route forth = *route(platform, from, to);
      const Route home = *route(platform, to, from);
      std::vector<std::string> there;
      std::vector<std::string> back;
      for (const LinkId link : forth.links) there.push_back(platform.links[link.at()].name);
      for (const LinkId link : home.links)
        back.insert(back.begin(), mirrored(platform.links[link.at()].name));
      EXPECT_EQ(there, back) << example.kind;
    });
  }
}

TEST(PlatformLaws, OneFlowTakesLatencyPlusBytesOverBandwidth) {
  for (const PlatformExample& example : platform_examples()) {
    const Platform platform = example_platform(example);
    for_each_pair(platform, [&](DeviceId from, DeviceId to) {
      for (const double bytes : {1.0, 1e6, 1e11}) {
        const std::vector<Flow> flows{{from, to, Bytes{bytes}}};
        const Timeline timeline = longest_path(*build_flow_graph(flows, platform));
        const Route way = *route(platform, from, to);
        EXPECT_DOUBLE_EQ(timeline.intervals[0].end_s,
                         way.latency.value + bytes / way.bandwidth.value);
      }
    });
  }
}

/// One random chain of flows per kind on fat pipes: no flow slows another.
TEST(PlatformLaws, EvaluatorsAgreeWhereLinksAreNotShared) {
  for (const PlatformExample& example : platform_examples()) {
    Platform platform = example_platform(example);
    for (Link& link : platform.links) link.sharing = Sharing::FatPipe;
    const auto devices = static_cast<std::int32_t>(platform.devices.size());
    std::vector<Flow> flows;
    for (std::uint32_t step = 0; step < 200; ++step) {
      const auto from = static_cast<std::int32_t>(step * 7) % devices;
      const auto to = (from + 1 + static_cast<std::int32_t>(step * 5) % (devices - 1)) % devices;
      Flow flow{{from}, {to}, Bytes{1e3 * (1 + step % 17)}};
      if (step >= 3) flow.after = {step - 3};
      if (step >= 11 && step % 2 == 0) flow.after.push_back(step - 11);
      flows.push_back(flow);
    }
    const TaskGraph graph = *build_flow_graph(flows, platform);
    const Timeline exact = longest_path(graph);
    const Result<Timeline> simulated = simgrid_run(graph, platform);
    ASSERT_TRUE(simulated) << example.kind << render(simulated.error());
    for (std::size_t task = 0; task < flows.size(); ++task)
      EXPECT_NEAR(simulated->intervals[task].end_s, exact.intervals[task].end_s,
                  1e-9 * exact.intervals[task].end_s)
          << example.kind << " task " << task;
  }
}

TEST(PlatformLaws, BuildingTwiceGivesTheSame) {
  for (const PlatformExample& example : platform_examples())
    EXPECT_EQ(example_platform(example), example_platform(example));
}

void expect_read_back(const Platform& platform, const Result<std::string>& xml) {
  ASSERT_TRUE(xml) << render(xml.error());
  const Result<Platform> read = read_platform_xml(*xml, platform.name + ".xml");
  ASSERT_TRUE(read) << render(read.error());
  EXPECT_EQ(read->devices, platform.devices);
  EXPECT_EQ(read->links, platform.links);
  EXPECT_EQ(read->collectives_inside, platform.collectives_inside);
  EXPECT_EQ(read->collectives_across, platform.collectives_across);
  for_each_pair(platform, [&](DeviceId from, DeviceId to) {
    ASSERT_EQ(*route(*read, from, to), *route(platform, from, to));
  });
}

/// Once with every route, once by its levels.
TEST(PlatformLaws, SimgridFilesAreReadBackWithTheSameRoutes) {
  for (const PlatformExample& example : platform_examples()) {
    SCOPED_TRACE(example.kind);
    const Platform platform = example_platform(example);
    expect_read_back(platform, write_platform_xml(platform));
    if (!std::holds_alternative<LevelRouting>(platform.routing)) continue;
    const Result<std::string> xml = write_levels_xml(platform);
    expect_read_back(platform, xml);
    EXPECT_EQ(read_platform_xml(*xml, platform.name + ".xml")->routing, platform.routing);
  }
}

TEST(PlatformLaws, SixteenThousandDevicesAreReadBackFromAFile) {
  const Platform platform = example_platform({"rail-cluster",
                                              {{"nodes", "2048"},
                                               {"pod_nodes", "256"},
                                               {"accelerator", "h100_sxm5_80gb"},
                                               {"memory", "80 GB"},
                                               {"scale_up_bandwidth", "450 GB/s"},
                                               {"card_bandwidth", "400 Gb/s"}}});
  const Result<std::string> xml = write_platform_xml(platform);
  ASSERT_TRUE(xml) << render(xml.error());
  EXPECT_LT(xml->size(), std::size_t{32} << 20U);
  const Result<Platform> read = read_platform_xml(*xml, "rail-cluster.xml");
  ASSERT_TRUE(read) << render(read.error());
  EXPECT_EQ(*read, platform);
}

TEST(PlatformLaws, SixteenThousandDevicesHaveRoutesOfAtMostEightLinks) {
  const Platform platform = example_platform({"rail-cluster",
                                              {{"nodes", "2048"},
                                               {"pod_nodes", "256"},
                                               {"scale_up_bandwidth", "450 GB/s"},
                                               {"card_bandwidth", "400 Gb/s"}}});
  ASSERT_EQ(platform.devices.size(), 16384u);
  for (std::int32_t from = 0; from < 16384; ++from)
    for (const std::int32_t step : {1, 8, 9, 257, 8191}) {
      const Result<Route> way = route(platform, {from}, {(from + step) % 16384});
      ASSERT_TRUE(way) << render(way.error());
      ASSERT_LE(way->links.size(), 8u);
    }
}

}  // namespace
}  // namespace pipecast
