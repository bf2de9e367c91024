#include <gtest/gtest.h>

#include <algorithm>

#include "sim/read/framework_run.hpp"

namespace pipecast {
namespace {

FrameworkHints hints(int devices) {
  FrameworkHints result;
  result.devices = devices;
  return result;
}

std::string complaint(const Result<FrameworkRun>& run) {
  return run ? std::string{} : render(run.error());
}

bool notes_mention(const FrameworkRun& run, const std::string& words) {
  return std::any_of(run.notes.begin(), run.notes.end(), [&](const std::string& note) {
    return note.find(words) != std::string::npos;
  });
}

TEST(DeepspeedConfig, TwoNumbersImplyTheThird) {
  FrameworkHints given = hints(64);
  given.stages = 8;
  for (const char* text :
       {R"({"train_batch_size":256,"train_micro_batch_size_per_gpu":1,
            "gradient_accumulation_steps":32})",
        R"({"train_batch_size":256,"train_micro_batch_size_per_gpu":1})",
        R"({"train_batch_size":256,"gradient_accumulation_steps":32})",
        R"({"train_micro_batch_size_per_gpu":1,"gradient_accumulation_steps":32})"}) {
    const auto run = read_deepspeed_config(text, "ds.json", given);
    ASSERT_TRUE(run) << text << complaint(run);
    EXPECT_EQ(run->layout.global_batch, 256) << text;
    EXPECT_EQ(run->microbatches, 32) << text;
    EXPECT_EQ(run->layout.microbatch_size, 1) << text;
    EXPECT_EQ(run->layout.data, 8) << text;
  }
}

TEST(DeepspeedConfig, WithoutDevicesTheBatchGivesTheReplicas) {
  const auto run = read_deepspeed_config(
      R"({"train_batch_size":256,"train_micro_batch_size_per_gpu":1,
          "gradient_accumulation_steps":32,"bf16":{"enabled":true},
          "zero_optimization":{"stage":1},
          "pipeline":{"stages":8,"partition":"best","activation_checkpoint_interval":1}})",
      "ds.json");
  ASSERT_TRUE(run) << complaint(run);
  EXPECT_EQ(run->layout.data, 8);
  EXPECT_EQ(run->layout.pipeline, 8);
  EXPECT_EQ(run->layout.zero, 1);
  EXPECT_EQ(run->layout.recompute, Recompute::Full);
}

TEST(DeepspeedConfig, NumbersThatDisagreeAreRefused) {
  const auto run = read_deepspeed_config(
      R"({"train_batch_size":100,"train_micro_batch_size_per_gpu":3,
          "gradient_accumulation_steps":8})",
      "ds.json");
  ASSERT_FALSE(run);
  EXPECT_NE(complaint(run).find("96 or 120"), std::string::npos) << complaint(run);
  const auto zero = read_deepspeed_config(
      R"({"train_batch_size":8,"train_micro_batch_size_per_gpu":1,"pipeline":{"stages":4},
          "zero_optimization":{"stage":3}})",
      "ds.json");
  ASSERT_FALSE(zero);
  EXPECT_NE(complaint(zero).find("takes 0 or 1"), std::string::npos);
}

TEST(DeepspeedConfig, WhatWeWriteReadsBackTheSame) {
  FrameworkHints given = hints(64);
  given.stages = 8;
  const auto run = read_deepspeed_config(
      R"({"train_batch_size":256,"train_micro_batch_size_per_gpu":2,"fp16":{"enabled":true},
          "zero_optimization":{"stage":1}})",
      "ds.json", given);
  ASSERT_TRUE(run) << complaint(run);
  const auto text = write_deepspeed_config(*run);
  ASSERT_TRUE(text);
  const auto again = read_deepspeed_config(*text, "again.json");
  ASSERT_TRUE(again) << complaint(again);
  EXPECT_EQ(again->layout, run->layout);
  EXPECT_EQ(again->precision, "fp16");
  EXPECT_EQ(again->microbatches, run->microbatches);
}

TEST(DeepspeedConfig, WhatItsEngineCannotDoIsNotWritten) {
  FrameworkRun run;
  run.schedule = "zb-h1";
  run.layout.pipeline = 4;
  run.layout.chunks = 2;
  run.layout.zero = 3;
  const auto text = write_deepspeed_config(run);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().size(), 3U);
}

TEST(DeepspeedConfig, LayersNeedNotDivideByTheStages) {
  FrameworkHints given = hints(8);
  given.stages = 8;
  given.sequence = 4096;
  given.model = TransformerModel{};
  given.model->layers = 70;
  given.model->hidden = 8;
  const auto run = read_deepspeed_config(
      R"({"train_batch_size":16,"train_micro_batch_size_per_gpu":1,"bf16":{"enabled":true},
          "pipeline":{"partition":"uniform"}})",
      "ds.json", given);
  ASSERT_TRUE(run) << complaint(run);
  EXPECT_EQ(run->layout.sequence, 4096);
  const auto stages = stages_of(*run);
  ASSERT_TRUE(stages) << render(stages.error());
  // 72 units of 9: the embedding and the head take the place of a layer.
  EXPECT_EQ(stages->front().layers, 8);
  EXPECT_EQ((*stages)[1].layers, 9);
  EXPECT_EQ(stages->back().layers, 8);
}

