#include "sim/cost/memory.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace pipecast {
namespace {

/// GPT-3 175B as Korthikanti et al. 2022 lay it out: 8 ways tensor parallel, 8 stages.
TransformerModel gpt3() {
  TransformerModel model;
  model.layers = 96;
  model.hidden = 12288;
  model.heads = model.key_value_heads = 96;
  model.head_width = 128;
  model.feed_forward = 4 * model.hidden;
  model.vocabulary = 51200;
  model.max_position = 2048;
  model.gated = false;
  model.linear_bias = true;
  model.norm = Norm::LayerNorm;
  model.position = Position::Learned;
  return model;
}

ParallelLayout layout_of(int pipeline, int chunks) {
  ParallelLayout layout;
  layout.tensor = 8;
  layout.sequence_parallel = true;
  layout.pipeline = pipeline;
  layout.chunks = chunks;
  layout.global_batch = 64;
  return layout;
}

KernelChoice paper_kernels() {
  KernelChoice kernels;
  kernels.fused_attention = false;
  kernels.dropout = true;
  return kernels;
}

double activations(const StageFootprint& stage) {
  double bytes = 0;
  for (const MemoryPart part :
       {MemoryPart::Norms, MemoryPart::AttentionInputs, MemoryPart::AttentionCore,
        MemoryPart::AttentionOutput, MemoryPart::FeedForward})
    bytes += stage.held[part];
  return bytes;
}

TEST(Memory, FirstStageOfOneForwardOneBackwardHoldsTheWholeModelsActivations) {
  const TransformerModel model = gpt3();
  const ParallelLayout layout = layout_of(8, 1);
  const auto stages = split_layers(model, layout, {});
  ASSERT_TRUE(stages);
  const auto footprints = stage_footprints(model, layout, *stages, paper_kernels(), {});
  const double sbh = 2048.0 * 12288;
  const double formula = sbh * 96 / 8 * (34 + 5.0 * 96 * 2048 / 12288);
  EXPECT_NEAR(8 * activations(footprints[0]) / formula, 1, 1e-12);
}

TEST(Memory, InterleavingMultipliesTheFirstStageByOnePlusPMinusOneOverPv) {
  const TransformerModel model = gpt3();
  const int p = 8;
  const int v = 3;
  const ParallelLayout layout = layout_of(p, v);
  const auto stages = split_layers(model, layout, {});
  ASSERT_TRUE(stages);
  const auto footprints = stage_footprints(model, layout, *stages, paper_kernels(), {});
  // p·v + p − 1 chunk activations are alive on the first rank.
  const double alive = p * v + p - 1;
  const double formula =
      2048.0 * 12288 * 96 / 8 * (34 + 5.0 * 96 * 2048 / 12288) * (1 + (p - 1.0) / (p * v));
  EXPECT_NEAR(alive * activations(footprints[0]) / formula, 1, 1e-12);
}

TEST(Memory, ZeroDividesStateByStage) {
  const TransformerModel model = gpt3();
  ParallelLayout layout = layout_of(8, 1);
  layout.data = 4;
  const auto stages = split_layers(model, layout, {});
  ASSERT_TRUE(stages);
  double weights[4];
  double gradients[4];
  double optimizer[4];
  for (int zero = 0; zero <= 3; ++zero) {
    layout.zero = zero;
    const auto stage = stage_footprints(model, layout, *stages, {}, {})[1];
    weights[zero] = stage.fixed[MemoryPart::Weights];
    gradients[zero] = stage.fixed[MemoryPart::Gradients];
    optimizer[zero] = stage.fixed[MemoryPart::Optimizer];
  }
  EXPECT_DOUBLE_EQ(optimizer[0] / optimizer[1], 4);
  EXPECT_DOUBLE_EQ(gradients[1] / gradients[2], 4);
  EXPECT_DOUBLE_EQ(weights[2] / weights[3], 4);
  EXPECT_DOUBLE_EQ(weights[0], weights[2]);
  const double parameters = device_parameters(model, layout, (*stages)[1], {12, 0}).dense;
  EXPECT_DOUBLE_EQ(weights[0] + gradients[0] + optimizer[0], 18 * parameters);
}

TEST(Memory, DeviceParametersOfAllStagesAreTheModel) {
  TransformerModel model = gpt3();
  model.tied_embeddings = false;
  ParallelLayout layout;
  layout.pipeline = 8;
  layout.global_batch = 8;
  const auto stages = split_layers(model, layout, {});
  ASSERT_TRUE(stages);
  double sum = 0;
  LayersBefore before;
  for (const StageLayers& stage : *stages) {
    sum += device_parameters(model, layout, stage, before).dense;
    before += stage;
  }
  EXPECT_DOUBLE_EQ(sum, total_parameters(model));
}

TEST(Memory, RanksThatDoNotFitAreSaidSo) {
  const TransformerModel model = gpt3();
  const ParallelLayout layout = layout_of(8, 1);
  const auto stages = split_layers(model, layout, {});
  const MemoryRules rules;
  const auto footprints = stage_footprints(model, layout, *stages, {}, rules);
  const double in_flight[] = {8};
  const std::span<const StageFootprint> first(footprints.data(), 1);
  const Bytes gib80{80.0 * 1024 * 1024 * 1024};
  const RankFootprint rank = rank_footprint(first, in_flight, rules, gib80);
  EXPECT_NEAR(rank.peak.value * 1.05 + rules.outside.value, rank.needed.value, 1);
  EXPECT_EQ(rank.fits, rank.needed.value <= gib80.value);
  EXPECT_FALSE(rank_footprint(first, in_flight, rules, {1e9}).fits);
  EXPECT_TRUE(rank_footprint(first, in_flight, rules, {}).fits);
}

TEST(Memory, OffloadingTradesActivationsForTraffic) {
  const TransformerModel model = gpt3();
  const ParallelLayout layout = layout_of(8, 1);
  const auto stages = split_layers(model, layout, {});
  MemoryRules rules;
  const double in_flight[] = {8};
  const auto kept = stage_footprints(model, layout, *stages, {}, rules);
  rules.offload = 0.75;
  const auto moved = stage_footprints(model, layout, *stages, {}, rules);
  const double held = kept[0].held.total();
  EXPECT_DOUBLE_EQ(moved[0].offloaded.value, 0.75 * held);
  const auto peak = [&](const std::vector<StageFootprint>& all) {
    return rank_footprint(std::span(all.data(), 1), in_flight, rules, {}).peak.value;
  };
  // Six of eight microbatches' worth leave, two are on their way.
  EXPECT_NEAR(peak(kept) - peak(moved), 0.75 * held * 6, 1e-6 * held);
}

TEST(Memory, LayersThatShareACheckpointKeepOneInput) {
  const TransformerModel model = gpt3();
  ParallelLayout layout = layout_of(8, 1);
  layout.recompute = Recompute::Full;
  const auto stages = split_layers(model, layout, {});
  ASSERT_TRUE(stages);
  MemoryRules rules;
  const auto each = stage_footprints(model, layout, *stages, {}, rules);
  rules.layers_per_checkpoint = 2;
  const auto pairs = stage_footprints(model, layout, *stages, {}, rules);
  const StageFootprint& one = each[1];
  const StageFootprint& two = pairs[1];
  EXPECT_EQ(two.held[MemoryPart::Norms], one.held[MemoryPart::Norms] / 2);
  const double layer = layer_working_set(model, layout, {}, LayerKind::Dense).held().value;
  EXPECT_NEAR(two.backward[MemoryPart::Working] - one.backward[MemoryPart::Working], layer,
              1e-9 * layer);
}

}  // namespace
}  // namespace pipecast
