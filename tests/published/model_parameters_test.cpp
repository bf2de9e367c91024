// Parameter counts of 46 published transformers, to the last parameter.
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "sim/cost/transformer.hpp"
#include "sim/read/model_shape.hpp"
#include "tests/support/csv_table.hpp"

namespace pipecast {
namespace {

TransformerModel model_of(const test::CsvRow& row) {
  TransformerModel model;
  model.name = row.text("name");
  model.layers = row.integer("layers");
  model.hidden = row.integer("hidden");
  model.heads = row.integer("heads");
  model.key_value_heads = row.integer("key_value_heads");
  model.head_width = row.integer("head_width");
  model.feed_forward = row.integer("feed_forward");
  model.vocabulary = row.integer("vocabulary");
  model.max_position = row.integer("max_position");
  model.norm = row.text("norm") == "layernorm" ? Norm::LayerNorm : Norm::RmsNorm;
  model.position = row.text("position") == "learned" ? Position::Learned : Position::Rope;
  model.gated = row.integer("gated") != 0;
  model.linear_bias = row.integer("linear_bias") != 0;
  model.qkv_bias = row.integer("qkv_bias") != 0;
  model.query_key_norm = row.integer("query_key_norm") != 0;
  model.tied_embeddings = row.integer("tied") != 0;
  model.embedding_norm = row.integer("embedding_norm") != 0;
  std::istringstream latent(row.text("mla"));
  latent >> model.latent.query_rank >> model.latent.key_value_rank >>
      model.latent.nope_head_width >> model.latent.rope_head_width >> model.latent.value_head_width;
  std::istringstream experts(row.text("moe"));
  experts >> model.experts.count >> model.experts.active >> model.experts.width >>
      model.experts.shared >> model.experts.dense_layers_first >> model.experts.router_bias;
  return model;
}

TEST(ModelParameters, AgreeWithThePublishedCounts) {
  const auto rows =
      test::read_csv_table(std::string(PIPECAST_TEST_DIR) + "/published/data/model_parameters.csv");
  ASSERT_EQ(rows.size(), 46U);
  for (const test::CsvRow& row : rows) {
    const TransformerModel model = model_of(row);
    EXPECT_TRUE(check(model).empty()) << model.name;
    EXPECT_EQ(total_parameters(model), row.number("total")) << model.name;
    if (row.text("active") != "-") {
      EXPECT_EQ(active_parameters(model), row.number("active")) << model.name;
    }
    // Published totals are rounded, some to two digits.
    if (row.text("published") != "-") {
      EXPECT_NEAR(total_parameters(model) / row.number("published"), 1.0, 0.01) << model.name;
    }
  }
}

TEST(ModelParameters, ThePresetsAreThoseModels) {
  const auto rows =
      test::read_csv_table(std::string(PIPECAST_TEST_DIR) + "/published/data/model_parameters.csv");
  const std::vector<std::string> folders{std::string(PIPECAST_SOURCE_DIR) + "/platforms"};
  EXPECT_GE(model_preset_names(folders).size(), rows.size());
  for (const test::CsvRow& row : rows) {
    const Result<ModelShape> preset = find_model_preset(row.text("name"), folders);
    ASSERT_TRUE(preset) << render(preset.error());
    EXPECT_EQ(total_parameters(preset->model), row.number("total")) << row.text("name");
    EXPECT_FALSE(preset->sources.empty()) << row.text("name");
  }
  for (const std::string& name : model_preset_names(folders)) {
    const Result<ModelShape> preset = find_model_preset(name, folders);
    EXPECT_TRUE(preset) << render(preset.error());
  }
}

TEST(ModelParameters, FlopsOfGpt3AreTheFormulaOfItsLayers) {
  // 72 B L s h² (1 + s/(6h) + V/(12 h L)) per step of B sequences (Korthikanti et al. 2022), biases
  // aside.
  TransformerModel model;
  model.layers = 96;
  model.hidden = 12288;
  model.heads = model.key_value_heads = 96;
  model.head_width = 128;
  model.feed_forward = 4 * model.hidden;
  model.vocabulary = 51200;
  model.gated = false;
  const double s = 2048;
  const double h = model.hidden;
  const double formula =
      72.0 * model.layers * h * h * (1 + s / (6 * h) + model.vocabulary / (12 * h * model.layers));
  EXPECT_NEAR(model_flops_per_token(model, 2048, CausalCredit::Full) / formula, 1.0, 1e-12);
}

}  // namespace
}  // namespace pipecast
