#include "sim/cost/derive.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "tests/support/cost_cases.hpp"

namespace pipecast {
namespace {

using testing::a_device;
using testing::derived;
using testing::derived_on;
using testing::figure;
using testing::gpt;
using testing::loop_of;
using testing::machine_of;
using testing::plan_of;
using testing::staged;

// 24·s·b·h² + 4·s²·b·h, attention the whole square where it is not fused (Qi et al. 2024, section
// 2).
TEST(Derive, LayerHasTheFlopsOfThePaper) {
  TrainingPlan plan = plan_of(4, 4096, 4);
  plan.kernels.fused_attention = false;
  const DeviceModel device = a_device();
  const UnitSeconds layer =
      layer_seconds(plan, device, unknown_links(plan.layout), LayerKind::Dense, false);
  const double s = 2048;
  const double h = 4096;
  EXPECT_DOUBLE_EQ(layer.forward.flops, 24 * s * h * h + 4 * s * s * h);
  EXPECT_DOUBLE_EQ(layer.input.flops, 24 * s * h * h + 8 * s * s * h);
  EXPECT_DOUBLE_EQ(layer.weight.flops, 24 * s * h * h);
}

TEST(Derive, StagesAddUpToTheModel) {
  TrainingPlan plan = plan_of(8, 2048, 4);
  plan.kernels.fused_attention = false;
  const DeviceModel device = a_device();
  const Derivation result = derived(plan, device);
  double flops = 0;
  double parameters = 0;
  for (const StageDerivation& stage : result.stages) {
    flops += stage.model_flops * plan.layout.global_batch;
    parameters += stage.parameters;
  }
  EXPECT_NEAR(flops / result.model_flops, 1, 0.01);
  EXPECT_NEAR(parameters / total_parameters(plan.model), 1, 1e-9);
}

TEST(Derive, TensorParallelismDividesTheProducts) {
  const DeviceModel device = a_device();
  TrainingPlan plan = plan_of(8, 8192, 4);
  const Derivation whole = derived(plan, device);
  plan.layout.tensor = 8;
  const Derivation cut = derived(plan, device);
  EXPECT_NEAR(whole.stages[1].seconds.forward.flops / cut.stages[1].seconds.forward.flops, 8, 1e-9);
  EXPECT_GT(8 * cut.stages[1].seconds.forward.matmul_s, whole.stages[1].seconds.forward.matmul_s);
}

TEST(Derive, RecomputeAddsAForwardBeforeTheBackward) {
  const DeviceModel device = a_device();
  TrainingPlan plan = plan_of(8, 2048, 2);
  plan.kernels.fused_attention = false;
  const Derivation none = derived(plan, device);
  plan.layout.recompute = Recompute::Full;
  const Derivation full = derived(plan, device);
  const auto extra = [&](std::size_t stage) {
    return (full.workload.costs[stage].backward_input - none.workload.costs[stage].backward_input)
        .value;
  };
  EXPECT_NEAR(extra(0), full.stages[0].seconds.recompute.total(), 1e-12);
  EXPECT_GT(full.hardware_flops, 1.2 * full.model_flops);
  EXPECT_NEAR(none.hardware_flops / none.model_flops, 1, 1e-9);
  plan.layout.recompute_layers = 1;
  EXPECT_NEAR(derived(plan, device).stages[0].seconds.recompute.total(), extra(0) / 4, 1e-9);
  EXPECT_LT(full.workload.bytes[0].held_by_forward, none.workload.bytes[0].held_by_forward);
}

TEST(Derive, LargerMicrobatchesRunTheMatricesFaster) {
  const DeviceModel device = a_device();
  const double small =
      gemm_efficiency(device, {64, 1600, 1600, 1}, GemmPass::Forward, MatrixClass::Sixteen)
          .fraction;
  const double large =
      gemm_efficiency(device, {4096, 1600, 1600, 1}, GemmPass::Forward, MatrixClass::Sixteen)
          .fraction;
  EXPECT_GT(large, 1.3 * small);
  EXPECT_LE(large, 0.75);
}

TEST(Derive, MeasuredShapesCorrectTheCurve) {
  DeviceModel device = a_device();
  const GemmShape shape{4096, 4096, 4096, 1};
  const double curve = gemm_curve(device, shape, MatrixClass::Sixteen);
  device.samples.push_back(
      {std::log(4096.0), std::log(4096.0), std::log(4096.0), 0, GemmPass::Forward, 0.5 / curve});
  const GemmEfficiency near =
      gemm_efficiency(device, shape, GemmPass::Forward, MatrixClass::Sixteen);
  EXPECT_TRUE(near.from_table);
  EXPECT_NEAR(near.fraction, 0.5, 1e-12);
  EXPECT_FALSE(
      gemm_efficiency(device, {256, 4096, 4096, 1}, GemmPass::Forward, MatrixClass::Sixteen)
          .from_table);
}

TEST(Derive, BalancedSplitTakesLayersFromTheHead) {
  const DeviceModel device = a_device();
  TrainingPlan plan = plan_of(16, 1024, 4);
  plan.split.kind = SplitChoice::Kind::Balanced;
  const TrainingPlan balanced = staged(plan, device);
  EXPECT_LT(balanced.stages.back().layers, balanced.stages.front().layers);
  const auto slowest = [&](const TrainingPlan& cut) {
    const Derivation derived = derived_on(cut, machine_of(cut, device)).value();
    double worst = 0;
    for (const StageCost& cost : derived.workload.costs)
      worst = std::max(worst, (cost.forward + cost.backward_input + cost.backward_weight).value);
    return worst;
  };
  plan.split.kind = SplitChoice::Kind::Even;
  EXPECT_LT(slowest(balanced), slowest(staged(plan, device)));
}

TEST(Derive, ZeroDividesWhatItShards) {
  const DeviceModel device = a_device();
  TrainingPlan plan = plan_of(8, 2048, 2);
  plan.layout.data = 4;
  const Derivation whole = derived(plan, device);
  plan.layout.zero = 1;
  const Derivation one = derived(plan, device);
  plan.layout.zero = 3;
  const Derivation three = derived(plan, device);
  EXPECT_NEAR(whole.workload.bytes[0].optimizer / one.workload.bytes[0].optimizer, 4, 1e-9);
  EXPECT_EQ(whole.workload.bytes[0].gradients, one.workload.bytes[0].gradients);
  EXPECT_NEAR(whole.workload.bytes[0].parameters / three.workload.bytes[0].parameters, 4, 1e-9);
}

TEST(Derive, RefusesAPrecisionTheDeviceLacks) {
  const DeviceModel device = a_device();
  TrainingPlan plan = plan_of(8, 2048, 2);
  plan.precision = Precision::Nvfp4;
  EXPECT_FALSE(derived_on(staged(plan, device), machine_of(plan, device)).has_value());
}

TEST(Derive, MeasuredAttentionCorrectsTheCurve) {
  DeviceModel device = a_device();
  const AttentionShape shape{32.0 * 4096, 4096, 128, 128};
  const double curve = attention_seconds(device, 1e12, shape, AttentionPass::Backward);
  device.attention_samples.push_back(
      {std::log(shape.rows), std::log(4096.0), 128, 128, AttentionPass::Backward, 0.5});
  EXPECT_NEAR(attention_seconds(device, 1e12, shape, AttentionPass::Backward), 2 * curve,
              1e-9 * curve);
  // Another pass, other heads, far fewer rows: the curve stands.
  EXPECT_EQ(attention_seconds(device, 1e12, shape, AttentionPass::Forward),
            attention_seconds(a_device(), 1e12, shape, AttentionPass::Forward));
  for (const AttentionShape& other :
       {AttentionShape{shape.rows, 4096, 192, 128}, AttentionShape{4096, 4096, 128, 128}})
    EXPECT_EQ(attention_seconds(device, 1e12, other, AttentionPass::Backward),
              attention_seconds(a_device(), 1e12, other, AttentionPass::Backward));
}

TEST(Derive, AnOperationOfAPipelineWaitsForTheHost) {
  DeviceModel device = a_device();
  device.operation_s = 1e-3;
  EXPECT_EQ(derived(plan_of(8, 1024, 4), device).workload.overheads.operation, Seconds{1e-3});
  EXPECT_EQ(derived(plan_of(8, 1024, 1), device).workload.overheads.operation, Seconds{0});
}

TEST(Derive, EagerOperatorsAreMoreKernelsAndLaunchedByTheHost) {
  DeviceModel device = a_device();
  TrainingPlan plan = plan_of(8, 1024, 2);
  plan.kernels.fused_attention = false;
  plan.model.linear_bias = true;
  const double fused = derived(plan, device).stages[0].seconds.forward.kernels;
  plan.fused_kernels = false;
  EXPECT_GT(derived(plan, device).stages[0].seconds.forward.kernels, 1.5 * fused);
  // Where the host is slower than the kernels, twice the sequences take the same time.
  device.host_launch_s = 1e-3;
  const double one = derived(plan, device).stages[0].seconds.forward.total();
  plan.layout.microbatch_size = 2;
  EXPECT_NEAR(derived(plan, device).stages[0].seconds.forward.total(), one, 1e-9 * one);
}

TEST(Derive, ABlockingLaunchCostsEveryKernel) {
  DeviceModel device = a_device();
  TrainingPlan plan = plan_of(8, 1024, 2);
  const PassSeconds free = derived(plan, device).stages[0].seconds.forward;
  plan.launch = Launch::Blocking;
  const auto warned = derived(plan, device).warnings;
  EXPECT_NE(std::find(warned.begin(), warned.end(),
                      "x1: what a blocking launch costs is not known; it costs nothing"),
            warned.end());
  device.blocking_launch_s = 50e-6;
  const PassSeconds waits = derived(plan, device).stages[0].seconds.forward;
  EXPECT_NEAR(waits.total() - free.total(), 50e-6 * free.kernels, 1e-9 * waits.total());
}

TEST(Derive, GradientsAddedByKernelsOfTheirOwnMoveTheirBytes) {
  const DeviceModel device = a_device();
  TrainingPlan plan = plan_of(8, 1024, 2);
  const double fused = derived(plan, device).stages[0].seconds.weight.total();
  plan.accumulation_bytes = 6;  // 16 bits: two read, one written
  const Derivation apart = derived(plan, device);
  // 12·h² of each of 4 layers and the embedding; norms are not counted.
  const double parameters = 4 * 12.0 * 1024 * 1024 + 51200.0 * 1024;
  EXPECT_NEAR(apart.stages[0].seconds.weight.total() - fused, 6 * parameters / (2e12 * 0.8), 1e-12);
}

TEST(Derive, ProductsWithUnalignedRowsLeaveTheTensorCores) {
  DeviceModel device = a_device();
  device.unaligned = 1.0 / 16;
  EXPECT_TRUE(rows_aligned(144));
  EXPECT_FALSE(rows_aligned(108));
  EXPECT_FALSE(rows_aligned(150));
  const GemmShape aligned{2048, 4096, 2048, 1};
  GemmShape unaligned = aligned;
  unaligned.aligned = false;
  const auto seconds = [&](const GemmShape& shape) {
    return gemm_time(device, shape, GemmPass::Forward, MatrixClass::Sixteen).seconds;
  };
  // At the slower rate the prologue of a tile weighs less, so it is a little less than 16 times.
  EXPECT_GT(seconds(unaligned), 15 * seconds(aligned));
  EXPECT_LT(seconds(unaligned), 16 * seconds(aligned));
  TrainingPlan plan = plan_of(8, 1920, 2);
  plan.kernels.fused_attention = false;
  plan.model.heads = plan.model.key_value_heads = 15;
  const double wide = derived(plan, device).stages[0].seconds.forward.attention_s;
  plan.model.heads = plan.model.key_value_heads = 16;
  plan.model.head_width = 120;
  const double whole = derived(plan, device).stages[0].seconds.forward.attention_s;
  EXPECT_LT(whole, 1.3 * wide);
  plan.model.head_width = 108;  // 216 bytes
  EXPECT_GT(derived(plan, device).stages[0].seconds.forward.attention_s, 4 * whole);
}

TEST(Derive, GradientsAndParametersAreExchangedLayerByLayer) {
  const DeviceModel device = a_device();
  TrainingPlan plan = plan_of(8, 2048, 2);
  plan.layout.data = 4;
  plan.layout.zero = 1;
  ClusterLinks links = unknown_links(plan.layout);
  EXPECT_EQ(derived_on(staged(plan, device), uniform_machine(device, links, 8))
                ->workload.sync[0]
                .gradients,
            Bytes{0});
  links.data.gather = {{{{{{HUGE_VAL, 0, 1e-11}}}}}};
  const Derivation known =
      derived_on(staged(plan, device), uniform_machine(device, links, 8)).value();
  const StageSync& first = known.workload.sync[0];
  EXPECT_EQ(first.gradients.value, 4 * known.stages[0].parameters);
  EXPECT_EQ(first.parameters.value, 2 * known.stages[0].parameters);
  EXPECT_EQ(first.optimizer, known.stages[0].optimizer);
  double largest = 0;
  for (const StageSync& sync : known.workload.sync)
    largest = std::max(largest, sync.gradients.value / 4);
  EXPECT_EQ(known.layer_gradient.value, largest);
  plan.layout.zero = 3;  // inside the operations
  const Derivation sharded =
      derived_on(staged(plan, device), uniform_machine(device, links, 8)).value();
  EXPECT_EQ(sharded.workload.sync[0].gradients, Bytes{0});
  EXPECT_GT(sharded.workload.sync[0].optimizer.value, 0);
}

GroupLink link_of(int size, double rate, double start_s) {
  GroupLink link;
  link.size = link.per_node = size;
  const double per_byte_s = (size - 1.0) / size / rate;
  link.gather = link.exchange = {{{{{{HUGE_VAL, start_s, per_byte_s}}}}}};
  return link;
}

/// Bytes of a stage and what of their seconds lengthens its passes: never more, never less.
TEST(Derive, WhatGroupsExchangeIsInsideTheSecondsOfTheirPasses) {
  const DeviceModel device = a_device();
  TrainingPlan plan = plan_of(8, 4096, 2);
  plan.layout.tensor = 4;
  plan.layout.context = 2;
  plan.layout.recompute = Recompute::Full;
  EXPECT_TRUE(derived(plan, device).workload.inside[0].empty());  // no link is known
  for (const Exposure tensor : {Exposure::Exposed, Exposure::Overlapped}) {
    plan.communication.tensor = tensor;
    ClusterLinks links = unknown_links(plan.layout);
    links.tensor = link_of(4, 200e9, 1e-5);
    links.context = link_of(2, 50e9, 1e-5);
    const PlanMachine machine = uniform_machine(device, links, plan.layout.devices());
    const Derivation result = derived_on(staged(plan, machine), machine).value();
    ASSERT_TRUE(check(result.workload).empty());
    const UnitSeconds& seconds = result.stages[0].seconds;
    const auto& inside = result.workload.inside[0];
    ASSERT_EQ(inside.size(), 2u);
    EXPECT_DOUBLE_EQ(inside[0].forward.exposed.value, seconds.forward.tensor_s);
    EXPECT_DOUBLE_EQ(inside[0].backward_input.exposed.value,
                     seconds.input.tensor_s + seconds.recompute.tensor_s);
    EXPECT_DOUBLE_EQ(inside[1].forward.exposed.value, seconds.forward.context_s);
    EXPECT_EQ(inside[0].backward_weight.bytes.value, 0);
    // Two blocks a layer gather and scatter 2·s·h bytes; the embedding gathers as many once.
    const double whole = 2.0 * 2048 / 2 * 4096;
    EXPECT_DOUBLE_EQ(inside[0].forward.bytes.value, (4 * 2 * 2 + 1) * whole);
    for (const GroupExchange& exchange : inside)
      for (const PassExchange& pass : {exchange.forward, exchange.backward_input}) {
        EXPECT_GT(pass.alone.value, 0);
        if (pass.exposed.value > 0) {
          EXPECT_NEAR((pass.alone - pass.behind).value, pass.exposed.value, 1e-12);
        }
      }
    EXPECT_EQ(inside[0].forward.behind.value > 0, tensor == Exposure::Overlapped);
  }
}

TEST(Derive, TakesLessThanAMillisecondFor128LayersOn64Stages) {
  const DeviceModel device = a_device();
  const TrainingPlan plan = staged(plan_of(128, 25600, 64), device);
  const PlanMachine machine = machine_of(plan, device);
  double fastest_s = 1;
  for (int i = 0; i < 20; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    const Result<Derivation> result = derived_on(plan, machine);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    ASSERT_TRUE(result.has_value());
    fastest_s = std::min(fastest_s, took.count());
  }
  EXPECT_LT(fastest_s, 1e-3);
}

}  // namespace
}  // namespace pipecast
