#include "sim/cost/layout.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace pipecast {
namespace {

TransformerModel small_model(int layers) {
  TransformerModel model;
  model.name = "small";
  model.layers = layers;
  model.hidden = 1024;
  model.heads = 16;
  model.key_value_heads = 8;
  model.head_width = 64;
  model.feed_forward = 4096;
  model.vocabulary = 32000;
  return model;
}

ParallelLayout pipeline(int ranks, int chunks) {
  ParallelLayout layout;
  layout.pipeline = ranks;
  layout.chunks = chunks;
  return layout;
}

TEST(Layout, MicrobatchesDoNotCountThePipeline) {
  ParallelLayout layout = pipeline(16, 1);
  layout.data = 8;
  layout.microbatch_size = 2;
  layout.global_batch = 256;
  EXPECT_EQ(microbatches(layout).value(), 16);
  layout.global_batch = 250;
  EXPECT_EQ(microbatches(layout).error().front().hint, "nearest global batches: 240 or 256");
}

TEST(Layout, SplitsEvenlyOrSaysWhatWould) {
  const auto even = split_layers(small_model(24), pipeline(4, 2), {});
  ASSERT_TRUE(even);
  EXPECT_EQ(layout_string(*even), "Ettt|ttt|ttt|ttt|ttt|ttt|ttt|tttL");
  const auto uneven = split_layers(small_model(22), pipeline(4, 2), {});
  ASSERT_FALSE(uneven);
  EXPECT_NE(uneven.error().front().hint.find("layers that do: 16 or 24"), std::string::npos);
}

TEST(Layout, CountsEmbeddingAndHeadAsLayers) {
  // Zero-bubble paper: 22 layers on 8 stages, the first and the last hold one less.
  SplitRule rule;
  rule.count_embedding = rule.count_head = true;
  const auto stages = split_layers(small_model(22), pipeline(8, 1), rule);
  ASSERT_TRUE(stages) << render(stages.error());
  EXPECT_EQ(layout_string(*stages), "Ett|ttt|ttt|ttt|ttt|ttt|ttt|ttL");
}

TEST(Layout, TakesFirstAndLastCounts) {
  SplitRule rule;
  rule.first_stage_layers = 7;
  rule.last_stage_layers = 7;
  const auto stages = split_layers(small_model(126), pipeline(16, 1), rule);
  ASSERT_TRUE(stages) << render(stages.error());
  EXPECT_EQ(stages->at(0).layers, 7);
  EXPECT_EQ(stages->at(1).layers, 8);
}

TEST(Layout, ReadsMegatronsStrings) {
  const auto deepseek = parse_layout_string("Et*3|(tt|)*29,m|L");
  ASSERT_TRUE(deepseek);
  EXPECT_EQ(deepseek->size(), 32U);
  EXPECT_EQ(deepseek->front().layers, 3);
  EXPECT_EQ(deepseek->at(30).mtp, 1);
  EXPECT_TRUE(deepseek->back().head);
  EXPECT_EQ(deepseek->back().layers, 0);
  EXPECT_EQ(parse_layout_string(layout_string(*deepseek)).value(), *deepseek);
  EXPECT_EQ(parse_layout_string("Ett|(ttt|)*14,ttL")->size(), 16U);
}

TEST(Layout, RefusesBrokenStringsWithTheirColumn) {
  EXPECT_EQ(parse_layout_string("Et|x").error().front().where.column, 4);
  EXPECT_EQ(parse_layout_string("E(tt").error().front().message,
            "layout string: '(' is never closed");
  EXPECT_EQ(parse_layout_string("Ett)L").error().front().message, "layout string: ')' without '('");
  EXPECT_FALSE(parse_layout_string("t*0"));
  EXPECT_FALSE(parse_layout_string("((t*9999)*9999)*9999"));
}

TEST(Layout, BalancesBySeconds) {
  const std::vector<double> layers(10, 1.0);
  const auto stages = balanced_split({layers, 0.0, 2.5}, 0, 4);
  double largest = 0;
  int total = 0;
  for (const StageLayers& stage : stages) {
    largest = std::max(largest, stage.layers + (stage.head ? 2.5 : 0.0));
    total += stage.layers;
  }
  EXPECT_EQ(total, 10);
  EXPECT_EQ(largest, 3.5);  // 3 + 3 + 3 + (1 + 2.5)
}

TEST(Layout, BalanceIsOptimalAgainstExhaustion) {
  for (int seed = 1; seed <= 30; ++seed) {
    std::vector<double> layers;
    for (int i = 0; i < 7; ++i) layers.push_back(1 + (seed * 7 + i * 5) % 11);
    const double embedding = seed % 3;
    const double head = seed % 5;
    double best = INFINITY;
    for (int a = 0; a <= 7; ++a)
      for (int b = a; b <= 7; ++b) {
        double sums[3] = {embedding, 0, head};
        for (int i = 0; i < 7; ++i)
          sums[i < a ? 0 : i < b ? 1 : 2] += layers[static_cast<std::size_t>(i)];
        best = std::min(best, *std::max_element(sums, sums + 3));
      }
    const auto stages = balanced_split({layers, embedding, head}, 0, 3);
    double sums[3] = {embedding, 0, head};
    std::size_t layer = 0;
    for (std::size_t k = 0; k < 3; ++k)
      for (int i = 0; i < stages[k].layers; ++i) sums[k] += layers[layer++];
    EXPECT_EQ(*std::max_element(sums, sums + 3), best) << "seed " << seed;
  }
}

TEST(Layout, NamesEveryDegreeThatDoesNotFit) {
  ParallelLayout layout = pipeline(2, 1);
  layout.tensor = 3;
  layout.expert = 2;
  const std::string text = render(check(layout, small_model(4)));
  EXPECT_NE(text.find("the number of heads is 16 and does not divide by tensor 3"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("nearest: 15 or 18"), std::string::npos) << text;
  EXPECT_NE(text.find("small is dense"), std::string::npos) << text;
}

}  // namespace
}  // namespace pipecast
