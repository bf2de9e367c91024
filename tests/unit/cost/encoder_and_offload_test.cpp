// What a causal kernel skips, what the host keeps, and what an encoder costs.
#include <gtest/gtest.h>

#include "tests/support/cost_cases.hpp"

namespace pipecast {
namespace {

using testing::a_device;
using testing::derived;
using testing::derived_on;
using testing::machine_of;
using testing::plan_of;
using testing::staged;

TEST(Derive, HardwareUtilizationLeavesOutWhatACausalKernelSkips) {
  TrainingPlan plan = plan_of(8, 2048, 2);
  plan.layout.sequence = plan.model.max_position = 65536;
  const Derivation fused = derived(plan, a_device());
  // Forward half the square, backward five products over half of it for two over the whole.
  const double attention = 6.0 * 8 * 65536 * 2 * 2048 * fused.tokens;
  EXPECT_NEAR(fused.hardware_flops, fused.model_flops - attention + attention * 3.5 / 6,
              1e-9 * fused.model_flops);
}

TEST(Derive, OffloadingIsWaitedForWhereTheCopyIsLonger) {
  TrainingPlan plan = plan_of(8, 2048, 2);
  const Derivation without = derived(plan, a_device());
  plan.offload = 0.5;
  const PlanMachine machine = machine_of(plan, a_device());
  EXPECT_FALSE(derived_on(staged(plan, machine), machine));  // no bandwidth to the host
  DeviceModel device = a_device();
  device.host_link = 1e12;
  const Derivation hidden = derived(plan, device);
  EXPECT_EQ(hidden.workload.costs, without.workload.costs);
  const double held = without.workload.bytes[0].held_by_forward.value;
  EXPECT_DOUBLE_EQ(hidden.workload.bytes[0].held_by_forward.value, 0.5 * held);
  device.host_link = 1e9;
  const Derivation slow = derived(plan, device);
  EXPECT_DOUBLE_EQ(slow.workload.costs[0].forward.value, 0.5 * held / 1e9);
  EXPECT_DOUBLE_EQ(
      (slow.workload.costs[0].backward_input + slow.workload.costs[0].backward_weight).value,
      0.5 * held / 1e9);
}

TEST(Derive, EncoderLayersCostTimeBytesAndParameters) {
  TrainingPlan plan = plan_of(8, 2048, 4);
  plan.model.encoder = {12, 1024, 16, 4096, false, 576, 588, 1};
  plan.layout.pipeline = 4;
  plan.split = {SplitChoice::Kind::Layout, {}, "v*6|v*6|Et*4|t*4L"};
  const Derivation with = derived(plan, a_device());
  // Twelve layers of 12·h² matrices and the whole square of attention, on 576 tokens.
  const double tokens = 576.0 * plan.layout.microbatch_size;
  const double layer = 2 * tokens * (12.0 * 1024 * 1024 + 2 * 576 * 1024);
  const double patches = 2 * tokens * 588 * 1024;
  EXPECT_NEAR(with.stages[0].seconds.forward.flops, 6 * layer + patches, 1);
  const double connector = 2 * tokens * (1024.0 * 2048 + 2048.0 * 2048);
  EXPECT_NEAR(with.stages[1].seconds.forward.flops, 6 * layer + connector, 1);
  EXPECT_GT(with.workload.bytes[0].held_by_forward.value, 0);
  EXPECT_EQ(with.workload.bytes[0].message_forward.value, 2 * tokens * 1024);
  EXPECT_EQ(with.workload.bytes[1].message_forward.value, 2 * tokens * 2048);
  EXPECT_EQ(with.workload.bytes[1].message_backward.value, 2 * tokens * 1024);
  double parameters = 0;
  for (const StageDerivation& stage : with.stages) parameters += stage.parameters;
  const double tied_copy = double{1} * plan.model.hidden * plan.model.vocabulary;
  EXPECT_NEAR(parameters,
              total_parameters(plan.model) + (plan.model.tied_embeddings ? tied_copy : 0), 1);
}

TEST(Derive, BalanceCountsTheEncoder) {
  TrainingPlan plan = plan_of(8, 2048, 4);
  plan.model.encoder = {48, 2048, 16, 8192, false, 2048, 588, 1};
  plan.layout.pipeline = 4;
  plan.split.kind = SplitChoice::Kind::Balanced;
  const TrainingPlan split = staged(plan, a_device());
  int encoder = 0;
  for (const StageLayers& stage : split.stages) encoder += stage.encoder;
  EXPECT_EQ(encoder, 48);
  EXPECT_FALSE(split.stages[0].embedding);
  EXPECT_TRUE(check(split.stages, split.model, split.layout).empty());
}

}  // namespace
}  // namespace pipecast