TEST(DeepspeedConfig, UnknownKeysAndTwoPrecisionsAreLoud) {
  const auto slip = read_deepspeed_config(
      R"({"train_batch_sise":16,"train_micro_batch_size_per_gpu":1})", "ds.json", hints(8));
  ASSERT_FALSE(slip);
  EXPECT_NE(complaint(slip).find("did you mean 'train_batch_size'"), std::string::npos);
  const auto both = read_deepspeed_config(
      R"({"train_micro_batch_size_per_gpu":1,"fp16":{"enabled":true},"bf16":{"enabled":true}})",
      "ds.json", hints(8));
  ASSERT_FALSE(both);
  EXPECT_NE(complaint(both).find("exclude each other"), std::string::npos);
  const auto host = read_deepspeed_config(
      R"({"train_micro_batch_size_per_gpu":1,"bf16":{"enabled":true},
          "activation_checkpointing":{"cpu_checkpointing":true},
          "pipeline":{"stages":2,"activation_checkpoint_interval":2}})",
      "ds.json", hints(8));
  ASSERT_TRUE(host) << complaint(host);
  EXPECT_EQ(host->memory.offload, 1);
  EXPECT_EQ(host->memory.layers_per_checkpoint, 2);
  EXPECT_TRUE(notes_mention(*host, "2048 tokens assumed"));
}

TEST(TorchtitanConfig, StagesNeedNotBeEqual) {
  FrameworkHints given = hints(4);
  given.model = TransformerModel{};
  given.model->layers = 80;
  const auto run = read_torchtitan_config(
      "[parallelism]\npipeline_parallel_degree = 4\n[training]\nseq_len = 8192\n", "run.toml",
      given);
  ASSERT_TRUE(run) << complaint(run);
  const auto stages = stages_of(*run);
  ASSERT_TRUE(stages) << render(stages.error());
  // 82 units: 21, 21, 20, 20, of which the embedding and the head are one each.
  std::vector<int> layers;
  for (const StageLayers& stage : *stages) layers.push_back(stage.layers);
  EXPECT_EQ(layers, (std::vector<int>{20, 21, 20, 19}));
}

TEST(TorchtitanConfig, ModulesOfEveryStage) {
  FrameworkHints given = hints(2);
  given.model = TransformerModel{};
  given.model->layers = 3;
  const auto run = read_torchtitan_config(
      R"({"parallelism": {"pipeline_parallel_degree": 2, "module_fqns_per_model_part":
          [["tok_embeddings", "layers.0"], ["layers.1", "layers.2", "norm", "output"]]}})",
      "run.json", given);
  ASSERT_TRUE(run) << complaint(run);
  EXPECT_EQ(run->layout_string, "Et|ttL");
}

TEST(TorchtitanConfig, ConvertersAndOverlapsAreRead) {
  const auto run = read_torchtitan_config(
      "[model]\nconverters = [\"float8\"]\n"
      "[parallelism]\nenable_async_tensor_parallel = true\n[compile]\nenable = true\n",
      "run.toml");
  ASSERT_TRUE(run) << complaint(run);
  EXPECT_EQ(run->precision, "fp8");
  EXPECT_TRUE(run->overlap_tensor);
  EXPECT_TRUE(notes_mention(*run, "compile"));
  const auto slip = read_torchtitan_config("[parallelsm]\nx = 1\n", "run.toml");
  ASSERT_FALSE(slip);
  EXPECT_NE(complaint(slip).find("did you mean 'parallelism'"), std::string::npos);
}

TEST(TorchtitanConfig, Toml) {
  FrameworkHints given = hints(64);
  given.model = TransformerModel{};
  given.model->layers = 30;
  const auto run = read_torchtitan_config(
      "[parallelism]\npipeline_parallel_degree = 4\n"
      "pipeline_parallel_schedule = \"Interleaved1F1B\"  # two chunks\n"
      "pipeline_parallel_layers_per_stage = 4\ntensor_parallel_degree = 2\n"
      "data_parallel_shard_degree = -1\n"
      "[training]\nlocal_batch_size = 16\nseq_len = 8_192\n",
      "run.toml", given);
  ASSERT_TRUE(run) << complaint(run);
  EXPECT_EQ(run->schedule, "interleaved-1f1b");
  EXPECT_EQ(run->layout.chunks, 2);
  EXPECT_EQ(run->layout.data, 8);
  EXPECT_EQ(run->microbatches, 16);
  EXPECT_EQ(run->layout.sequence, 8192);
}

TEST(TorchtitanConfig, SizeAndCountOfMicrobatchesAreTwoKeys) {
  const char* text = R"({"parallelism": {"pipeline_parallel_degree": 2, "num_pp_microbatches": 4,
      "pipeline_parallel_schedule": "gpipe"}, "training": {"local_batch_size": 16}})";
  const auto run = read_torchtitan_config(text, "run.json");
  ASSERT_TRUE(run) << complaint(run);
  EXPECT_EQ(run->layout.microbatch_size, 4);
  EXPECT_EQ(run->microbatches, 4);
  const auto odd = read_torchtitan_config(
      "[parallelism]\npipeline_parallel_degree = 2\npipeline_parallel_microbatch_size = 3\n"
      "[training]\nlocal_batch_size = 16\n",
      "run.toml");
  ASSERT_FALSE(odd);
  EXPECT_NE(complaint(odd).find("15 or 18"), std::string::npos) << complaint(odd);
}

TEST(TorchtitanConfig, FormErrorsHaveTheirLine) {
  for (const char* text : {"[parallelism\nx = 1", "a = ", "a = [1, 2", "a = \"x", "a = 1 2",
                           "a = 1\na = 2", "[[x]]\n", "= 3", "a = {b = 1"}) {
    const auto run = read_torchtitan_config(text, "run.toml");
    ASSERT_FALSE(run) << text;
    EXPECT_GT(run.error()[0].where.line, 0) << text;
  }
}

}  // namespace
}  // namespace pipecast
