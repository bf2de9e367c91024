#include "sim/read/hf_config.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "sim/read/json_tree.hpp"

namespace pipecast {
namespace {

constexpr const char* kLlama3 = R"({"model_type":"llama","num_hidden_layers":32,"hidden_size":4096,
 "intermediate_size":14336,"num_attention_heads":32,"num_key_value_heads":8,"vocab_size":128256,
 "tie_word_embeddings":false,"torch_dtype":"bfloat16","rope_scaling":null,"bos_token_id":128000,
 "hidden_act":"silu","pretraining_tp":1})";

Diagnostics faults_of(const std::string& text) {
  const auto shape = read_hf_config(text, "config.json");
  return shape ? Diagnostics{} : shape.error();
}

TEST(HfConfig, Llama3HasItsPublishedParameters) {
  const auto shape = read_hf_config(kLlama3, "config.json");
  ASSERT_TRUE(shape) << render(shape.error());
  EXPECT_EQ(total_parameters(shape->model), 8030261248.0);
  EXPECT_EQ(shape->model.head_width, 128);
  EXPECT_EQ(shape->dtype, "bfloat16");
}

TEST(HfConfig, DeepseekV3WithLatentAttentionAndExperts) {
  const auto shape = read_hf_config(R"({"model_type": "deepseek_v3", "num_hidden_layers": 61,
    "hidden_size": 7168, "intermediate_size": 18432, "num_attention_heads": 128,
    "num_key_value_heads": 128, "vocab_size": 129280, "max_position_embeddings": 163840,
    "q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
    "v_head_dim": 128, "n_routed_experts": 256, "num_experts_per_tok": 8, "n_shared_experts": 1,
    "moe_intermediate_size": 2048, "first_k_dense_replace": 3, "moe_layer_freq": 1,
    "num_nextn_predict_layers": 1, "topk_method": "noaux_tc", "scoring_func": "sigmoid",
    "n_group": 8, "topk_group": 4, "norm_topk_prob": true, "ep_size": 1,
    "routed_scaling_factor": 2.5, "tie_word_embeddings": false})",
                                    "config.json");
  ASSERT_TRUE(shape) << render(shape.error());
  EXPECT_EQ(total_parameters(shape->model), 671026419200.0);
  EXPECT_EQ(active_parameters(shape->model), 37552297472.0);
  EXPECT_EQ(shape->model.mtp_layers, 1);
}

TEST(HfConfig, Gpt2AliasesAndItsDefaults) {
  const auto shape = read_hf_config(
      R"({"model_type":"gpt2","n_layer":48,"n_embd":1600,"n_head":25,"n_positions":1024,
          "n_ctx":1024,"n_inner":null,"vocab_size":50257})",
      "config.json");
  ASSERT_TRUE(shape) << render(shape.error());
  EXPECT_EQ(total_parameters(shape->model), 1557611200.0);
}

TEST(HfConfig, QwenMixtureOfExperts) {
  const auto shape = read_hf_config(R"({"model_type":"qwen3_moe","num_hidden_layers":94,
    "hidden_size":4096,"intermediate_size":12288,"num_attention_heads":64,"num_key_value_heads":4,
    "head_dim":128,"vocab_size":151936,"num_experts":128,"num_experts_per_tok":8,
    "moe_intermediate_size":1536,"decoder_sparse_step":1,"mlp_only_layers":[],
    "max_window_layers":94,"use_sliding_window":false,"sliding_window":null})",
                                    "config.json");
  ASSERT_TRUE(shape) << render(shape.error());
  EXPECT_NEAR(total_parameters(shape->model) / 235.094e9, 1, 1e-4);
}

