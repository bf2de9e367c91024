#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "platforms/platform_kind.hpp"
#include "sim/graph/flows.hpp"
#include "sim/run/longest_path.hpp"

namespace pipecast {
namespace {

using Texts = std::map<std::string, std::string, std::less<>>;

/// One small instance of a kind, and whether the way back mirrors the way there.
struct Example {
  std::string kind;
  Texts texts;
  bool symmetric = true;
};

std::vector<Example> examples() {
  return {
      {"nvlink-node", {{"nvlink_bandwidth", "450 GB/s"}, {"nvlink_latency", "3 us"}}},
      {"rail-cluster",
       {{"nodes", "8"},
        {"node_devices", "4"},
        {"leaf_nodes", "2"},
        {"pod_nodes", "4"},
        {"nvlink_bandwidth", "450 GB/s"},
        {"card_bandwidth", "400 Gb/s"},
        {"leaf_oversubscription", "2"},
        {"leaf_latency", "3 us"},
        {"spine_latency", "4 us"},
        {"core_latency", "5 us"}},
       false},  // another rail is reached over NVLink at the sender's end
      {"rail-cluster",
       {{"nodes", "8"},
        {"node_devices", "4"},
        {"leaf_nodes", "2"},
        {"nvlink_bandwidth", "450 GB/s"},
        {"card_bandwidth", "400 Gb/s"},
        {"cross_rail", "spine"}}},
  };
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

TEST(PlatformLaws, BuildingTwiceGivesTheSame) {
  for (const Example& example : examples()) EXPECT_EQ(make(example), make(example));
}

TEST(PlatformLaws, SixteenThousandDevicesHaveRoutesOfAtMostEightLinks) {
  const Platform platform = make({"rail-cluster",
                                  {{"nodes", "2048"},
                                   {"pod_nodes", "256"},
                                   {"nvlink_bandwidth", "450 GB/s"},
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
