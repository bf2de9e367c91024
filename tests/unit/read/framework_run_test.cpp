#include "sim/read/framework_run.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace pipecast {
namespace {

FrameworkHints hints(int devices, int vocabulary = 0) {
  FrameworkHints result;
  result.devices = devices;
  if (vocabulary > 0) result.vocabulary = vocabulary;
  return result;
}

std::string complaint(const Result<FrameworkRun>& run) {
  return run ? std::string{} : render(run.error());
}

constexpr const char* kScript = R"(#!/bin/bash
TP=4   # tensor
PP=${PP:-8}
GPT_ARGS=(
    --num-layers 62 --hidden-size 8192 \
    --num-attention-heads 64 --group-query-attention --num-query-groups 8
    --ffn-hidden-size=28672 --swiglu --disable-bias-linear --normalization RMSNorm
    --untie-embeddings-and-output-weights --position-embedding-type rope
    --seq-length 4096 --max-position-embeddings 4096
)
torchrun --nproc_per_node 8 --nnodes 16 pretrain_gpt.py ${GPT_ARGS[@]} \
    --tensor-model-parallel-size $TP --pipeline-model-parallel-size "$PP" --sequence-parallel \
    --account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split \
    --num-virtual-stages-per-pipeline-rank 2 \
    --micro-batch-size 1 --global-batch-size 128 --use-distributed-optimizer \
    --overlap-grad-reduce --recompute-granularity selective --bf16
)";

TEST(MegatronArguments, AShellScript) {
  const auto run = read_megatron_arguments(kScript, "run.sh", hints(128, 128256));
  ASSERT_TRUE(run) << complaint(run);
  EXPECT_EQ(run->layout.tensor, 4);
  EXPECT_EQ(run->layout.pipeline, 8);
  EXPECT_EQ(run->layout.chunks, 2);
  EXPECT_EQ(run->layout.data, 4);
  EXPECT_EQ(run->microbatches, 32);
  EXPECT_EQ(run->layout.zero, 1);
  EXPECT_TRUE(run->layout.sequence_parallel);
  EXPECT_EQ(run->layout.recompute, Recompute::Selective);
  EXPECT_EQ(run->schedule, "interleaved-1f1b");
  ASSERT_TRUE(run->model);
  EXPECT_EQ(run->model->vocabulary, 128512);  // padded to a multiple of 128 × tensor
  const auto stages = stages_of(*run);
  ASSERT_TRUE(stages) << render(stages.error());
  EXPECT_EQ(stages->size(), 16U);
  EXPECT_EQ(stages->front().layers, 3);
}

TEST(MegatronArguments, TheLayoutStringGivesTheVirtualStages) {
  const auto run = read_megatron_arguments(
      "--pipeline-model-parallel-size 8 --micro-batch-size 1 --global-batch-size 256\n"
      "--pipeline-model-parallel-layout \"Ett|(ttt|)*14,ttL\"",
      "run.sh", hints(8));
  ASSERT_TRUE(run) << complaint(run);
  EXPECT_EQ(run->layout.chunks, 2);
  EXPECT_EQ(run->microbatches, 256);
}

TEST(MegatronArguments, ASavedNamespaceAndAPrintedTable) {
  const auto space = read_megatron_arguments(
      "Namespace(tensor_model_parallel_size=2, pipeline_model_parallel_size=4, fp16=False, "
      "recompute_granularity='full', micro_batch_size=2, global_batch_size=64, world_size=16)",
      "args.txt");
  ASSERT_TRUE(space) << complaint(space);
  EXPECT_EQ(space->layout.data, 2);
  EXPECT_EQ(space->microbatches, 16);
  EXPECT_EQ(space->layout.recompute, Recompute::Full);
  const auto table = read_megatron_arguments(
      "  tensor_model_parallel_size ...................... 2\n"
      "  world_size ...................................... 16\n"
      "  sequence_parallel ............................... False\n",
      "log.txt");
  ASSERT_TRUE(table) << complaint(table);
  EXPECT_EQ(table->layout.tensor, 2);
  EXPECT_EQ(table->layout.data, 8);
}

TEST(MegatronArguments, BatchesThatDoNotDivideNameTheNearest) {
  const auto run = read_megatron_arguments(
      "--pipeline-model-parallel-size 2 --micro-batch-size 4 --global-batch-size 50 --bf16",
      "run.sh", hints(8));
  ASSERT_FALSE(run);
  EXPECT_NE(complaint(run).find("48 or 64"), std::string::npos) << complaint(run);
  const auto devices = read_megatron_arguments(
      "--tensor-model-parallel-size 4 --pipeline-model-parallel-size 4", "run.sh", hints(40));
  ASSERT_FALSE(devices);
  EXPECT_NE(complaint(devices).find("32 or 48"), std::string::npos) << complaint(devices);
}

TEST(MegatronArguments, InterleavedMicrobatchesMustFillGroups) {
  const auto run = read_megatron_arguments(
      "--num-layers 16 --pipeline-model-parallel-size 4 --num-layers-per-virtual-pipeline-stage 2 "
      "--global-batch-size 6",
      "run.sh", hints(4));
  ASSERT_FALSE(run);
  EXPECT_NE(complaint(run).find("nearest: 4 or 8"), std::string::npos) << complaint(run);
}

TEST(MegatronArguments, WhatIsWrongHasItsPlace) {
  const auto run =
      read_megatron_arguments("--micro-batch-size 1\n--seq-length $((2*1024))", "run.sh", hints(1));
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error()[0].where.line, 2);
  EXPECT_NE(complaint(read_megatron_arguments("nothing here", "run.sh")).find("no Megatron"),
            std::string::npos);
}

TEST(MegatronArguments, ArgumentsThatAreNotUnderstoodAreNoted) {
  const auto run = read_megatron_arguments("--micro-batch-size 1 --moe-strange-thing 4", "run.sh");
  ASSERT_TRUE(run) << complaint(run);
  const auto mentions = [&](const std::string& note) {
    return note.find("moe-strange-thing") != std::string::npos;
  };
  EXPECT_TRUE(std::any_of(run->notes.begin(), run->notes.end(), mentions));
}

TEST(MegatronArguments, WhatWeWriteReadsBackTheSame) {
  const auto run = read_megatron_arguments(kScript, "run.sh", hints(128, 128256));
  ASSERT_TRUE(run);
  const auto text = write_megatron_arguments(*run);
  ASSERT_TRUE(text);
  const auto again = read_megatron_arguments(*text, "again.sh");
  ASSERT_TRUE(again) << complaint(again) << *text;
  EXPECT_EQ(again->layout, run->layout);
  EXPECT_EQ(again->model, run->model);
  EXPECT_EQ(again->split.count_embedding, run->split.count_embedding);
  EXPECT_EQ(again->split.count_head, run->split.count_head);
  EXPECT_EQ(again->microbatches, run->microbatches);
  EXPECT_EQ(write_megatron_arguments(*again), text);
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

TEST(FrameworkRun, TheFrameworkIsGuessed) {
  EXPECT_EQ(guess_framework("--a 1", "x"), Framework::Megatron);
  EXPECT_EQ(guess_framework(" {\"train_batch_size\": 1}", "x"), Framework::Deepspeed);
  EXPECT_EQ(guess_framework("{\"parallelism\": {}}", "x"), Framework::Torchtitan);
  EXPECT_EQ(guess_framework("[training]", "x.toml"), Framework::Torchtitan);
}

}  // namespace
}  // namespace pipecast
