#include "sim/cost/activation.hpp"

#include <gtest/gtest.h>

namespace pipecast {
namespace {

struct Setting {
  const char* name;
  int layers, hidden, heads, microbatch, tensor;
};

/// Korthikanti et al. 2022, table 3.
constexpr Setting kSettings[] = {{"22B", 48, 6144, 64, 4, 8},
                                 {"175B", 96, 12288, 96, 1, 8},
                                 {"530B", 105, 20480, 128, 1, 8},
                                 {"1T", 128, 25600, 160, 1, 8}};

TransformerModel gpt(const Setting& setting) {
  TransformerModel model;
  model.layers = setting.layers;
  model.hidden = setting.hidden;
  model.heads = model.key_value_heads = setting.heads;
  model.head_width = setting.hidden / setting.heads;
  model.feed_forward = 4 * setting.hidden;
  model.vocabulary = 51200;
  model.max_position = 2048;
  model.gated = false;
  model.norm = Norm::LayerNorm;
  return model;
}

constexpr KernelChoice kMegatron2022{.fused_attention = false, .dropout = true};

TEST(Activation, IsKorthikantisFormulaForEverySetting) {
  for (const Setting& setting : kSettings) {
    const TransformerModel model = gpt(setting);
    const double s = 2048, b = setting.microbatch, h = setting.hidden, a = setting.heads,
                 t = setting.tensor;
    ParallelLayout layout;
    layout.microbatch_size = setting.microbatch;
    const auto held = [&] {
      return layer_activation(model, layout, kMegatron2022, LayerKind::Dense).held().value;
    };
    EXPECT_DOUBLE_EQ(held(), s * b * h * (34 + 5 * a * s / h)) << setting.name;
    layout.tensor = setting.tensor;
    EXPECT_DOUBLE_EQ(held(), s * b * h * (10 + 24 / t + 5 * a * s / (h * t))) << setting.name;
    layout.recompute = Recompute::Selective;
    EXPECT_DOUBLE_EQ(held(), s * b * h * (10 + 24 / t)) << setting.name;
    layout.sequence_parallel = true;
    EXPECT_DOUBLE_EQ(held(), s * b * h * 34 / t) << setting.name;
    layout.recompute = Recompute::None;
    EXPECT_DOUBLE_EQ(held(), s * b * h / t * (34 + 5 * a * s / h)) << setting.name;
    layout.recompute = Recompute::Full;
    EXPECT_DOUBLE_EQ(held(), 2 * s * b * h / t) << setting.name;
  }
}

TEST(Activation, TheWeightGradientNeedsThirtyTwoOfThirtyFour) {
  const TransformerModel model = gpt(kSettings[1]);
  const LayerActivation layer = layer_activation(model, {}, kMegatron2022, LayerKind::Dense);
  EXPECT_EQ(layer.held_for_weight_gradient().value, 32.0 * 2048 * model.hidden);
}

TEST(Activation, KeyValueCacheOfLlama2Is320KiBPerToken) {
  TransformerModel model;
  model.layers = 80;
  model.heads = 64;
  model.key_value_heads = 8;
  model.head_width = 128;
  EXPECT_EQ(key_value_bytes_per_token(model, 2).value, 320 * 1024);
}

}  // namespace
}  // namespace pipecast
