#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "platforms/platform_kind.hpp"
#include "sim/graph/flows.hpp"
#include "sim/run/longest_path.hpp"
#include "sim/run/simgrid_run.hpp"

namespace pipecast {
namespace {

using Texts = std::map<std::string, std::string, std::less<>>;

/// One small instance of a kind, and whether the way back mirrors the way there.
struct Example {
  std::string kind;
  Texts texts;
  bool symmetric = true;
};

Texts cluster(Texts more) {
  more.insert({{"nodes", "8"},
               {"node_devices", "4"},
               {"leaf_nodes", "2"},
               {"scale_up_bandwidth", "450 GB/s"},
               {"scale_up_latency", "2 us"},
               {"card_bandwidth", "400 Gb/s"},
               {"leaf_latency", "3 us"},
               {"spine_latency", "4 us"}});
  return more;
}

/// Traffic for another lane is forwarded at the sender's end, so the way back is another one.
constexpr bool kForwards = false;

std::vector<Example> cluster_examples() {
  const Texts core{{"pod_nodes", "4"}, {"leaf_oversubscription", "2"}, {"core_latency", "5 us"}};
  return {
      {"rail-cluster", cluster(core), kForwards},
      {"rail-cluster", cluster({{"cross_rail", "spine"}})},
      {"rail-cluster", cluster({{"cross_rail", "spine"}, {"scale_up", "mesh"}})},
      {"fat-tree", cluster(core)},
      {"fat-tree", cluster({{"node_cards", "2"}})},
      {"multi-plane", cluster(core), kForwards},
      {"nvlink-domain", cluster({{"domain_nodes", "2"}, {"leaf_nodes", "4"}}), kForwards},
      {"super-node",
       cluster({{"domain_nodes", "4"}, {"leaf_nodes", "4"}, {"domain_latency", "3 us"}})},
      {"two-sites", cluster({{"site_bandwidth", "10 GB/s"}, {"site_latency", "5 ms"}}), kForwards},
  };
}

std::vector<Example> examples() {
  std::vector<Example> all{
      {"nvlink-node", {{"scale_up_bandwidth", "450 GB/s"}, {"scale_up_latency", "3 us"}}},
      {"mesh-node", {{"wire_bandwidth", "64 GB/s"}, {"wire_latency", "1 us"}}},
      {"mesh-node",
       {{"wire_bandwidth", "25 GB/s"}, {"wire_latency", "1 us"}, {"shape", "ring"}},
       false},  // two ways round of equal length
      {"mesh-node",
       {{"wire_bandwidth", "25 GB/s"}, {"wire_latency", "1 us"}, {"shape", "cube-mesh"}},
       false},
      {"pcie-tree",
       {{"nodes", "2"},
        {"socket_switches", "2"},
        {"device_bandwidth", "31 GB/s"},
        {"uplink_bandwidth", "31 GB/s"},
        {"socket_bandwidth", "20 GB/s"},
        {"card_bandwidth", "25 GB/s"},
        {"switch_latency", "1 us"},
        {"socket_latency", "2 us"},
        {"node_latency", "3 us"},
        {"card_latency", "5 us"}}},
      {"torus", {{"shape", "3x5"}, {"wire_bandwidth", "90 GB/s"}, {"wire_latency", "1 us"}}, false},
      {"torus",
       {{"shape", "2x4x3"},
        {"slices", "2"},
        {"wraps", "false"},
        {"wire_bandwidth", "90 GB/s"},
        {"host_bandwidth", "25 GB/s"},
        {"host_latency", "20 us"}},
       false},  // dimension order differs on the way back
  };
  const std::vector<Example> clusters = cluster_examples();
  all.insert(all.end(), clusters.begin(), clusters.end());
  return all;
}

Platform make(const Example& example) {
  const std::vector<PlatformKind> kinds = builtin_platform_kinds();
  const PlatformKind* kind = find_platform_kind(kinds, example.kind);
  EXPECT_NE(kind, nullptr) << example.kind;
  const Result<FieldValues> values = parse_fields(kind->fields, example.texts);
  EXPECT_TRUE(values) << render(values.error());
  Result<Platform> platform = make_platform(*kind, *values);
  EXPECT_TRUE(platform) << render(platform.error());
  return *platform;
}

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
  const std::vector<Example> all = examples();
  for (const PlatformKind& kind : builtin_platform_kinds())
    EXPECT_TRUE(std::any_of(all.begin(), all.end(), [&](const Example& example) {
      return example.kind == kind.name;
    })) << kind.name;
}

TEST(PlatformLaws, EveryPairHasARouteWithoutRepeatedLinks) {
  for (const Example& example : examples()) {
    const Platform platform = make(example);
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
  for (const Example& example : examples()) {
    const Platform platform = make(example);
    for_each_pair(platform, [&](DeviceId from, DeviceId to) {
      const Route there = *route(platform, from, to);
      const Route back = *route(platform, to, from);
      EXPECT_NEAR(there.latency.value, back.latency.value, 1e-15) << example.kind;
      EXPECT_DOUBLE_EQ(there.bandwidth.value, back.bandwidth.value) << example.kind;
    });
  }
}

TEST(PlatformLaws, TheWayBackMirrorsTheWayThereWhereDeclared) {
  for (const Example& example : examples()) {
    if (!example.symmetric) continue;
    const Platform platform = make(example);
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
  for (const Example& example : examples()) {
    const Platform platform = make(example);
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
  for (const Example& example : examples()) {
    Platform platform = make(example);
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
  for (const Example& example : examples()) EXPECT_EQ(make(example), make(example));
}

TEST(PlatformLaws, SixteenThousandDevicesHaveRoutesOfAtMostEightLinks) {
  const Platform platform = make({"rail-cluster",
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
