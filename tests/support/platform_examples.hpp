#pragma once
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "platforms/platform_kind.hpp"

namespace pipecast::testing {

using PlatformTexts = std::map<std::string, std::string, std::less<>>;

/// One small instance of a kind, and whether the way back mirrors the way there.
struct PlatformExample {
  std::string kind;
  PlatformTexts texts;
  bool symmetric = true;
};

inline PlatformTexts cluster_texts(PlatformTexts more) {
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
inline constexpr bool kForwards = false;

inline std::vector<PlatformExample> cluster_platform_examples() {
  const PlatformTexts core{
      {"pod_nodes", "4"}, {"leaf_oversubscription", "2"}, {"core_latency", "5 us"}};
  return {
      {"rail-cluster", cluster_texts(core), kForwards},
      {"rail-cluster", cluster_texts({{"cross_rail", "spine"}})},
      {"rail-cluster", cluster_texts({{"cross_rail", "spine"}, {"scale_up", "mesh"}})},
      {"fat-tree", cluster_texts(core)},
      {"fat-tree", cluster_texts({{"node_cards", "2"}})},
      {"multi-plane", cluster_texts(core), kForwards},
      {"nvlink-domain", cluster_texts({{"domain_nodes", "2"}, {"leaf_nodes", "4"}}), kForwards},
      {"super-node",
       cluster_texts({{"domain_nodes", "4"}, {"leaf_nodes", "4"}, {"domain_latency", "3 us"}})},
      {"two-sites", cluster_texts({{"site_bandwidth", "10 GB/s"}, {"site_latency", "5 ms"}}),
       kForwards},
  };
}

/// Small instances of every registered kind.
inline std::vector<PlatformExample> platform_examples() {
  std::vector<PlatformExample> all{
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
  const std::vector<PlatformExample> clusters = cluster_platform_examples();
  all.insert(all.end(), clusters.begin(), clusters.end());
  return all;
}

inline Platform example_platform(const PlatformExample& example) {
  const std::vector<PlatformKind> kinds = builtin_platform_kinds();
  const PlatformKind* kind = find_platform_kind(kinds, example.kind);
  EXPECT_NE(kind, nullptr) << example.kind;
  const Result<FieldValues> values = parse_fields(kind->fields, example.texts);
  EXPECT_TRUE(values) << render(values.error());
  Result<Platform> platform = make_platform(*kind, *values);
  EXPECT_TRUE(platform) << render(platform.error());
  return *platform;
}

}  // namespace pipecast::testing
