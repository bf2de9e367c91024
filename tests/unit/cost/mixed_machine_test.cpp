// Training plans on machines of several accelerators.
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/cost/derive.hpp"

namespace pipecast {
namespace {

DeviceModel device_named(const std::string& name, double speed) {
  Accelerator accelerator;
  accelerator.id = name;
  accelerator.name = name;
  accelerator.vendor = "nobody";
  accelerator.figures.resize(property_table().size());
  const auto state = [&](Property property, double value) {
    accelerator.figures[static_cast<std::size_t>(property)] =
        Figure{value, "a test", Certainty::Memory, ""};
  };
  state(Property::PeakBf16, speed * 1e15);
  state(Property::MemoryBandwidth, speed * 3e12);
  return device_model(accelerator, {}).value();
}

const DeviceModel& model_of(const std::string& name) {
  static const DeviceModel fast = device_named("fast", 1);
  static const DeviceModel slow = device_named("slow", 0.5);
  return name == "fast" ? fast : slow;
}

Result<const DeviceModel*> look_up(const std::string& name) { return &model_of(name); }

TrainingPlan plan_of(int pipeline) {
  TrainingPlan plan;
  plan.model.name = "test";
  plan.model.layers = 24;
  plan.model.hidden = 4096;
  plan.model.feed_forward = 16384;
  plan.model.heads = 32;
  plan.model.key_value_heads = 32;
  plan.model.head_width = 128;
  plan.model.vocabulary = 32000;
  plan.layout.pipeline = pipeline;
  plan.layout.sequence = 2048;
  plan.layout.global_batch = 8;
  return plan;
}

Platform platform_of(const std::vector<std::string>& accelerators) {
  Platform platform = constant_delay_platform(static_cast<int>(accelerators.size()), {});
  for (std::size_t device = 0; device < accelerators.size(); ++device)
    platform.devices[device].accelerator = accelerators[device];
  return platform;
}

Result<PlanMachine> machine_of(const ParallelLayout& layout,
                               const std::vector<std::string>& accelerators) {
  std::vector<DeviceId> devices;
  for (int device = 0; device < layout.devices(); ++device) devices.push_back({device});
  return plan_machine(platform_of(accelerators), layout, devices, PlanNodes::Unequal, look_up);
}

Placement loop_of(const TrainingPlan& plan) { return loop_placement({plan.layout.pipeline, 1, 1}); }

Derivation derived(const TrainingPlan& plan, const std::vector<std::string>& accelerators) {
  const PlanMachine machine = machine_of(plan.layout, accelerators).value();
  const TrainingPlan staged = with_stages(plan, machine, loop_of(plan)).value();
  return derive(staged, machine, loop_of(plan)).value();
}

double seconds(const StageCost& cost) {
  return (cost.forward + cost.backward_input + cost.backward_weight).value;
}

TEST(MixedDerivation, EachStageIsPricedOnItsOwnDevice) {
  const TrainingPlan plan = plan_of(4);
  const Derivation fast = derived(plan, {"fast", "fast", "fast", "fast"});
  const Derivation slow = derived(plan, {"slow", "slow", "slow", "slow"});
  const Derivation mixed = derived(plan, {"fast", "slow", "fast", "slow"});
  for (std::size_t stage = 0; stage < 4; ++stage) {
    const Derivation& own = stage % 2 == 0 ? fast : slow;
    EXPECT_EQ(mixed.workload.costs[stage], own.workload.costs[stage]) << stage;
    EXPECT_EQ(mixed.workload.sync[stage].optimizer, own.workload.sync[stage].optimizer) << stage;
    EXPECT_EQ(mixed.workload.bytes[stage], own.workload.bytes[stage]) << stage;
  }
  ASSERT_EQ(mixed.workload.on.size(), 2u);
  EXPECT_EQ(mixed.workload.on[0].accelerator, "fast");
  EXPECT_EQ(mixed.workload.on[0].costs, fast.workload.costs);
  EXPECT_EQ(mixed.workload.on[1].costs, slow.workload.costs);
  EXPECT_TRUE(check(mixed.workload).empty());
  EXPECT_DOUBLE_EQ(mixed.peak_flops, 2 * 1e15 + 2 * 0.5e15);
  const auto told = [&](const std::string& name) {
    return std::any_of(mixed.warnings.begin(), mixed.warnings.end(),
                       [&](const std::string& line) { return line.starts_with(name + ":"); });
  };
  EXPECT_TRUE(told("fast") && told("slow"));
}

TEST(MixedDerivation, OneAcceleratorIsAUniformMachine) {
  const TrainingPlan plan = plan_of(4);
  const PlanMachine machine = machine_of(plan.layout, {"fast", "fast", "fast", "fast"}).value();
  EXPECT_FALSE(machine.mixed());
  const PlanMachine uniform = uniform_machine(model_of("fast"), machine.devices[0].links, 4);
  const TrainingPlan staged = with_stages(plan, uniform, loop_of(plan)).value();
  EXPECT_EQ(derive(staged, machine, loop_of(plan)), derive(staged, uniform, loop_of(plan)));
}

TEST(MixedDerivation, ABalancedSplitBalancesSeconds) {
  TrainingPlan plan = plan_of(4);
  const std::vector<std::string> accelerators{"fast", "fast", "slow", "slow"};
  const auto slowest = [&] {
    double worst = 0;
    for (const StageCost& cost : derived(plan, accelerators).workload.costs)
      worst = std::max(worst, seconds(cost));
    return worst;
  };
  const double even = slowest();
  plan.split.kind = SplitChoice::Kind::Balanced;
  const PlanMachine machine = machine_of(plan.layout, accelerators).value();
  const auto stages = with_stages(plan, machine, loop_of(plan))->stages;
  // 24 layers over speeds 2 : 2 : 1 : 1, the head taken off the last.
  EXPECT_EQ(stages[0].layers, 8);
  EXPECT_EQ(stages[1].layers, 8);
  EXPECT_EQ(stages[2].layers + stages[3].layers, 8);
  EXPECT_LE(stages[3].layers, stages[2].layers);
  EXPECT_LT(slowest(), 0.75 * even);
}

/// Replicas may differ: a stage then costs what it does where it is.
TEST(MixedDerivation, ReplicasOnAnotherAcceleratorHaveTheirCosts) {
  TrainingPlan plan = plan_of(2);
  plan.layout.data = 2;  // devices of a stage are neighbours
  const Derivation mixed = derived(plan, {"fast", "slow", "fast", "slow"});
  ASSERT_EQ(mixed.workload.on.size(), 2u);
  EXPECT_EQ(mixed.workload.costs, mixed.workload.on[0].costs);
  EXPECT_GT(seconds(mixed.workload.on[1].costs[0]), 1.5 * seconds(mixed.workload.costs[0]));
  EXPECT_DOUBLE_EQ(mixed.peak_flops, 2 * 1e15 + 2 * 0.5e15);
}

TEST(MixedDerivation, GroupsThatComputeTogetherMustNotBeMixed) {
  ParallelLayout layout = plan_of(2).layout;
  layout.tensor = 2;
  const Result<PlanMachine> mixed = machine_of(layout, {"fast", "fast", "fast", "slow"});
  ASSERT_FALSE(mixed);
  EXPECT_NE(mixed.error().front().message.find(
                "rank 1: its tensor × context group has devices 2 (fast) and 3 (slow)"),
            std::string::npos)
      << render(mixed.error());
  layout.tensor = 1;
  layout.data = 2;
  EXPECT_TRUE(machine_of(layout, {"fast", "fast", "fast", "slow"}));
  layout.zero = 3;
  EXPECT_FALSE(machine_of(layout, {"fast", "fast", "fast", "slow"}));
  layout.zero = 1;
  layout.expert = 2;
  EXPECT_FALSE(machine_of(layout, {"fast", "fast", "fast", "slow"}));
}

}  // namespace
}  // namespace pipecast
