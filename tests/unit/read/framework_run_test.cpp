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

bool notes_mention(const FrameworkRun& run, const std::string& words) {
  return std::any_of(run.notes.begin(), run.notes.end(), [&](const std::string& note) {
    return note.find(words) != std::string::npos;
  });
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

TEST(MegatronArguments, ADumpHasEveryArgumentInPythonsWords) {
  const auto run = read_megatron_arguments(
      "Namespace(attention_backend=<AttnBackend.unfused: 3>, bf16=True, add_bias_linear=True, "
      "use_precision_aware_optimizer=True, main_grads_dtype=torch.bfloat16, hidden_dropout=0.0, "
      "recompute_granularity='selective', recompute_modules=['core_attn', 'moe'], fp8='e4m3', "
      "fp8_recipe='blockwise', cuda_graph_impl='none', some_new_argument=3, world_size=8)",
      "args.txt");
  ASSERT_TRUE(run) << complaint(run);
  EXPECT_FALSE(run->kernels.fused_attention);
  EXPECT_EQ(run->memory.gradient_bytes, 2);
  EXPECT_EQ(run->precision, "fp8-blockwise");
  EXPECT_EQ(run->layout.recompute, Recompute::Selective);
  EXPECT_TRUE(notes_mention(*run, "--recompute-modules moe"));
  EXPECT_FALSE(notes_mention(*run, "cuda-graph-impl"));
  EXPECT_FALSE(notes_mention(*run, "some-new-argument"));
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
  const auto run = read_megatron_arguments(
      "--micro-batch-size 1 --moe-strange-thing 4 --fp8-param-gather --lr 1e-4 --log-progress",
      "run.sh");
  ASSERT_TRUE(run) << complaint(run);
  EXPECT_TRUE(notes_mention(*run, "moe-strange-thing"));
  EXPECT_TRUE(notes_mention(*run, "--fp8-param-gather: not modelled"));
  EXPECT_FALSE(notes_mention(*run, "--lr"));
}

TEST(MegatronArguments, ASlipOfThePenIsAFaultAtItsPlace) {
  const auto run = read_megatron_arguments("--micro-batch-size 1\n--tensor-model-parallel-siz 4",
                                           "run.sh", hints(4));
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error()[0].where.line, 2);
  EXPECT_NE(complaint(run).find("did you mean '--tensor-model-parallel-size'"), std::string::npos)
      << complaint(run);
}

TEST(MegatronArguments, OneFaultIsNotFollowedByWhatFollowsFromIt) {
  const auto batch = read_megatron_arguments(
      "--num-layers 16 --pipeline-model-parallel-size 4 --num-layers-per-virtual-pipeline-stage 2 "
      "--micro-batch-size 4 --global-batch-size 510",
      "run.sh", hints(4));
  ASSERT_FALSE(batch);
  EXPECT_EQ(batch.error().size(), 1U) << complaint(batch);
  const auto layers = read_megatron_arguments(
      "--num-layers eighty --pipeline-model-parallel-size 4 "
      "--num-layers-per-virtual-pipeline-stage 5",
      "run.sh", hints(4));
  ASSERT_FALSE(layers);
  EXPECT_EQ(layers.error().size(), 1U) << complaint(layers);
}

TEST(MegatronArguments, PrecisionsHaveTheirRecipes) {
  const auto precision = [](const std::string& words) {
    const auto run = read_megatron_arguments("--bf16 " + words, "run.sh");
    return run ? run->precision : complaint(run);
  };
  EXPECT_EQ(precision(""), "bf16");
  EXPECT_EQ(precision("--fp8-format hybrid"), "fp8");
  EXPECT_EQ(precision("--fp8-format hybrid --fp8-recipe tensorwise"), "fp8");
  EXPECT_EQ(precision("--fp8-format e4m3 --fp8-recipe blockwise"), "fp8-blockwise");
  EXPECT_EQ(precision("--fp8-format e4m3 --fp8-recipe mxfp8"), "mxfp8");
  EXPECT_EQ(precision("--fp4-format e2m1 --fp4-recipe nvfp4"), "nvfp4");
  EXPECT_NE(precision("--fp8-format hybrid --fp8-recipe blokwise").find("'blockwise'"),
            std::string::npos);
  const auto plain = read_megatron_arguments("--micro-batch-size 1", "run.sh");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->precision, "fp32");
  EXPECT_EQ(plain->memory.optimizer_bytes, 8);
}

TEST(MegatronArguments, TheOptimizerDecidesTheBytesOfAParameter) {
  const auto bytes = [](const std::string& words) {
    const auto run = read_megatron_arguments("--bf16 " + words, "run.sh", hints(8));
    EXPECT_TRUE(run) << complaint(run);
    return run ? std::pair(run->memory.gradient_bytes, run->memory.optimizer_bytes)
               : std::pair(0.0, 0.0);
  };
  EXPECT_EQ(bytes(""), std::pair(4.0, 12.0));
  EXPECT_EQ(bytes("--optimizer sgd"), std::pair(4.0, 8.0));
  EXPECT_EQ(bytes("--optimizer-cpu-offload"), std::pair(4.0, 0.0));
  EXPECT_EQ(bytes("--optimizer-cpu-offload --optimizer-offload-fraction 0.25"),
            std::pair(4.0, 9.0));
  // 16 bits that the weight lacks, and two moments.
  EXPECT_EQ(bytes("--use-precision-aware-optimizer --main-grads-dtype bf16 --exp-avg-dtype bf16 "
                  "--exp-avg-sq-dtype fp8"),
            std::pair(2.0, 5.0));
  EXPECT_EQ(bytes("--use-distributed-optimizer --num-distributed-optimizer-instances 2"),
            std::pair(4.0, 24.0));
}

