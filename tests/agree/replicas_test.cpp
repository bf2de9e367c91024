// One replica that stands for all symmetric ones gives the times of all of them on the same fabric;
// what replicas exchange takes the time of its closed form.
#include <gtest/gtest.h>

#include "platforms/platform_kind.hpp"
#include "sim/run/longest_path.hpp"
#include "sim/run/simgrid_run.hpp"
#include "tests/support/platform_examples.hpp"
#include "tests/support/replica_case.hpp"

namespace pipecast {
namespace {

using testing::ReplicaCase;
using testing::replicated;

Platform made_platform(const std::string& kind_name,
                       const std::map<std::string, std::string, std::less<>>& texts) {
  const auto kinds = builtin_platform_kinds();
  const PlatformKind* kind = find_platform_kind(kinds, kind_name);
  EXPECT_NE(kind, nullptr) << kind_name;
  const auto values = parse_fields(kind->fields, texts);
  EXPECT_TRUE(values) << render(values.error());
  auto platform = make_platform(*kind, *values);
  EXPECT_TRUE(platform) << render(platform.error());
  return *platform;
}

std::map<std::string, std::string, std::less<>> rail(const std::string& nodes) {
  return {{"nodes", nodes},
          {"scale_up_bandwidth", "400 GB/s"},
          {"card_bandwidth", "400 Gb/s"},
          {"scale_up_latency", "2 us"}};
}

/// Both ways, both evaluators; the shown replica has the same times.
void expect_one_stands_for_all(const ReplicaCase& made, const Platform& platform) {
  const ReplicatedGraph all = replicated(made, platform, Replicas::All);
  const ReplicatedGraph one = replicated(made, platform, Replicas::Symmetric);
  EXPECT_EQ(one.simulated, 1);
  EXPECT_EQ(all.simulated, made.layout.tensor * made.layout.context * made.layout.data);
  const double exact = makespan(longest_path(one.graph)).value;
  EXPECT_NEAR(makespan(longest_path(all.graph)).value, exact, 1e-12);
  const auto shared_all = simgrid_run(all.graph, all.platform);
  const auto shared_one = simgrid_run(one.graph, one.platform);
  ASSERT_TRUE(shared_all);
  ASSERT_TRUE(shared_one);
  const double expected = makespan(*shared_all).value;
  EXPECT_NEAR(makespan(*shared_one).value, expected, 1e-9 * expected);
  EXPECT_NEAR(makespan(shown_timeline(all, *shared_all)).value, expected, 1e-9 * expected);
  EXPECT_GE(expected, exact * (1 - 1e-9));
}

TEST(Replicas, OneStandsForAllOnARailCluster) {
  const Platform platform = made_platform("rail-cluster", rail("8"));
  for (const char* schedule : {"1f1b", "gpipe", "zb-h1"})
    for (const int zero : {0, 1, 2})
      for (const bool overlap : {true, false}) {
        SCOPED_TRACE(std::string(schedule) + " zero " + std::to_string(zero));
        ReplicaCase made;
        made.schedule = schedule;
        made.layout.tensor = 8;
        made.layout.data = 4;
        made.layout.zero = zero;
        made.layout.gradient_reduction.overlap = overlap;
        made.layout.gradient_reduction.bucket = {150e6};
        made.layout.gradient_reduction.algorithm = CollectiveAlgorithm::Ring;
        made.layout.parameter_gather = {overlap, CollectiveAlgorithm::Ring};
        expect_one_stands_for_all(made, platform);
      }
}

/// Layouts that fit a platform: tensor groups of neighbours, and data over the rest.
std::vector<ReplicaCase> fitting_cases(const Platform& platform) {
  using enum ParallelDimension;
  const DimensionOrder pipeline_inside{Tensor, Pipeline, Context, Expert, Data};
  std::vector<ReplicaCase> cases;
  const auto devices = static_cast<int>(platform.devices.size());
  for (const int tensor : {1, 2, 4})
    for (const int data : {2, 3, 4, 8})
      for (const DimensionOrder& order : {kMegatronOrder, pipeline_inside}) {
        ReplicaCase made;
        made.layout.tensor = tensor;
        made.layout.data = data;
        made.layout.order = order;
        made.layout.zero = data == 4 ? 3 : 0;
        made.layout.parameter_gather.every_microbatch = data == 4;
        if (made.shape.ranks * tensor * data <= devices) cases.push_back(made);
      }
  return cases;
}

/// Whether one stood for all.
bool expect_the_same_either_way(const ReplicaCase& made, const Platform& platform) {
  const ReplicatedGraph all = replicated(made, platform, Replicas::All);
  const ReplicatedGraph one = replicated(made, platform, Replicas::Symmetric);
  EXPECT_EQ(one.traffic, all.traffic);
  const auto shared_all = simgrid_run(all.graph, all.platform);
  const auto shared_one = simgrid_run(one.graph, one.platform);
  EXPECT_TRUE(shared_all && shared_one);
  const double expected = makespan(*shared_all).value;
  EXPECT_NEAR(makespan(*shared_one).value, expected, 1e-9 * expected);
  const Timeline shown_all = shown_timeline(all, *shared_all);
  const Timeline shown_one = shown_timeline(one, *shared_one);
  for (std::size_t task = 0; task < one.shown.tasks.size(); ++task) {
    if (!is_work(one.shown.tasks[task])) continue;  // the pipeline's come first, in one order
    EXPECT_EQ(one.shown.tasks[task].position, all.shown.tasks[task].position);
    EXPECT_NEAR(shown_one.intervals[task].end_s, shown_all.intervals[task].end_s, 1e-9 * expected);
  }
  return one.simulated == 1;
}

/// Every kind with shared links, in the order of its examples: 1 where one stood for all, a where
/// the replicas are not provably alike and all of them run. The times are right either way; what
/// folds is written down, so that nothing stops folding unnoticed.
const std::map<std::string, std::string> kFolds{
    {"fat-tree", "11aa1aaa11aaaaaa11aaaa 11aa1aaa11aaaaaa11a1a1"},
    {"mesh-node", "11111111 aaaaa1aa 1aaaaaa1"},
    {"multi-plane", "11aa1aaa11aaaaaa11aaaa"},
    {"nvlink-domain", "1111111a11aa1aaa11aaaa"},
    {"nvlink-node", "11111111"},
    {"pcie-tree", "11aa1aaa11aaaaaa11aaaa"},
    {"rail-cluster", "11aa1aaa11aaaaaa11aaaa 11aa1aaa11aaaaaa11a1a1 11aa1aaa11aaaaaa11a1a1"},
    {"super-node", "11aa1aaa11a1a1aa11aa1a"},
    {"torus", "aaaaaaaaaa aaaaaaaaaaaaaaaaaaaaaa"},
    {"two-sites", "11aa1aaa11aaaaaa11aaaa"},
};

TEST(Replicas, OneStandsForAllOnEveryKindOrAllAreSimulated) {
  std::map<std::string, std::string> folds;
  for (const testing::PlatformExample& example : testing::platform_examples()) {
    const Platform platform = testing::example_platform(example);
    std::string& outcome = folds[example.kind];
    if (!outcome.empty()) outcome += ' ';
    for (const ReplicaCase& made : fitting_cases(platform)) {
      SCOPED_TRACE(example.kind + " tensor " + std::to_string(made.layout.tensor) + " data " +
                   std::to_string(made.layout.data) + " " + order_text(made.layout.order));
      outcome += expect_the_same_either_way(made, platform) ? '1' : 'a';
    }
  }
  EXPECT_EQ(folds, kFolds);
}

/// Every other node of a rail cluster has its neighbour below another leaf: an oversubscribed spine
/// carries the rings of some replicas only.
TEST(Replicas, AnUnevenPlacementUnderAnOversubscribedSpineIsSimulatedWhole) {
  const Platform platform = testing::example_platform(
      {"fat-tree", testing::cluster_texts({{"leaf_oversubscription", "4"}, {"nodes", "6"}})});
  ReplicaCase made;
  made.layout.tensor = 4;
  made.layout.data = 3;
  EXPECT_FALSE(expect_the_same_either_way(made, platform));
}

/// Replicas that exchange nothing are compared by their routes, not by their tasks.
TEST(Replicas, OneStandsForSilentOnesThatShareLinks) {
  auto narrow = rail("16");
  narrow["leaf_nodes"] = "2";
  narrow["leaf_oversubscription"] = "4";
  for (const Platform& platform :
       {made_platform("rail-cluster", rail("16")), made_platform("rail-cluster", narrow)})
    for (const char* schedule : {"1f1b", "zb-h1"})
      for (const int tensor : {2, 8}) {
        SCOPED_TRACE(std::string(schedule) + " tensor " + std::to_string(tensor));
        ReplicaCase made;
        made.schedule = schedule;
        made.shape = {4, 1, 6};
        made.layout.tensor = tensor;
        made.layout.data = 4;
        made.silent = true;
        expect_one_stands_for_all(made, platform);
      }
}

TEST(Replicas, SilentOnesThatDifferAreAllSimulated) {
  Platform platform = made_platform("rail-cluster", rail("4"));
  platform.devices[9].slowdown = 1.1;
  ReplicaCase made;
  made.layout.tensor = 8;
  made.layout.data = 2;
  made.silent = true;
  EXPECT_EQ(replicated(made, platform, Replicas::Symmetric).simulated, 16);
}

TEST(Replicas, ReplicasThatDifferAreAllSimulated) {
  Platform platform = made_platform("rail-cluster", rail("4"));
  platform.devices[9].slowdown = 1.1;
  ReplicaCase made;
  made.layout.tensor = 8;
  made.layout.data = 2;
  const ReplicatedGraph built = replicated(made, platform, Replicas::Symmetric);
  EXPECT_EQ(built.simulated, 16);
}

/// Data replicas on another accelerator: the step is theirs where they are slower, and neither
/// stands for the other.
TEST(Replicas, ReplicasOnOtherAcceleratorsAreAllSimulated) {
  for (const bool silent : {false, true}) {
    Platform platform = made_platform("rail-cluster", rail("2"));
    for (std::size_t device = 0; device < platform.devices.size(); ++device)
      platform.devices[device].accelerator = device % 2 == 0 ? "a" : "b";
    ReplicaCase made;
    made.layout.data = 2;
    made.silent = silent;
    EXPECT_EQ(replicated(made, platform, Replicas::Symmetric).simulated, 1);  // given costs
    const Workload same = workload_of(made);
    const std::vector<Seconds> update(2, Seconds{0.002});
    made.on = {{"a", same.costs, {}, update}, {"b", same.costs, {}, update}};
    for (StageCost& cost : made.on[1].costs) cost.forward = cost.forward * 2;
    const ReplicatedGraph built = replicated(made, platform, Replicas::Symmetric);
    EXPECT_EQ(built.simulated, 2);
    double busy[2] = {0, 0};
    for (const Task& task : built.graph.tasks)
      if (is_work(task)) busy[task.rank / 2] += task.seconds;
    EXPECT_NEAR(busy[1] - busy[0], 2 * 4 * 0.010, 1e-12);
    EXPECT_GE(makespan(*simgrid_run(built.graph, built.platform)).value,
              makespan(longest_path(built.graph)).value - 1e-9);
  }
}

/// Without gradients nothing joins the replicas; the step has ended when the slowest has.
TEST(Replicas, TheStepEndsWithTheSlowestReplica) {
  Platform platform = constant_delay_platform(4, {0});
  platform.devices[3].slowdown = 2;  // rank 1 of the second replica
  ReplicaCase made;
  made.layout.data = 2;
  made.sync = {};
  made.message = {};
  const ReplicatedGraph built = replicated(made, platform, Replicas::Symmetric);
  EXPECT_EQ(built.simulated, 2);
  const Timeline whole = longest_path(built.graph);
  // The slow rank never waits once it has begun: F of the first rank, m of its own, B of the first.
  EXPECT_NEAR(makespan(whole).value, 0.010 + 4 * 2 * 0.030 + 0.020, 1e-12);
  EXPECT_EQ(makespan(shown_timeline(built, whole)).value, makespan(whole).value);
}

TEST(Replicas, AReductionAtTheEndTakesItsClosedForm) {
  const Platform platform = constant_delay_platform(4, {0.001});
  ReplicaCase made;
  made.layout.data = 2;
  made.layout.gradient_reduction.overlap = false;
  made.sync.optimizer = {0.005};
  const ReplicatedGraph with = replicated(made, platform, Replicas::All);
  made.sync.gradients = {0};
  made.sync.optimizer = {0};
  const ReplicatedGraph without = replicated(made, platform, Replicas::All);
  // A ring of two: 2 (n - 1) hops of the delay; bytes take no time on a constant delay.
  EXPECT_NEAR(makespan(longest_path(with.graph)).value,
              makespan(longest_path(without.graph)).value + 2 * 0.001 + 0.005, 1e-9);
}

/// Seconds of the longest path on two replicas whose messages and hops take `delay` each.
double with_delay(const ReplicaCase& made, double delay_s) {
  const Platform platform = constant_delay_platform(made.shape.ranks * made.layout.data, {delay_s});
  return makespan(longest_path(replicated(made, platform, Replicas::All).graph)).value;
}

TEST(Replicas, NobodyToExchangeWithLeavesTheUpdate) {
  const Platform platform = constant_delay_platform(2, {0.001});
  ReplicaCase made;
  ReplicaCase alone = made;
  alone.sync = {};
  const ReplicatedGraph built = replicated(made, platform, Replicas::Symmetric);
  EXPECT_EQ(built.simulated, 1);
  EXPECT_NEAR(makespan(longest_path(built.graph)).value,
              makespan(longest_path(replicated(alone, platform, Replicas::Symmetric).graph)).value +
                  made.sync.optimizer.value,
              1e-12);
}

TEST(Replicas, BucketsAreReducedWhileTheLastBackwardRuns) {
  ReplicaCase made;
  made.layout.data = 2;
  made.sync.optimizer = {0};
  ReplicaCase alone = made;
  alone.sync.gradients = {0};
  for (const double pieces : {1, 2, 4}) {
    made.layout.gradient_reduction.bucket = {made.sync.gradients.value / pieces};
    // Only the last piece, a ring of two, is left when the backward of 20 ms ends.
    EXPECT_NEAR(with_delay(made, 0.001), with_delay(alone, 0.001) + 2 * 0.001, 1e-12) << pieces;
  }
}

TEST(Replicas, PiecesOfParametersHoldBackTheRestOfTheFirstForward) {
  ReplicaCase made;
  made.shape = {1, 1, 1};
  made.layout.data = 2;
  made.layout.zero = 1;
  made.sync.optimizer = {0};
  made.layout.gradient_reduction.bucket = {made.sync.gradients.value / 2};
  // The forward of 10 ms runs from 20 ms on; its second half waits for the second piece until 40
  // ms. The first half of the gradient is ready at 55 ms, the second at 65 ms; each takes 20 ms.
  EXPECT_NEAR(with_delay(made, 0.020), 0.055 + 2 * 0.020, 1e-12);
  // Hidden pieces cost nothing but the first gather and the last reduction.
  EXPECT_NEAR(with_delay(made, 0.001), 0.001 + 0.030 + 0.001, 1e-12);
}

}  // namespace
}  // namespace pipecast