TEST(HfConfig, ExpertsInEverySecondLayer) {
  const auto shape = read_hf_config(R"({"model_type":"qwen2_moe","num_hidden_layers":6,
    "hidden_size":64,"intermediate_size":128,"num_attention_heads":4,"vocab_size":100,
    "num_experts":4,"num_experts_per_tok":2,"moe_intermediate_size":32,"decoder_sparse_step":2,
    "shared_expert_intermediate_size":64})",
                                    "config.json");
  ASSERT_TRUE(shape) << render(shape.error());
  EXPECT_EQ(expert_layers(shape->model), 3);
  EXPECT_FALSE(is_expert_layer(shape->model, 0));
  EXPECT_TRUE(is_expert_layer(shape->model, 1));
  EXPECT_EQ(shape->model.experts.shared, 2);
}

TEST(HfConfig, AMultimodalFileHasAnEncoder) {
  const auto shape = read_hf_config(R"({"model_type":"llava","text_config":{"model_type":"llama",
    "num_hidden_layers":32,"hidden_size":4096,"intermediate_size":11008,"num_attention_heads":32,
    "vocab_size":32064},"vision_config":{"model_type":"clip_vision_model","num_hidden_layers":24,
    "hidden_size":1024,"intermediate_size":4096,"num_attention_heads":16,"image_size":336,
    "patch_size":14,"projection_dim":768,"vocab_size":32000}})",
                                    "config.json");
  ASSERT_TRUE(shape) << render(shape.error());
  EXPECT_EQ(shape->model.encoder.layers, 24);
  EXPECT_EQ(shape->model.encoder.tokens, 576);
  EXPECT_NEAR(total_parameters(shape->model) / 7.06e9, 1, 0.005);
}

TEST(HfConfig, AKeyOfShapeThatIsNotUnderstoodIsRefusedWithItsLine) {
  std::string text = kLlama3;
  text.insert(1, "\n\"moe_strange_layers\": 3,\n");
  const Diagnostics faults = faults_of(text);
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_NE(faults[0].message.find("moe_strange_layers"), std::string::npos);
  EXPECT_EQ(faults[0].where.line, 2);
  EXPECT_EQ(faults[0].where.column, 1);
}

TEST(HfConfig, ExpertsInADenseFamilyAreRefused) {
  std::string text = kLlama3;
  text.insert(1, "\"num_local_experts\": 8,");
  ASSERT_EQ(faults_of(text).size(), 1U);
}

TEST(HfConfig, UnknownArchitectureAndMissingWidthsAreNamed) {
  EXPECT_NE(render(faults_of(R"({"model_type":"lama"})")).find("did you mean 'llama'"),
            std::string::npos);
  const Diagnostics faults = faults_of(R"({"model_type":"llama","hidden_size":64})");
  EXPECT_NE(render(faults).find("num_hidden_layers"), std::string::npos);
  EXPECT_NE(render(faults).find("vocab_size"), std::string::npos);
}

std::string with_key(const std::string& entry) {
  std::string text = kLlama3;
  text.insert(1, "\n" + entry + ",\n");
  return text;
}

TEST(HfConfig, KeysThatChangeNothingAreRead) {
  for (const char* entry :
       {R"("apply_residual_connection_post_layernorm": false)", R"("lm_head_bias": false)",
        R"("_remove_final_layer_norm": false)", R"("mlp_type": "default")",
        R"("embedding_dropout": 0.1)", R"("layer_types": ["full_attention", "full_attention"])"}) {
    const auto shape = read_hf_config(with_key(entry), "config.json");
    ASSERT_TRUE(shape) << entry << render(shape.error());
    EXPECT_TRUE(shape->notes.empty()) << entry;
  }
  for (const char* entry : {R"("lm_head_bias": true)", R"("_remove_final_layer_norm": true)",
                            R"("mlp_type": "gated")", R"("layer_types": ["linear_attention"])"})
    EXPECT_EQ(faults_of(with_key(entry)).size(), 1U) << entry;
}