TEST(MegatronArguments, WhatChangesPlacementMemoryAndOverlapIsRead) {
  const auto run = read_megatron_arguments(
      "--bf16 --context-parallel-size 2 --cp-comm-type a2a --use-tp-pp-dp-mapping "
      "--tp-comm-overlap --overlap-param-gather --recompute-granularity full "
      "--recompute-method uniform --recompute-num-layers 2 --attention-dropout 0.0",
      "run.sh", hints(8));
  ASSERT_TRUE(run) << complaint(run);
  EXPECT_EQ(order_text(run->layout.order), "tp-cp-ep-pp-dp");
  EXPECT_EQ(run->context_exchange, ContextExchange::Ulysses);
  EXPECT_TRUE(run->memory.second_attention_output);
  EXPECT_TRUE(run->overlap_tensor);
  EXPECT_TRUE(run->overlap_parameters);
  EXPECT_EQ(run->memory.layers_per_checkpoint, 2);
  EXPECT_EQ(run->hidden_dropout, 0.1);  // Megatron's default
  EXPECT_TRUE(run->kernels.dropout);
}

TEST(MegatronArguments, EveryRecomputedModuleIsNamed) {
  const auto run = read_megatron_arguments(
      "--bf16 --recompute-granularity selective --recompute-modules mla_up_proj moe mlp layernorm",
      "run.sh");
  ASSERT_TRUE(run) << complaint(run);
  EXPECT_EQ(run->layout.recompute, Recompute::None);
  EXPECT_TRUE(notes_mention(*run, "mla_up_proj, moe, mlp, layernorm"));
}

TEST(MegatronArguments, AVariableMayHoldManyArguments) {
  const auto run = read_megatron_arguments(
      "ARGS=\"--tensor-model-parallel-size 2 \\\n --seq-length 4096\"\n"
      "torchrun --nproc-per-node 8 pretrain_gpt.py $ARGS --bf16\necho done\n",
      "run.sh");
  ASSERT_TRUE(run) << complaint(run);
  EXPECT_EQ(run->layout.tensor, 2);
  EXPECT_EQ(run->layout.sequence, 4096);
  EXPECT_EQ(run->layout.data, 4);
  EXPECT_EQ(run->arguments.front(), "--bf16");
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

TEST(MegatronArguments, WhatIsWrittenIsALaunchLine) {
  const std::string given =
      "--attention-dropout 0.0 --hidden-dropout 0.0 --fp8-format e4m3 --fp8-recipe blockwise "
      "--cp-comm-type a2a --use-tp-pp-dp-mapping --bf16 --lr 1e-4 --micro-batch-size 1";
  const auto run = read_megatron_arguments(given, "run.sh", hints(128));
  ASSERT_TRUE(run) << complaint(run);
  const auto text = write_megatron_arguments(*run);
  ASSERT_TRUE(text);
  EXPECT_TRUE(text->starts_with("torchrun --nnodes 16 --nproc-per-node 8 pretrain_gpt.py \\\n"))
      << *text;
  for (const char* line :
       {"--attention-dropout 0.0", "--hidden-dropout 0.0", "--fp8-format e4m3",
        "--fp8-recipe blockwise", "--cp-comm-type a2a", "--use-tp-pp-dp-mapping", "--lr 1e-4"})
    EXPECT_NE(text->find(line), std::string::npos) << line << " is not in\n" << *text;
  EXPECT_EQ(text->find("world-size"), std::string::npos);
}

TEST(MegatronArguments, WhatMegatronCannotSayIsNotWritten) {
  FrameworkRun run;
  run.schedule = "1f1b";
  run.model = TransformerModel{};
  run.model->layers = 8;
  run.model->position = Position::Alibi;
  run.model->embedding_norm = true;
  const auto text = write_megatron_arguments(run);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().size(), 2U) << render(text.error());
  run.model->position = Position::Rope;
  run.model->embedding_norm = false;
  run.layout.pipeline = 3;
  EXPECT_FALSE(write_megatron_arguments(run));  // 8 layers on 3 stages
}

TEST(FrameworkRun, TheFrameworkIsGuessed) {
  EXPECT_EQ(guess_framework("--a 1", "x"), Framework::Megatron);
  EXPECT_EQ(guess_framework(" {\"train_batch_size\": 1}", "x"), Framework::Deepspeed);
  EXPECT_EQ(guess_framework("{\"parallelism\": {}}", "x"), Framework::Torchtitan);
  EXPECT_EQ(guess_framework("[training]", "x.toml"), Framework::Torchtitan);
}

}  // namespace
}  // namespace pipecast
