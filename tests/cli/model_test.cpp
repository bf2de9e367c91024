// The commands model, layout and serve, as a user types them.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/shell.hpp"

namespace pipecast::cli {
namespace {

using nlohmann::json;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

constexpr const char* kArguments =
    "--num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 "
    "--group-query-attention --num-query-groups 8 --swiglu --disable-bias-linear "
    "--normalization RMSNorm --untie-embeddings-and-output-weights "
    "--position-embedding-type rope --seq-length 8192 --tensor-model-parallel-size 2 "
    "--pipeline-model-parallel-size 4 --micro-batch-size 1 --global-batch-size 64 "
    "--use-distributed-optimizer\n";

TEST(Model, PresetsAndHuggingFaceFilesAreShown) {
  const Workshop workshop;
  EXPECT_TRUE(contains(workshop.sh("pipecast model list").out, "deepseek-v3"));
  EXPECT_TRUE(contains(workshop.sh("pipecast model show llama3-8b").out, "8030261248"));
  workshop.write("config.json",
                 R"({"model_type":"llama","num_hidden_layers":32,"hidden_size":4096,
                     "intermediate_size":14336,"num_attention_heads":32,
                     "num_key_value_heads":8,"vocab_size":128256})");
  ASSERT_EQ(workshop.sh("pipecast model show config.json --json model.json").code, 0);
  const json shown = json::parse(workshop.read("model.json"));
  EXPECT_EQ(shown["format"], "pipecast.model/1");
  EXPECT_EQ(shown["parameters"]["total"], 8030261248.0);
}

TEST(Model, WhatIsNotUnderstoodEndsWithCode1) {
  const Workshop workshop;
  workshop.write("config.json", R"({"model_type":"llama","moe_layers":4})");
  const Outcome outcome = workshop.sh("pipecast model show config.json");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(contains(outcome.err, "moe_layers")) << outcome.err;
  const Outcome slip = workshop.sh("pipecast model show lama3-8b");
  EXPECT_EQ(slip.code, 1);
  EXPECT_TRUE(contains(slip.err, "did you mean 'llama3-8b'")) << slip.err;
}

TEST(Layout, WhatIsReadIsWrittenAndReadsBackTheSame) {
  const Workshop workshop;
  workshop.write("run.sh", kArguments);
  const std::string hints = " --devices 32 --vocabulary 128256";
  ASSERT_EQ(workshop.sh("pipecast layout read run.sh" + hints + " --json a.json").code, 0);
  ASSERT_EQ(workshop.sh("pipecast layout write run.sh" + hints + " --megatron -o b.sh").code, 0);
  ASSERT_EQ(workshop.sh("pipecast layout read b.sh --json b.json").code, 0);
  EXPECT_EQ(workshop.read("a.json"), workshop.read("b.json"));
  const json layout = json::parse(workshop.read("a.json"));
  EXPECT_EQ(layout["data"], 4);
  EXPECT_EQ(layout["microbatches"], 16);
  EXPECT_EQ(layout["ranks"].size(), 4U);
  ASSERT_EQ(workshop.sh("pipecast layout write run.sh" + hints + " --deepspeed -o ds.json").code,
            0);
  EXPECT_EQ(json::parse(workshop.read("ds.json"))["gradient_accumulation_steps"], 16);
}

TEST(Layout, DevicesThatDoNotDivideEndWithCode3) {
  const Workshop workshop;
  workshop.write("run.sh", kArguments);
  const Outcome outcome = workshop.sh("pipecast layout read run.sh --devices 30");
  EXPECT_EQ(outcome.code, 3);
  EXPECT_TRUE(contains(outcome.err, "24 or 32")) << outcome.err;
  EXPECT_EQ(workshop.sh("pipecast layout write run.sh").code, 2);
}

TEST(Serve, TheExampleRunsTheSameTwice) {
  const Workshop workshop;
  const std::string line = "pipecast serve scenarios/serving/llama2-70b-chat.yaml --json ";
  const Outcome first = workshop.sh(line + "a.json --requests a.csv");
  ASSERT_EQ(first.code, 0) << first.err;
  EXPECT_TRUE(contains(first.out, "320.00 KiB per token")) << first.out;
  ASSERT_EQ(workshop.sh(line + "b.json --requests b.csv --quiet").code, 0);
  EXPECT_EQ(workshop.read("a.json"), workshop.read("b.json"));
  EXPECT_EQ(workshop.read("a.csv"), workshop.read("b.csv"));
  const json report = json::parse(workshop.read("a.json"));
  EXPECT_EQ(report["key_value_bytes_per_token"], 320 * 1024);
  EXPECT_EQ(report["served"]["requests"], 200);
}

TEST(Serve, AModelThatDoesNotFitEndsWithCode3) {
  const Workshop workshop;
  workshop.write("big.yaml",
                 "model: {preset: llama2-70b}\n"
                 "device: {compute: 600 TFLOP/s, memory_bandwidth: 2600 GB/s, memory: 80 GiB}\n");
  const Outcome outcome = workshop.sh("pipecast serve big.yaml");
  EXPECT_EQ(outcome.code, 3);
  EXPECT_TRUE(contains(outcome.err, "more stages")) << outcome.err;
  workshop.write("wrong.yaml", "model: {preset: llama2-70b}\nbatchin: {}\n");
  EXPECT_EQ(workshop.sh("pipecast serve wrong.yaml").code, 1);
}

}  // namespace
}  // namespace pipecast::cli
