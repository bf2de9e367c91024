// Machines whose nodes differ: what a part changes, and what it leaves alone.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/support/platform_examples.hpp"

namespace pipecast {
namespace {

using testing::cluster_texts;
using testing::PlatformTexts;

struct PartTexts {
  int first;
  int last;
  PlatformTexts texts;
};

Platform mixed(std::string_view name, PlatformTexts texts, const std::vector<PartTexts>& parts) {
  const std::vector<PlatformKind> kinds = builtin_platform_kinds();
  const PlatformKind& kind = *find_platform_kind(kinds, name);
  const FieldValues values = parse_fields(kind.fields, texts).value();
  std::vector<NodePart> made;
  for (const PartTexts& part : parts) {
    PlatformTexts own = part.texts;
    own.insert(texts.begin(), texts.end());
    made.push_back({part.first, part.last, parse_fields(kind.fields, own).value()});
  }
  Result<Platform> platform = make_platform(kind, values, made);
  EXPECT_TRUE(platform) << render(platform.error());
  return std::move(*platform);
}

double rate(const Platform& platform, int from, int to) {
  return route(platform, {from}, {to})->bandwidth.value;
}

std::map<std::string, double> rates(const Platform& platform) {
  std::map<std::string, double> rate_of;
  for (const Link& link : platform.links) rate_of[link.name] = link.bandwidth.value;
  return rate_of;
}

const PlatformTexts kOther{{"accelerator", "b"},
                           {"memory", "40 GiB"},
                           {"scale_up_bandwidth", "300 GB/s"},
                           {"card_bandwidth", "200 Gb/s"}};

TEST(MixedNodes, ANodeHasItsOwnDevicesPortsAndCards) {
  const Platform platform =
      mixed("rail-cluster", cluster_texts({{"accelerator", "a"}, {"memory", "80 GiB"}}),
            {{2, 3, kOther}});
  EXPECT_EQ(platform.devices[7], (Device{"n1.d3", "a", Bytes{80.0 * (1 << 30)}, 1.0}));
  EXPECT_EQ(platform.devices[8], (Device{"n2.d0", "b", Bytes{40.0 * (1 << 30)}, 1.0}));
  EXPECT_EQ(platform.devices[16].accelerator, "a");
  EXPECT_DOUBLE_EQ(rate(platform, 0, 1), 450e9);
  EXPECT_DOUBLE_EQ(rate(platform, 8, 9), 300e9);
  EXPECT_DOUBLE_EQ(rate(platform, 0, 4), 50e9);
  EXPECT_DOUBLE_EQ(rate(platform, 8, 12), 25e9);
  EXPECT_DOUBLE_EQ(rate(platform, 0, 8), 25e9);  // the slower card
}

/// Uplinks of a switch are the sum of the cards below it.
TEST(MixedNodes, UplinksCarryTheCardsBelowThem) {
  const auto rail = rates(mixed("rail-cluster", cluster_texts({}), {{1, 3, kOther}}));
  EXPECT_DOUBLE_EQ(rail.at("u0.r0 leaf up"), 75e9);
  EXPECT_DOUBLE_EQ(rail.at("u1.r0 leaf up"), 50e9);
  EXPECT_DOUBLE_EQ(rail.at("u2.r0 leaf up"), 100e9);
  const auto tree = rates(mixed(
      "fat-tree",
      cluster_texts({{"pod_nodes", "4"}, {"core_latency", "5 us"}, {"leaf_oversubscription", "2"}}),
      {{1, 3, kOther}}));
  EXPECT_DOUBLE_EQ(tree.at("u0 leaf up"), 4 * 75e9 / 2);
  EXPECT_DOUBLE_EQ(tree.at("p0 spine up"), 4 * 125e9 / 2);
  EXPECT_DOUBLE_EQ(tree.at("p1 spine up"), 4 * 200e9 / 2);
  const auto sites = rates(
      mixed("two-sites", cluster_texts({{"site_bandwidth", "10 GB/s"}, {"site_latency", "5 ms"}}),
            {{4, 7, kOther}}));
  EXPECT_DOUBLE_EQ(sites.at("u0.r0 leaf up"), 100e9);
  EXPECT_DOUBLE_EQ(sites.at("u2.r0 leaf up"), 50e9);
}

TEST(MixedNodes, ASwitchedNodeAndAMeshInOneCluster) {
  PlatformTexts mesh = kOther;
  mesh["scale_up"] = "mesh";
  const Platform platform = mixed("multi-plane", cluster_texts({}), {{1, 1, mesh}});
  EXPECT_EQ(route(platform, {0}, {1})->links.size(), 2u);
  EXPECT_EQ(route(platform, {4}, {5})->links.size(), 1u);
  EXPECT_DOUBLE_EQ(rate(platform, 4, 5), 300e9 / 3);
  EXPECT_EQ(route(platform, {1}, {4})->links.size(), 4u);  // to the card of that plane, and over
}

TEST(MixedNodes, SuperNodesSlicesAndServersToo) {
  PlatformTexts other = kOther;
  const Platform super =
      mixed("super-node",
            cluster_texts({{"domain_nodes", "4"}, {"leaf_nodes", "4"}, {"domain_latency", "3 us"}}),
            {{1, 1, other}});
  EXPECT_DOUBLE_EQ(rates(super).at("n0 ub up"), 4 * 450e9);
  EXPECT_DOUBLE_EQ(rates(super).at("n1 ub up"), 4 * 300e9);
  const Platform torus = mixed("torus",
                               {{"shape", "4"},
                                {"slices", "2"},
                                {"accelerator", "a"},
                                {"host_bandwidth", "25 GB/s"},
                                {"wire_bandwidth", "90 GB/s"}},
                               {{1, 1, {{"accelerator", "b"}, {"wire_bandwidth", "45 GB/s"}}}});
  EXPECT_DOUBLE_EQ(rate(torus, 0, 1), 90e9);
  EXPECT_DOUBLE_EQ(rate(torus, 4, 5), 45e9);
  EXPECT_EQ(torus.devices[3].accelerator, "a");
  EXPECT_EQ(torus.devices[4].accelerator, "b");
}

/// Fitted constants belong to the nodes they were fitted on; a collective over several takes the
/// worst of each.
TEST(MixedNodes, CollectivesInsideANodeHaveItsConstants) {
  const PlatformTexts fitted{{"collective_latency", "16 us"},
                             {"collective_achieved", "0.7"},
                             {"collective_half_size", "18 MB"},
                             {"in_switch_reduction", "true"}};
  const Platform platform = mixed("rail-cluster", cluster_texts(fitted),
                                  {{1,
                                    1,
                                    {{"collective_latency", "32 us"},
                                     {"collective_achieved", "0.8"},
                                     {"in_switch_reduction", "false"}}}});
  const std::vector<DeviceId> first{{0}, {1}};
  const std::vector<DeviceId> second{{4}, {5}};
  const std::vector<DeviceId> both{{0}, {4}};
  EXPECT_EQ(inside_tuning(platform, first), platform.collectives_inside);
  EXPECT_EQ(inside_tuning(platform, second),
            (CollectiveTuning{Seconds{32e-6}, 0.8, Bytes{18e6}, false}));
  EXPECT_EQ(inside_tuning(platform, both),
            (CollectiveTuning{Seconds{32e-6}, 0.7, Bytes{18e6}, false}));
}

/// Over every kind: a part that changes nothing leaves the platform bit for bit as it is, one that
/// changes a field leaves all devices connected.
TEST(MixedNodes, PartsOfEveryKindThatHasSome) {
  const std::vector<PlatformKind> kinds = builtin_platform_kinds();
  int tried = 0;
  for (const testing::PlatformExample& example : testing::platform_examples()) {
    SCOPED_TRACE(example.kind);
    const PlatformKind& kind = *find_platform_kind(kinds, example.kind);
    EXPECT_EQ(kind.parts_of.empty(), kind.node_fields.empty());
    const FieldValues values = parse_fields(kind.fields, example.texts).value();
    const auto count = values.find(kind.parts_of);
    if (kind.parts_of.empty() || std::get<std::int64_t>(count->second) < 2) continue;
    const Platform plain = make_platform(kind, values).value();
    EXPECT_EQ(make_platform(kind, values, std::vector<NodePart>{{1, 1, values}}).value(), plain);
    FieldValues other = values;
    other["accelerator"] = std::string("b");
    for (const NodeField& field : kind.node_fields)
      if (field.otherwise == NodeField::Otherwise::Catalogue) {
        EXPECT_TRUE(values.contains(field.name)) << field.name;
        other[std::string(field.name)] = 1e9;
      }
    const Result<Platform> made = make_platform(kind, values, std::vector<NodePart>{{1, 1, other}});
    ASSERT_TRUE(made) << render(made.error());
    EXPECT_EQ(made->links.size(), plain.links.size());
    const auto devices = static_cast<std::int32_t>(made->devices.size());
    for (std::int32_t from = 0; from < devices; ++from)
      for (std::int32_t to = 0; to < devices; ++to)
        if (from != to) {
          ASSERT_TRUE(route(*made, {from}, {to}));
        }
    ++tried;
  }
  EXPECT_GE(tried, 10);
}

}  // namespace
}  // namespace pipecast
