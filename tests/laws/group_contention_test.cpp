// Exchanges inside operations share links with messages and with each other, max-min fair; closed
// forms on clusters small enough to work them out by hand.
#include <gtest/gtest.h>

#include "sim/graph/group_flows.hpp"
#include "sim/report/summary.hpp"
#include "sim/run/longest_path.hpp"
#include "sim/run/simgrid_run.hpp"
#include "tests/support/platform_examples.hpp"
#include "tests/support/replica_case.hpp"

namespace pipecast {
namespace {

using testing::ReplicaCase;
using As = GroupTraffic::As;

constexpr double kCard = 50e9;
constexpr double kLeaf = 3e-6;
constexpr double kForward = 0.010;

/// Nodes of one device, all below one leaf: a card is all that flows share.
Platform one_card_each(const std::string& nodes) {
  return testing::example_platform(
      {"fat-tree",
       testing::cluster_texts({{"nodes", nodes}, {"node_devices", "1"}, {"leaf_nodes", nodes}})});
}

/// Forwards only, so that the order of things is plain.
ReplicaCase forwards(Shape shape) {
  ReplicaCase made;
  made.schedule = "forward-only";
  made.shape = shape;
  made.silent = true;
  made.message = {};
  return made;
}

GroupExchange forward_only(ParallelDimension group, Collective collective, double bytes) {
  return {group, collective, {{bytes}, {}, {}, {}}, {}, {}};
}

double step_s(const ReplicaCase& made, const Platform& platform, Replicas replicas) {
  const ReplicatedGraph built = testing::replicated(made, platform, replicas);
  return makespan(*simgrid_run(built.graph, built.platform)).value;
}

void expect_step(const ReplicaCase& made, const Platform& platform, double seconds) {
  for (const Replicas replicas : {Replicas::All, Replicas::Symmetric})
    EXPECT_NEAR(step_s(made, platform, replicas), seconds, 1e-9 * seconds);
}

/// Two ranks, two microbatches, a context ring of two. While rank 0 exchanges for its second
/// forward its card carries the first one's message, too: the exchange of b bytes is alone until
/// the message begins, shares until one of both has ended, and is alone again.
TEST(GroupContention, AnExchangeAndAMessageShareACard) {
  ReplicaCase made = forwards({2, 1, 2});
  made.layout.context = 2;
  made.layout.order = {ParallelDimension::Tensor, ParallelDimension::Context,
                       ParallelDimension::Expert, ParallelDimension::Data,
                       ParallelDimension::Pipeline};
  const double ring = 200e6;         // half of it leaves each card
  const double exchange = ring / 2;  // 2 ms alone
  made.inside = {forward_only(ParallelDimension::Context, Collective::AllGather, ring)};
  made.layout.group_traffic.as = As::Flows;
  const double computing = kForward - kLeaf - exchange / kCard;
  // A message of 12 ms meets the exchange of the second forward, which begins when that forward has
  // computed; then the two share until the exchange has ended.
  made.message = {600e6};
  const double message_before = kForward + kLeaf;  // its bytes begin to flow
  const double exchange_begins = kForward + computing + kLeaf;
  const double left = made.message.value - (exchange_begins - message_before) * kCard;
  ASSERT_GT(left, exchange);
  const double second_ends = exchange_begins + 2 * exchange / kCard;
  // The second message leaves when the second forward has ended; both share the card until the
  // first has arrived.
  const double second_sends = second_ends + kLeaf;
  const double first_left = left - exchange - (second_sends - second_ends) * kCard;
  const double first_there = second_sends + 2 * first_left / kCard;
  // Rank 1 computes its first forward from there; its exchange and the second message use different
  // directions of the cards of rank 1 only: the message comes in while the ring does too.
  const double message_left = made.message.value - first_left;
  const double ring_begins = first_there + computing + kLeaf;
  const double second_alone = first_there + message_left / kCard;
  ASSERT_GT(second_alone, ring_begins);  // they meet at the card's way in
  const double meeting_left = message_left - (ring_begins - first_there) * kCard;
  ASSERT_LT(meeting_left, exchange);
  const double second_there = ring_begins + 2 * meeting_left / kCard;
  const double ring_ends = second_there + (exchange - meeting_left) / kCard;
  expect_step(made, one_card_each("4"), ring_ends + kForward);
}

/// Two microbatches on one rank: rings of context and of experts are never at the same time, each
/// takes what it does alone.
TEST(GroupContention, ExchangesOfOneOperationFollowEachOther) {
  ReplicaCase made = forwards({1, 1, 2});
  made.layout.context = 2;
  made.layout.data = 2;
  made.layout.expert = 4;
  made.inside = {forward_only(ParallelDimension::Context, Collective::AllGather, 100e6),
                 forward_only(ParallelDimension::Expert, Collective::AllToAll, 100e6)};
  made.layout.group_traffic.as = As::Flows;
  expect_step(made, one_card_each("4"), 2 * kForward);
  made.layout.group_traffic.as = As::Automatic;
  const ReplicatedGraph built = testing::replicated(made, one_card_each("4"), Replicas::Symmetric);
  EXPECT_TRUE(built.ends.empty());
}

/// A step that is longer than its closed form says by how much its operations are.
TEST(GroupContention, OperationsLastUntilTheirExchangesHaveEnded) {
  ReplicaCase made = forwards({2, 1, 2});
  made.layout.context = 2;
  made.inside = {forward_only(ParallelDimension::Context, Collective::AllGather, 200e6)};
  made.message = {600e6};
  const Platform platform = one_card_each("4");
  const ReplicatedGraph built = testing::replicated(made, platform, Replicas::Symmetric);
  ASSERT_FALSE(built.ends.empty());
  const Timeline whole = *simgrid_run(built.graph, built.platform);
  const Timeline shown = shown_timeline(built, whole);
  const Workload workload = testing::workload_of(made);
  const Summary summary =
      summarise(testing::program_of(made, workload), workload, platform, built.shown, shown);
  // Rank 0: its second forward takes 2 ms more (see above); so does one of rank 1, by what they
  // meet.
  EXPECT_NEAR(summary.ranks[0].group_contention_s, 100e6 / kCard, 1e-9);
  EXPECT_GT(summary.ranks[1].group_contention_s, 0);
  for (const RankSummary& rank : summary.ranks) {
    EXPECT_NEAR(rank.busy_s, 2 * kForward + rank.group_contention_s, 1e-12);
    EXPECT_NEAR(rank.busy_s + rank.idle_s, summary.makespan_s, 1e-12);
  }
}

double sent(const std::vector<GroupFlow>& flows, DeviceId from, bool inside, int node_devices) {
  double sum = 0;
  for (const GroupFlow& flow : flows)
    if (flow.from == from && (flow.to.value / node_devices == from.value / node_devices) == inside)
      sum += flow.wire;
  return sum;
}

/// Each device's links carry what the collectives put on them, per byte of the exchange.
TEST(GroupContention, FlowsLoadEachDeviceAsTheCollectivesDo) {
  const Platform platform = testing::example_platform(
      {"rail-cluster", testing::cluster_texts({{"cross_rail", "spine"}})});
  std::vector<DeviceId> group;
  for (std::int32_t device = 0; device < 12; ++device) group.push_back({device});  // 3 nodes of 4
  const auto ring = *group_flows(Collective::AllGather, group, platform);
  const auto twice = *group_flows(Collective::AllReduce, group, platform);
  const auto all = *group_flows(Collective::AllToAll, group, platform);
  EXPECT_EQ(ring.size(), 24u);
  EXPECT_EQ(all.size(), 12u + 24u);
  for (const DeviceId device : group) {
    EXPECT_NEAR(sent(ring, device, false, 4), 11.0 / 12 / 4, 1e-12);
    EXPECT_NEAR(sent(ring, device, true, 4), 3 * 11.0 / 12 / 4, 1e-12);
    EXPECT_NEAR(sent(twice, device, false, 4), 2 * 11.0 / 12 / 4, 1e-12);
    EXPECT_NEAR(sent(all, device, false, 4), 8.0 / 12, 1e-12);
    EXPECT_NEAR(sent(all, device, true, 4), 3.0 / 12, 1e-12);
  }
}

/// Contention of hundreds of thousands of exchanges is asked for, not a surprise.
TEST(GroupContention, HugeGraphsLeaveExchangesOut) {
  const Platform platform = one_card_each("4");
  for (const int microbatches : {2, 100'000}) {
    ReplicaCase made = forwards({2, 1, microbatches});
    made.message = {1e6};
    made.layout.context = 2;
    made.layout.order = {ParallelDimension::Tensor, ParallelDimension::Context,
                         ParallelDimension::Expert, ParallelDimension::Data,
                         ParallelDimension::Pipeline};
    made.inside = {forward_only(ParallelDimension::Context, Collective::AllGather, 1e6)};
    const ReplicatedGraph built = testing::replicated(made, platform, Replicas::Symmetric);
    EXPECT_EQ(built.groups_left_out, microbatches > 2) << microbatches;
    EXPECT_EQ(built.ends.empty(), microbatches > 2);
  }
}

}  // namespace
}  // namespace pipecast
