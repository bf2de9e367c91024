// What frameworks run between and around the products: each switch against its count of bytes or
// FLOPs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "sim/cost/derive.hpp"
#include "tests/support/cost_cases.hpp"

namespace pipecast {
namespace {

using testing::a_device;
using testing::an_accelerator;
using testing::facts;
using testing::figure;

constexpr double kBandwidth = 2e12 * 0.8;
constexpr double kTokens = 2048;
constexpr double kHidden = 4096;
constexpr double kInner = 14336;

TrainingPlan llama_plan() {
  TrainingPlan plan;
  plan.model.name = "llama";
  plan.model.layers = 2;
  plan.model.hidden = 4096;
  plan.model.heads = 32;
  plan.model.key_value_heads = 8;
  plan.model.head_width = 128;
  plan.model.feed_forward = 14336;
  plan.model.vocabulary = 32000;
  plan.model.max_position = 2048;
  plan.model.norm = Norm::RmsNorm;
  plan.model.position = Position::Rope;
  plan.model.gated = true;
  plan.layout.sequence = 2048;
  return plan;
}

TrainingPlan expert_plan() {
  TrainingPlan plan = llama_plan();
  plan.precision = Precision::Fp8;
  plan.model.experts.count = 8;
  plan.model.experts.active = 2;
  plan.model.experts.width = 1024;
  return plan;
}

/// Members that send `per_byte_s` for each byte of a collective, without latency.
GroupLink group_of(int size, int per_node, double per_byte_s) {
  GroupLink link;
  link.size = size;
  link.per_node = per_node;
  link.gather = link.exchange = {{{{{{HUGE_VAL, 0, per_byte_s}}}}}};
  return link;
}

/// A node of eight at 100 GB/s, without latency.
ClusterLinks eight_links(const ParallelLayout& layout) {
  ClusterLinks links = unknown_links(layout);
  links.tensor = group_of(8, 8, 7.0 / 8 / 1e11);
  return links;
}

UnitSeconds layer(const TrainingPlan& plan, const ClusterLinks& links,
                  LayerKind kind = LayerKind::Dense) {
  return layer_seconds(plan, a_device(), links, kind, true);
}

UnitSeconds layer(const TrainingPlan& plan) { return layer(plan, unknown_links(plan.layout)); }

// Every second of q, k, v, o, gate, up, down: k, o and up. The attention core is kept.
TEST(FrameworkKernels, AlternateRecomputeRepeatsEverySecondProduct) {
  TrainingPlan plan = llama_plan();
  plan.fused_projections = false;
  plan.layout.recompute = Recompute::Alternate;
  const UnitSeconds alternate = layer(plan);
  EXPECT_DOUBLE_EQ(alternate.recompute.flops, 2 * kTokens * kHidden * (8 * 128 + kHidden + kInner));
  EXPECT_NEAR(alternate.recompute.attention_s, 0, 1e-15);
  EXPECT_NEAR(alternate.recompute.memory_s, alternate.forward.memory_s, 1e-12);
  const Bytes held =
      layer_activation(plan.model, plan.layout, plan.kernels, LayerKind::Dense).held();
  plan.layout.recompute = Recompute::Full;
  EXPECT_GT(held, layer_activation(plan.model, plan.layout, plan.kernels, LayerKind::Dense).held());
  plan.layout.recompute = Recompute::None;
  EXPECT_LT(held, layer_activation(plan.model, plan.layout, plan.kernels, LayerKind::Dense).held());
}

TEST(FrameworkKernels, AlternateRecomputeOfExpertsIsRefused) {
  TrainingPlan plan = expert_plan();
  plan.layout.recompute = Recompute::Alternate;
  plan.stages = {{0, true, 2, 0, true}};
  const PlanMachine machine =
      uniform_machine(a_device(), unknown_links(plan.layout), plan.layout.devices());
  EXPECT_FALSE(derive(plan, machine, loop_placement({1, 1, 1})));
}

TEST(FrameworkKernels, ACheckpointThatStopsEarlySparesTheLastProduct) {
  TrainingPlan plan = llama_plan();
  plan.layout.recompute = Recompute::Full;
  const double whole = layer(plan).recompute.flops;
  plan.recompute_last_product = false;
  EXPECT_DOUBLE_EQ(whole - layer(plan).recompute.flops, 2 * kTokens * kInner * kHidden);
}

// Forward of an eager RMSNorm: 36 bytes per value for 4; of the gate 10 for 6; rotation 20 for 4.
TEST(FrameworkKernels, EagerOperationsMoveTheirIntermediates) {
  TrainingPlan plan = llama_plan();
  const UnitSeconds fused = layer(plan);
  plan.eager = true;
  const UnitSeconds eager = layer(plan);
  const double norms = 2 * 32 * kTokens * kHidden;
  const double gate = 4 * kTokens * kInner;
  const double rotation = 16 * kTokens * (kHidden + 8 * 128);
  const double copies = 2 * 2 * kTokens * (8 * 128 + kHidden) + 4 * kTokens * kHidden;
  EXPECT_NEAR((eager.forward.memory_s - fused.forward.memory_s) * kBandwidth,
              norms + gate + rotation + copies, 1);
  EXPECT_DOUBLE_EQ(eager.forward.matmul_s, fused.forward.matmul_s);
}

TEST(FrameworkKernels, AnUnfusedLossPassesOverTheLogitsAgain) {
  TrainingPlan plan = llama_plan();
  const auto head = [&] {
    return head_seconds(plan, a_device(), unknown_links(plan.layout)).forward.memory_s;
  };
  const double fused = head();
  plan.fused_loss = false;
  EXPECT_NEAR((head() - fused) * kBandwidth, (38 - 18) * kTokens * 32000, 1);
}

TEST(FrameworkKernels, FlashAttention2IsTheSlowerKernel) {
  TrainingPlan plan = llama_plan();
  const UnitSeconds best = layer(plan);
  plan.attention = AttentionKernel::Flash2;
  EXPECT_DOUBLE_EQ(layer(plan).forward.attention_s, 2 * best.forward.attention_s);
  EXPECT_DOUBLE_EQ(layer(plan).input.attention_s, 2 * best.input.attention_s);
  plan.attention = AttentionKernel::Flash1;  // not measured: as the second
  EXPECT_DOUBLE_EQ(layer(plan).forward.attention_s, 2 * best.forward.attention_s);
}

// Two gathers and two scatters of s·h values; 8-bit operands halve the gathers.
TEST(FrameworkKernels, SmallGathersHalveWhatIsGathered) {
  TrainingPlan plan = llama_plan();
  plan.layout.tensor = 8;
  plan.layout.sequence_parallel = true;
  const ClusterLinks links = eight_links(plan.layout);
  const double whole = layer(plan, links).forward.tensor_s;
  plan.small_gathers = true;
  EXPECT_DOUBLE_EQ(layer(plan, links).forward.tensor_s, 0.75 * whole);
}

// The input gradient of three products is scattered after the last of them.
TEST(FrameworkKernels, SumsOfProductsAreScatteredUnhidden) {
  TrainingPlan plan = llama_plan();
  plan.layout.tensor = 8;
  plan.layout.sequence_parallel = true;
  const ClusterLinks links = eight_links(plan.layout);
  const double exposed = layer(plan, links).input.tensor_s;
  plan.communication.tensor = Exposure::Overlapped;
  EXPECT_LT(layer(plan, links).input.tensor_s, exposed / 2);
  plan.fused_projections = false;
  EXPECT_GE(layer(plan, links).input.tensor_s, exposed / 2);
}

TEST(FrameworkKernels, WeightsMayBeCastInEachForward) {
  TrainingPlan plan = llama_plan();
  plan.precision = Precision::Fp8;
  const UnitSeconds once = layer(plan);
  plan.weight_casts = true;
  const double weights =
      kHidden * (kHidden + 2 * 8 * 128) + kHidden * kHidden + 3 * kHidden * kInner;
  EXPECT_NEAR((layer(plan).forward.memory_s - once.forward.memory_s) * kBandwidth, 4 * weights, 1);
}

// Eight copies over four nodes: 3.6 nodes are met, 0.45 of the copies are the first of theirs.
TEST(FrameworkKernels, ATokenMayCrossToANodeOnce) {
  TrainingPlan plan = expert_plan();
  plan.model.experts.count = 64;
  plan.model.experts.active = 8;
  plan.layout.expert = 32;
  plan.layout.data = 32;
  ClusterLinks links = unknown_links(plan.layout);
  links.expert = group_of(32, 8, 24.0 / 32 / 5e10);
  const double plain = layer(plan, links, LayerKind::Experts).forward.expert_s;
  plan.dispatch_once = true;
  EXPECT_NEAR(layer(plan, links, LayerKind::Experts).forward.expert_s / plain,
              4 * (1 - std::pow(0.75, 8)) / 8, 1e-9);
  EXPECT_EQ(crossing_share(group_of(8, 8, 7.0 / 8 / 1e11), 8), 1);
}

TEST(FrameworkKernels, FusedExpertsKeepTheirPointwiseWorkInsideTheProducts) {
  TrainingPlan plan = expert_plan();
  const ClusterLinks links = unknown_links(plan.layout);
  const UnitSeconds apart = layer(plan, links, LayerKind::Experts);
  plan.fused_experts = true;
  const UnitSeconds fused = layer(plan, links, LayerKind::Experts);
  EXPECT_DOUBLE_EQ(fused.forward.matmul_s, apart.forward.matmul_s);
  EXPECT_LT(fused.forward.memory_s, apart.forward.memory_s);
  EXPECT_LT(fused.input.memory_s, apart.input.memory_s);
}

TEST(FrameworkKernels, FractionsMayBeOfAPeakThatTheCatalogueLacks) {
  Accelerator accelerator = an_accelerator();
  accelerator.figures[static_cast<std::size_t>(Property::PeakBf16)] = std::nullopt;
  EXPECT_FALSE(device_model(accelerator, facts()));
  KernelFacts with_peak = facts();
  with_peak.peak[0] = figure(989e12);
  const DeviceModel device = device_model(accelerator, with_peak).value();
  EXPECT_EQ(device.peak[0], 989e12);
  ASSERT_FALSE(device.notes.empty());
  EXPECT_NE(device.notes.front().find("no peak of x1 is published"), std::string::npos);
}

/// Nobody measured the products of a model on it, but a sweep found its best shape.
TEST(FrameworkKernels, AGuessStaysBelowWhatWasMeasured) {
  Accelerator accelerator = an_accelerator();
  EXPECT_DOUBLE_EQ(device_model(accelerator, {})->matmul[0], 0.6);
  accelerator.figures[static_cast<std::size_t>(Property::BestMatmulBf16)] = figure(150e12);
  const DeviceModel device = device_model(accelerator, {}).value();
  EXPECT_DOUBLE_EQ(device.matmul[0], 0.85 * 0.5);
  EXPECT_DOUBLE_EQ(device.attention_forward[0], device.matmul[0]);
  EXPECT_TRUE(std::any_of(device.notes.begin(), device.notes.end(), [](const std::string& note) {
    return note.find("0.425 is taken (a guess)") != std::string::npos;
  }));
}

/// What 8-bit products would reach is no news of a run in 16 bits.
TEST(FrameworkKernels, OnlyThePrecisionInUseIsWarnedOf) {
  TrainingPlan plan = llama_plan();
  plan.stages = {{0, true, plan.model.layers, 0, true}};
  const auto warned = [&](Precision precision) {
    plan.precision = precision;
    const PlanMachine machine =
        uniform_machine(device_model(an_accelerator(), {}).value(), unknown_links(plan.layout), 1);
    const auto warnings = derive(plan, machine, loop_placement({1, 1, 1}))->warnings;
    return std::any_of(warnings.begin(), warnings.end(), [](const std::string& warning) {
      return warning.find("8-bit matrix") != std::string::npos;
    });
  };
  EXPECT_FALSE(warned(Precision::Bf16));
  EXPECT_TRUE(warned(Precision::Fp8));
}

}  // namespace
}  // namespace pipecast
