#include "sim/read/hf_architecture.hpp"

#include <algorithm>
#include <array>

namespace pipecast {
namespace {

constexpr Norm kLayer = Norm::LayerNorm;
constexpr Norm kRms = Norm::RmsNorm;

/// Sorted by name. The families whose layers this program computes exactly.
constexpr std::array<HfArchitecture, 24> kArchitectures{{
    {"bloom", kLayer, Position::Alibi, false, true, false, false, true, true, false, true},
    {"deepseek_v2", kRms, Position::Rope, true, false, false, false, false, false, true, true},
    {"deepseek_v3", kRms, Position::Rope, true, false, false, false, false, false, true, true},
    {"gemma", kRms, Position::Rope, true, false, false, false, true, false, false, true},
    {"glm4_moe", kRms, Position::Rope, true, false, false, false, false, false, true, false},
    {"gpt2", kLayer, Position::Learned, false, true, false, false, true, false, false, true},
    {"gpt_bigcode", kLayer, Position::Learned, false, true, false, false, true, false, false, true},
    {"gpt_neox", kLayer, Position::Rope, false, true, false, false, false, false, false, true},
    {"granite", kRms, Position::Rope, true, false, false, false, false, false, false, true},
    {"internlm2", kRms, Position::Rope, true, false, false, false, false, false, false, true},
    {"kimi_k2", kRms, Position::Rope, true, false, false, false, false, false, true, true},
    {"llama", kRms, Position::Rope, true, false, false, false, false, false, false, true},
    {"mistral", kRms, Position::Rope, true, false, false, false, false, false, false, true},
    {"mixtral", kRms, Position::Rope, true, false, false, false, false, false, true, true},
    {"nemotron", kLayer, Position::Rope, false, false, false, false, false, false, false, true},
    {"opt", kLayer, Position::Learned, false, true, false, false, true, false, false, true},
    {"phi3", kRms, Position::Rope, true, false, false, false, false, false, false, true},
    {"qwen2", kRms, Position::Rope, true, false, true, false, false, false, false, true},
    {"qwen2_moe", kRms, Position::Rope, true, false, true, false, false, false, true, true},
    {"qwen2_vl_text", kRms, Position::Rope, true, false, true, false, false, false, false, true},
    {"qwen3", kRms, Position::Rope, true, false, false, true, false, false, false, true},
    {"qwen3_moe", kRms, Position::Rope, true, false, false, true, false, false, true, true},
    {"seed_oss", kRms, Position::Rope, true, false, true, false, false, false, false, false},
    {"starcoder2", kLayer, Position::Rope, false, true, false, false, true, false, false, true},
}};

/// Names that make a key one of shape: unless it is understood, or listed as harmless, it is
/// refused.
constexpr std::array<std::string_view, 25> kShapeWords{
    "layer",  "expert", "moe",    "head",    "hidden",   "intermediate", "rank",  "width", "inner",
    "sparse", "embed",  "vocab",  "channel", "num_",     "n_",           "ffn",   "mlp",   "dim",
    "mtp",    "nextn",  "window", "block",   "multiple", "group",        "latent"};

/// Keys with such names that do not change parameters or work.
constexpr std::array<std::string_view, 46> kHarmless{"attention_dropout",
                                                     "attn_implementation",
                                                     "aux_loss_alpha",
                                                     "chunk_size_feed_forward",
                                                     "classifier_dropout",
                                                     "do_layer_norm_before",
                                                     "embd_pdrop",
                                                     "embedding_multiplier",
                                                     "hidden_act",
                                                     "hidden_activation",
                                                     "hidden_dropout",
                                                     "hidden_dropout_prob",
                                                     "ignore_keys_at_rope_inference",
                                                     "input_jitter_noise",
                                                     "layer_norm_elementwise_affine",
                                                     "layer_norm_eps",
                                                     "layer_norm_epsilon",
                                                     "layerdrop",
                                                     "layernorm_epsilon",
                                                     "max_window_layers",
                                                     "moe_aux_loss_coeff",
                                                     "moe_router_aux_loss_coef",
                                                     "n_ctx",
                                                     "n_group",
                                                     "n_positions",
                                                     "norm_topk_prob",
                                                     "num_beams",
                                                     "num_logits_to_keep",
                                                     "num_return_sequences",
                                                     "original_max_position_embeddings",
                                                     "output_hidden_states",
                                                     "partial_rotary_factor",
                                                     "pretraining_tp",
                                                     "reorder_and_upcast_attn",
                                                     "rotary_dim",
                                                     "rotary_emb_base",
                                                     "rotary_pct",
                                                     "routed_scaling_factor",
                                                     "router_aux_loss_coef",
                                                     "router_jitter_noise",
                                                     "scale_attn_by_inverse_layer_idx",
                                                     "topk_group",
                                                     "use_sliding_window",
                                                     "vocab_file",
                                                     "attention_multiplier",
                                                     "residual_multiplier"};

}  // namespace

const HfArchitecture* find_hf_architecture(std::string_view model_type) {
  const auto found =
      std::find_if(kArchitectures.begin(), kArchitectures.end(),
                   [&](const HfArchitecture& row) { return row.model_type == model_type; });
  return found == kArchitectures.end() ? nullptr : &*found;
}

std::vector<std::string> hf_architectures() {
  std::vector<std::string> names;
  for (const HfArchitecture& row : kArchitectures) names.emplace_back(row.model_type);
  return names;
}

bool may_change_shape(std::string_view key) {
  if (std::find(kHarmless.begin(), kHarmless.end(), key) != kHarmless.end()) return false;
  if (key.ends_with("_id") || key.ends_with("_ids") || key.ends_with("_token_index")) return false;
  return std::any_of(kShapeWords.begin(), kShapeWords.end(), [key](std::string_view word) {
    const std::size_t at = key.find(word);
    return word.back() == '_' ? at == 0 : at != std::string_view::npos;
  });
}

}  // namespace pipecast
