// ZeRO-3 gathers a chunk's parameters before each forward and input gradient, as FSDP does when it
// gives them up after each use, or once per step when it keeps them; closed forms for one stage.
#include <gtest/gtest.h>

#include "sim/run/longest_path.hpp"
#include "sim/run/simgrid_run.hpp"
#include "tests/support/platform_examples.hpp"
#include "tests/support/replica_case.hpp"

namespace pipecast {
namespace {

using testing::ReplicaCase;

constexpr double kForward = 0.010;
constexpr double kBackward = 0.020;
constexpr int kMicrobatches = 4;
constexpr int kReplicas = 4;
constexpr double kLatency = 3e-6;
constexpr double kPort = 450e9;

/// (n−1) hops, (n−1)/n of the bytes through every port.
double gather_s(double bytes) {
  return (kReplicas - 1) * kLatency + (kReplicas - 1.0) / kReplicas * bytes / kPort;
}

ReplicaCase one_stage(double bytes) {
  ReplicaCase made;
  made.shape = {1, 1, kMicrobatches};
  made.layout.data = kReplicas;
  made.layout.zero = 3;
  made.layout.parameter_gather = {true, CollectiveAlgorithm::Ring, true};
  made.sync = {{0}, {bytes}, {}, {}, {0}};
  return made;
}

void expect_step(const ReplicaCase& made, double seconds) {
  const Platform node = testing::example_platform(
      {"nvlink-node", {{"scale_up_bandwidth", "450 GB/s"}, {"scale_up_latency", "3 us"}}});
  for (const Replicas replicas : {Replicas::All, Replicas::Symmetric}) {
    const ReplicatedGraph built = testing::replicated(made, node, replicas);
    EXPECT_NEAR(makespan(longest_path(built.graph)).value, seconds, 1e-9);
    EXPECT_NEAR(makespan(*simgrid_run(built.graph, built.platform)).value, seconds, 1e-9);
  }
}

constexpr double kCompute = kMicrobatches * (kForward + kBackward);

TEST(ParameterGatherLaws, WithoutOverlapEveryUseWaitsForItsGather) {
  ReplicaCase made = one_stage(2e9);
  made.layout.parameter_gather.overlap = false;
  expect_step(made, kCompute + 2 * kMicrobatches * gather_s(2e9));
}

TEST(ParameterGatherLaws, AShortGatherHidesBehindTheOperationBefore) {
  ASSERT_LT(gather_s(2e9), kForward);
  expect_step(one_stage(2e9), gather_s(2e9) + kCompute);
}

TEST(ParameterGatherLaws, ALongGatherSetsThePace) {
  const double bytes = 30e9;
  ASSERT_GT(gather_s(bytes), kBackward);
  expect_step(one_stage(bytes), 2 * kMicrobatches * gather_s(bytes) + kBackward);
}

TEST(ParameterGatherLaws, KeptParametersAreGatheredOnce) {
  ReplicaCase made = one_stage(2e9);
  made.layout.parameter_gather.every_microbatch = false;
  expect_step(made, gather_s(2e9) + kCompute);
  made.layout.parameter_gather.overlap = false;
  expect_step(made, gather_s(2e9) + kCompute);
}

/// The weight gradient needs what the forward kept and what came in, not the weights.
TEST(ParameterGatherLaws, WeightGradientsNeedNoParameters) {
  ReplicaCase made = one_stage(2e9);
  made.schedule = "zb-h1";
  made.layout.parameter_gather.overlap = false;
  expect_step(made, kCompute + 2 * kMicrobatches * gather_s(2e9));
}

/// With gradients scattered after each backward, too, nothing waits for a reduction but the end.
TEST(ParameterGatherLaws, ReductionsDoNotHoldUpGathers) {
  ReplicaCase made = one_stage(2e9);
  made.layout.gradient_reduction = {true, {}, true, CollectiveAlgorithm::Ring};
  made.sync.gradients = {1e9};
  const Platform node = testing::example_platform(
      {"nvlink-node", {{"scale_up_bandwidth", "450 GB/s"}, {"scale_up_latency", "3 us"}}});
  const ReplicatedGraph built = testing::replicated(made, node, Replicas::All);
  EXPECT_NEAR(makespan(longest_path(built.graph)).value, gather_s(2e9) + kCompute + gather_s(1e9),
              1e-9);
}

/// What is gathered once and kept is held whole; what is given up after each use is not.
TEST(ParameterGatherLaws, OnlyWhatIsGivenUpIsHeldInShares) {
  Workload workload = testing::workload_of(one_stage(2e9));
  workload.bytes[0].parameters = {2e9};
  ParallelLayout layout = one_stage(2e9).layout;
  EXPECT_DOUBLE_EQ(sharded(workload, layout).bytes[0].parameters.value, 2e9 / kReplicas);
  layout.parameter_gather.every_microbatch = false;
  EXPECT_DOUBLE_EQ(sharded(workload, layout).bytes[0].parameters.value, 2e9);
}

/// Two-way schedules keep a stage twice; each copy gathers among its own replicas, in its order.
TEST(ParameterGatherLaws, TwoWaySchedulesFinish) {
  for (const char* schedule : {"dualpipe", "chimera"}) {
    ReplicaCase made = one_stage(2e8);
    made.schedule = schedule;
    made.shape = {4, 1, 8};
    made.layout.data = 2;
    made.layout.gradient_reduction.every_microbatch = true;
    made.sync.gradients = {1e8};
    const Platform node = testing::example_platform(
        {"nvlink-node", {{"scale_up_bandwidth", "450 GB/s"}, {"scale_up_latency", "3 us"}}});
    const ReplicatedGraph built = testing::replicated(made, node, Replicas::All);
    EXPECT_EQ(built.graph.order.size(), built.graph.tasks.size()) << schedule;
    EXPECT_GT(makespan(longest_path(built.graph)).value, 0) << schedule;
  }
}

}  // namespace
}  // namespace pipecast
