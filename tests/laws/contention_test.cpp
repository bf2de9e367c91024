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
constexpr double kCard = 50e9;  // 400 Gb/s
constexpr double kLeaf = 3e-6;
constexpr double kSpine = 4e-6;

/// Nodes of eight devices on leaves of one node; one card for the whole node unless told.
Platform fat_tree(Texts more) {
  more.insert({{"nodes", "4"},
               {"node_devices", "8"},
               {"leaf_nodes", "2"},
               {"scale_up_bandwidth", "450 GB/s"},
               {"card_bandwidth", "400 Gb/s"},
               {"leaf_latency", "3 us"},
               {"spine_latency", "4 us"}});
  const std::vector<PlatformKind> kinds = builtin_platform_kinds();
  const PlatformKind* kind = find_platform_kind(kinds, "fat-tree");
  return *make_platform(*kind, *parse_fields(kind->fields, more));
}

Timeline shared(const std::vector<Flow>& flows, const Platform& platform) {
  const Result<Timeline> timeline = simgrid_run(*build_flow_graph(flows, platform), platform);
  EXPECT_TRUE(timeline) << render(timeline.error());
  return *timeline;
}

void expect_end(const Timeline& timeline, std::size_t flow, double seconds) {
  EXPECT_NEAR(timeline.intervals[flow].end_s, seconds, 1e-9 * seconds) << "flow " << flow;
}

/// k equal flows through one card: each gets bandwidth ÷ k.
TEST(Contention, FlowsShareACard) {
  const Platform platform = fat_tree({{"node_cards", "1"}});
  const Bytes size{1e8};
  for (int count = 2; count <= 8; ++count) {
    std::vector<Flow> flows;
    for (std::int32_t slot = 0; slot < count; ++slot) flows.push_back({{slot}, {8 + slot}, size});
    const Timeline timeline = shared(flows, platform);
    const Timeline alone = longest_path(*build_flow_graph(flows, platform));
    for (std::size_t flow = 0; flow < flows.size(); ++flow) {
      expect_end(timeline, flow, kLeaf + count * size.value / kCard);
      expect_end(alone, flow, kLeaf + size.value / kCard);
    }
  }
}

/// Flows of 1, 2 … k units: when the i-th ends, the rest share what it leaves. With sizes s_i the
/// ends are t_i = t_{i−1} + (s_i − s_{i−1}) (k − i + 1) ÷ bandwidth.
TEST(Contention, WhoEndsLeavesItsShareToTheOthers) {
  const Platform platform = fat_tree({{"node_cards", "1"}});
  constexpr double kUnit = 1e7;
  for (int count = 2; count <= 8; ++count) {
    std::vector<Flow> flows;
    for (std::int32_t slot = 0; slot < count; ++slot)
      flows.push_back({{slot}, {8 + slot}, Bytes{kUnit * (slot + 1)}});
    const Timeline timeline = shared(flows, platform);
    double end = kLeaf;
    for (int flow = 0; flow < count; ++flow) {
      end += kUnit * (count - flow) / kCard;
      expect_end(timeline, static_cast<std::size_t>(flow), end);
    }
  }
}

/// A leaf of 16 cards with uplinks for 4: up to four flows run at card speed, more share the
/// uplinks.
TEST(Contention, FlowsShareAnOversubscribedSpine) {
  const Platform platform = fat_tree({{"leaf_oversubscription", "4"}});
  const Bytes size{1e8};
  for (int count = 2; count <= 8; ++count) {
    std::vector<Flow> flows;
    for (std::int32_t slot = 0; slot < count; ++slot) flows.push_back({{slot}, {16 + slot}, size});
    const Timeline timeline = shared(flows, platform);
    const double rate = std::min(kCard, 16 * kCard / 4 / count);
    for (std::size_t flow = 0; flow < flows.size(); ++flow)
      expect_end(timeline, flow, kSpine + size.value / rate);
  }
}

/// Max–min: what one flow cannot use because it is held up elsewhere, the other one gets.
TEST(Contention, AFlowHeldUpElsewhereLeavesTheCardToTheOther) {
  const Platform platform = fat_tree({{"node_cards", "1"}, {"leaf_oversubscription", "20"}});
  const double uplink = 2 * kCard / 20;  // two cards below the leaf
  const std::vector<Flow> flows{{{0}, {16}, Bytes{1e8}}, {{1}, {8}, Bytes{1e8}}};
  const Timeline timeline = shared(flows, platform);
  expect_end(timeline, 0, kSpine + 1e8 / uplink);
  // The second starts to flow 1 us earlier and has the card to itself until the first flows.
  const double alone = (kSpine - kLeaf) * kCard;
  expect_end(timeline, 1, kSpine + (1e8 - alone) / (kCard - uplink));
}

TEST(Contention, BothDirectionsOfACardAreIndependent) {
  const Platform platform = fat_tree({{"node_cards", "1"}});
  const std::vector<Flow> flows{{{0}, {8}, Bytes{1e8}}, {{9}, {1}, Bytes{1e8}}};
  const Timeline timeline = shared(flows, platform);
  expect_end(timeline, 0, kLeaf + 1e8 / kCard);
  expect_end(timeline, 1, kLeaf + 1e8 / kCard);
}

TEST(Contention, CardsOfTheirOwnAreNotShared) {
  const Platform platform = fat_tree({});
  std::vector<Flow> flows;
  for (std::int32_t slot = 0; slot < 8; ++slot) flows.push_back({{slot}, {8 + slot}, Bytes{1e8}});
  const Timeline timeline = shared(flows, platform);
  for (std::size_t flow = 0; flow < flows.size(); ++flow)
    expect_end(timeline, flow, kLeaf + 1e8 / kCard);
}

/// α–β from one byte to a hundred gigabytes.
TEST(Contention, OneFlowTakesLatencyPlusBytesOverBandwidth) {
  const Platform platform = fat_tree({});
  for (double bytes = 1; bytes <= 1e11; bytes *= 10)
    expect_end(shared({{{0}, {16}, Bytes{bytes}}}, platform), 0, kSpine + bytes / kCard);
}

}  // namespace
}  // namespace pipecast