TEST(HfConfig, KeysThatNobodyKnowsAreLoud) {
  const Diagnostics faults = faults_of(with_key(R"("attn_every_n": 4)"));
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].where.line, 2);
  const auto strange = read_hf_config(with_key(R"("flavour": "sweet")"), "config.json");
  ASSERT_TRUE(strange);
  ASSERT_EQ(strange->notes.size(), 1U);
  EXPECT_NE(strange->notes[0].find("flavour"), std::string::npos);
}

TEST(HfConfig, WindowsAreWarnedOf) {
  const auto shape = read_hf_config(
      with_key(R"("sliding_window": 4096, "layer_types": ["sliding_attention", "full_attention"])"),
      "config.json");
  ASSERT_TRUE(shape) << render(shape.error());
  EXPECT_EQ(shape->notes.size(), 2U);
}

TEST(HfConfig, TwoNamesOfOneNumberMustAgree) {
  const auto mixtral = [](const std::string& counts) {
    return faults_of(R"({"model_type":"mixtral","num_hidden_layers":2,"hidden_size":64,
        "intermediate_size":128,"num_attention_heads":4,"vocab_size":100,
        "num_experts_per_tok":2,)" +
                     counts + "}");
  };
  EXPECT_TRUE(mixtral(R"("num_local_experts":8)").empty());
  EXPECT_TRUE(mixtral(R"("num_local_experts":8,"num_experts":8)").empty());
  const Diagnostics faults = mixtral(R"("num_local_experts":8,"num_experts":16)");
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_NE(faults[0].message.find("two names of one thing"), std::string::npos);
}

TEST(HfConfig, AnotherVersionIsNoSlipOfThePen) {
  for (const char* word : {"gemma2", "gemma3", "deepseek_v32", "qwen4"})
    EXPECT_EQ(render(faults_of(fmt::format(R"({{"model_type":"{}"}})", word))).find("did you mean"),
              std::string::npos)
        << word;
}

TEST(HfConfig, SmolLm3HasItsPublishedParameters) {
  const auto shape = read_hf_config(R"({"model_type":"smollm3","num_hidden_layers":36,
    "hidden_size":2048,"intermediate_size":11008,"num_attention_heads":16,"num_key_value_heads":4,
    "vocab_size":128256,"attention_bias":false,"mlp_bias":false,"no_rope_layer_interval":4,
    "no_rope_layers":[1,1,1,0],"use_sliding_window":false,"sliding_window":null})",
                                    "config.json");
  ASSERT_TRUE(shape) << render(shape.error());
  EXPECT_EQ(total_parameters(shape->model), 3075098624.0);
}

TEST(HfConfig, WhatIsNotJsonIsRefused) {
  for (const char* text : {"", "{", "[1]", "{\"a\":1,}", "{\"a\":1,\"a\":2}", "nul", "{\"a\" 1}",
                           "{\"a\":1e999}", "\"text\"", "{\"model_type\":\"llama\"}x"})
    EXPECT_FALSE(faults_of(text).empty()) << text;
}

TEST(JsonTree, PlacesAreThoseOfTheText) {
  const auto document = parse_json("{\n  \"a\": 12,\n  \"b\": [true, \"x\"]\n}", "f.json");
  ASSERT_TRUE(document);
  const YamlNode& a = document->root.entries.at(0).value;
  EXPECT_EQ(a.text, "12");
  EXPECT_EQ(a.mark.line, 2);
  EXPECT_EQ(a.mark.column, 8);
  EXPECT_EQ(a.mark.length, 2);
  const YamlNode& x = document->root.entries.at(1).value.items.at(1);
  EXPECT_EQ(x.text, "x");
  EXPECT_EQ(x.mark.line, 3);
  EXPECT_EQ(x.mark.column, 15);
}

TEST(JsonTree, DepthIsBounded) {
  const auto document = parse_json(std::string(100000, '['), "f.json");
  ASSERT_FALSE(document);
  EXPECT_NE(document.error()[0].message.find("deeper than"), std::string::npos);
}

}  // namespace
}  // namespace pipecast
