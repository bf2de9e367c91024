// What operations exchange inside their groups: as flows on links that nothing else uses they take
// what the operations say, in both evaluators; where they are left out they would change nothing;
// one replica that stands for all gives the times of all.
#include <gtest/gtest.h>

#include <map>

#include "sim/run/longest_path.hpp"
#include "sim/run/simgrid_run.hpp"
#include "tests/support/platform_examples.hpp"
#include "tests/support/replica_case.hpp"

namespace pipecast {
namespace {

using testing::ReplicaCase;
using testing::replicated;
using As = GroupTraffic::As;

PassExchange pass(double bytes, double alone_s = 0, double behind_s = 0) {
  return {{bytes}, {alone_s}, {std::max(0.0, alone_s - behind_s)}, {behind_s}};
}

GroupExchange exchange(ParallelDimension group, Collective collective, const PassExchange& each) {
  return {group, collective, each, each, {}};
}

ReplicaCase with(ReplicaCase made, ParallelDimension group, Collective collective, double bytes) {
  made.inside.push_back(exchange(group, collective, pass(bytes)));
  return made;
}

/// Tensor inside the nodes, context or experts across them, data over the rest.
std::vector<ReplicaCase> layouts() {
  using enum ParallelDimension;
  std::vector<ReplicaCase> cases;
  ReplicaCase made;
  made.slower = 3;  // the slowest fabric exchanges for 20 ms
  made.layout.tensor = 4;
  made.layout.data = 2;
  cases.push_back(with(made, Tensor, Collective::AllGather, 100e6));
  made.layout.tensor = 2;
  made.layout.context = 2;
  cases.push_back(
      with(with(made, Tensor, Collective::AllReduce, 60e6), Context, Collective::AllGather, 20e6));
  made.layout.tensor = 1;
  made.layout.context = 4;
  made.layout.data = 1;
  cases.push_back(with(made, Context, Collective::AllToAll, 30e6));
  made.layout.context = 1;
  made.layout.data = 8;
  made.layout.expert = 8;
  cases.push_back(with(made, Expert, Collective::AllToAll, 30e6));
  made.layout.tensor = 2;
  made.layout.data = 4;
  made.layout.expert = 4;
  cases.push_back(
      with(with(made, Tensor, Collective::AllGather, 40e6), Expert, Collective::AllToAll, 20e6));
  return cases;
}

double shared_s(const ReplicatedGraph& built) {
  const auto timeline = simgrid_run(built.graph, built.platform);
  EXPECT_TRUE(timeline) << render(timeline.error());
  return makespan(*timeline).value;
}

double exact_s(const ReplicatedGraph& built) { return makespan(longest_path(built.graph)).value; }

bool fits(const ReplicaCase& made, const Platform& platform) {
  return made.shape.ranks * made.layout.tensor * made.layout.context * made.layout.data <=
         static_cast<int>(platform.devices.size());
}

std::string name_of(const ReplicaCase& made) {
  return made.schedule + " tensor " + std::to_string(made.layout.tensor) + " context " +
         std::to_string(made.layout.context) + " data " + std::to_string(made.layout.data) +
         " expert " + std::to_string(made.layout.expert);
}

/// The same platform with links that nobody shares.
Platform unshared(Platform platform) {
  for (Link& link : platform.links) link.sharing = Sharing::FatPipe;
  return platform;
}

TEST(GroupTraffic, UndisturbedFlowsTakeWhatTheOperationsSay) {
  const Platform platform =
      unshared(testing::example_platform({"rail-cluster", testing::cluster_texts({})}));
  for (const char* schedule : {"1f1b", "gpipe", "zb-h1", "interleaved-1f1b"})
    for (ReplicaCase made : layouts())
      for (const int pieces : {1, 3}) {
        made.schedule = schedule;
        if (made.schedule == "interleaved-1f1b") made.shape = {2, 2, 4};
        SCOPED_TRACE(name_of(made) + " pieces " + std::to_string(pieces));
        made.layout.group_traffic = {As::ClosedForm, pieces};
        const double closed = exact_s(replicated(made, platform, Replicas::All));
        made.layout.group_traffic.as = As::Flows;
        for (const Replicas replicas : {Replicas::All, Replicas::Symmetric}) {
          const ReplicatedGraph flows = replicated(made, platform, replicas);
          EXPECT_FALSE(flows.ends.empty());
          EXPECT_NEAR(exact_s(flows), closed, 1e-9 * closed);
          EXPECT_NEAR(shared_s(flows), closed, 1e-9 * closed);
        }
      }
}

/// Exchanges of which a part, or all, hides behind computation; and one whose seconds are given.
TEST(GroupTraffic, HiddenAndGivenSecondsTakeWhatTheOperationsSayToo) {
  const Platform platform =
      unshared(testing::example_platform({"rail-cluster", testing::cluster_texts({})}));
  for (const PassExchange& each :
       {pass(50e6, 0.004), pass(50e6, 0.004, 0.001), pass(50e6, 0.004, 0.009), pass(10e6, 0, 1)})
    for (const int pieces : {1, 4}) {
      ReplicaCase made;
      made.layout.tensor = 2;
      made.layout.context = 4;
      made.inside = {exchange(ParallelDimension::Tensor, Collective::AllGather, pass(1e6, 0.002)),
                     exchange(ParallelDimension::Context, Collective::AllGather, each)};
      made.layout.group_traffic = {As::ClosedForm, pieces};
      const double closed = exact_s(replicated(made, platform, Replicas::All));
      made.layout.group_traffic.as = As::Flows;
      const ReplicatedGraph flows = replicated(made, platform, Replicas::All);
      EXPECT_NEAR(exact_s(flows), closed, 1e-9 * closed);
      EXPECT_NEAR(shared_s(flows), closed, 1e-9 * closed);
    }
}

/// Whether one stood for all.
bool expect_the_same_either_way(ReplicaCase made, const Platform& platform) {
  made.layout.group_traffic.as = As::Flows;
  const ReplicatedGraph all = replicated(made, platform, Replicas::All);
  const ReplicatedGraph one = replicated(made, platform, Replicas::Symmetric);
  made.layout.group_traffic.as = As::Automatic;
  const ReplicatedGraph automatic = replicated(made, platform, Replicas::Symmetric);
  const double expected = shared_s(all);
  EXPECT_NEAR(shared_s(one), expected, 1e-9 * expected);
  EXPECT_NEAR(shared_s(automatic), expected, 1e-9 * expected);
  EXPECT_GE(expected, exact_s(all) * (1 - 1e-9));
  for (const ReplicatedGraph* other : {&one, &automatic})
    for (std::size_t level = 0; level < all.traffic.levels.size(); ++level)
      for (const TrafficKind kind : kTrafficKinds) {
        const Crossing& there = other->traffic.levels[level].of(kind);
        const Crossing& here = all.traffic.levels[level].of(kind);
        EXPECT_EQ(there.messages, here.messages) << traffic_name(kind);
        EXPECT_NEAR(there.link_bytes, here.link_bytes, 1e-9 * here.link_bytes);
      }
  return one.simulated == 1;
}

/// o: one stood for all, the exchanges left out of the graph; 1: one stood for all with its flows;
/// a: all simulated.
std::string outcome_of(const ReplicaCase& made, const Platform& platform) {
  const bool one = expect_the_same_either_way(made, platform);
  const bool left_out = replicated(made, platform, Replicas::Symmetric).ends.empty();
  return left_out ? "o" : one ? "1" : "a";
}

/// The times are right either way; what folds and what is left out is written down, so that nothing
/// stops being cheap unnoticed.
const std::map<std::string, std::string> kOutcomes{
    {"fat-tree", "oooao11aoa oooao11aoa"},
    {"mesh-node", "o1 aa aa"},
    {"multi-plane", "oooao11aoa"},
    {"nvlink-domain", "o1o111o1o1"},
    {"nvlink-node", "11"},
    {"pcie-tree", "111a111a1a"},
    {"rail-cluster", "oooao11aoa oooao11aoa oooao11aoa"},
    {"super-node", "111a111a1a"},
    {"torus", "aa aaaaaaaaaa"},
    {"two-sites", "oooao11aoa"},
};

TEST(GroupTraffic, OneStandsForAllOnEveryKindAndWhatIsLeftOutChangesNothing) {
  std::map<std::string, std::string> outcomes;
  for (const testing::PlatformExample& example : testing::platform_examples()) {
    const Platform platform = testing::example_platform(example);
    std::string& outcome = outcomes[example.kind];
    if (!outcome.empty()) outcome += ' ';
    for (ReplicaCase made : layouts())
      for (const bool silent : {true, false}) {
        made.silent = silent;
        if (!fits(made, platform)) continue;
        SCOPED_TRACE(example.kind + " " + name_of(made));
        outcome += outcome_of(made, platform);
      }
  }
  EXPECT_EQ(outcomes, kOutcomes);
}

TEST(GroupTraffic, OneStandsForAllOverSchedulesAndPieces) {
  const Platform platform =
      testing::example_platform({"rail-cluster", testing::cluster_texts({{"leaf_nodes", "8"}})});
  for (const char* schedule : {"1f1b", "gpipe", "zb-h1", "interleaved-1f1b"})
    for (ReplicaCase made : layouts())
      for (const int pieces : {1, 3})
        for (const int zero : {0, 1, 3}) {
          made.schedule = schedule;
          if (made.schedule == "interleaved-1f1b") made.shape = {2, 2, 4};
          made.layout.zero = zero;
          made.layout.parameter_gather.every_microbatch = zero == 3;
          made.layout.gradient_reduction.bucket = {150e6};
          made.layout.group_traffic.pieces = pieces;
          SCOPED_TRACE(name_of(made) + " zero " + std::to_string(zero));
          expect_the_same_either_way(made, platform);
        }
}

}  // namespace
}  // namespace pipecast
