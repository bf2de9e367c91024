#include "sim/read/hf_architecture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace pipecast {
namespace {

constexpr Norm kLayer = Norm::LayerNorm;
constexpr Norm kRms = Norm::RmsNorm;

/// Sorted by name. The families whose layers this program computes exactly.
constexpr std::array<HfArchitecture, 25> kArchitectures{{
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
    {"smollm3", kRms, Position::Rope, true, false, false, false, true, false, false, true},
    {"starcoder2", kLayer, Position::Rope, false, true, false, false, true, false, false, true},
}};

// clang-format off
/// Names that make a key one of shape: unless it is understood, or listed as harmless, it is
/// refused.
constexpr std::array<std::string_view, 42> kShapeWords{
    "layer", "expert", "moe", "head", "hidden", "intermediate", "rank", "width", "inner", "sparse",
    "embed", "vocab", "channel", "num_", "n_", "ffn", "mlp", "dim", "mtp", "nextn", "window",
    "block", "multiple", "group", "latent", "attn", "attention", "every", "depth", "size", "kernel",
    "conv", "ssm", "state", "expand", "bias", "norm", "share", "lora", "loop", "altup", "stride",};

/// Keys that change neither parameters nor work. Sorted.
constexpr std::array<std::string_view, 173> kHarmless{
    "_attn_implementation", "_attn_implementation_autoset", "_attn_implementation_internal",
    "_commit_hash", "_flash_attn_2_enabled", "_name_or_path", "activation_dropout",
    "activation_function", "add_cross_attention", "apply_residual_connection_post_layernorm",
    "architectures", "attention_dropout", "attention_multiplier", "attention_probs_dropout_prob",
    "attention_softmax_in_fp32", "attn_implementation", "attn_pdrop", "auto_map", "aux_loss_alpha",
    "bad_words_ids", "begin_suppress_tokens", "bias_dropout_fusion", "chunk_size_feed_forward",
    "classifier_dropout", "clip_qkv", "compression_config", "cross_attention_hidden_size",
    "diversity_penalty", "do_sample", "dropout", "dropout_prob", "dtype", "early_stopping",
    "embd_pdrop", "embedding_dropout", "embedding_multiplier", "encoder_no_repeat_ngram_size",
    "exponential_decay_length_penalty", "finetuning_task", "fp32_residual",
    "gradient_checkpointing", "hidden_act", "hidden_activation", "hidden_dropout",
    "hidden_dropout_prob", "id2label", "ignore_keys_at_rope_inference", "image_token_index",
    "inference_runner", "init_std", "initializer_factor", "initializer_range", "input_jitter_noise",
    "interpolate_factor", "is_decoder", "is_encoder_decoder", "label2id",
    "layer_norm_elementwise_affine", "layer_norm_eps", "layer_norm_epsilon", "layerdrop",
    "layernorm_epsilon", "length_penalty", "logits_scaling", "logits_to_keep",
    "masked_softmax_fusion", "max_length", "max_new_tokens", "max_window_layers", "min_length",
    "model_type", "moe_aux_loss_coeff", "moe_router_aux_loss_coef", "moe_router_enable_expert_bias",
    "mrope_section", "n_ctx", "n_group", "n_positions", "no_repeat_ngram_size",
    "no_rope_layer_interval", "no_rope_layers", "norm_eps", "norm_epsilon", "norm_topk_prob",
    "num_beam_groups", "num_beams", "num_labels", "num_logits_to_keep", "num_return_sequences",
    "offset_alibi", "original_max_position_embeddings", "output_attentions", "output_hidden_states",
    "output_router_logits", "output_scores", "pad_token", "partial_rotary_factor",
    "position_embedding_type", "pre_sequence_length", "prefix", "pretraining_tp", "problem_type",
    "pruned_heads", "quantization_config", "remove_invalid_values", "reorder_and_upcast_attn",
    "repetition_penalty", "resid_pdrop", "residual_dropout", "residual_multiplier", "return_dict",
    "return_dict_in_generate", "rms_norm_eps", "rope_interleave", "rope_local_base_freq",
    "rope_parameters", "rope_scaling", "rope_theta", "rope_type", "rotary_dim", "rotary_emb_base",
    "rotary_pct", "rotary_percent", "routed_scaling_factor", "router_aux_loss_coef",
    "router_jitter_noise", "router_z_loss_coef", "runner_max_sequence_length",
    "scale_attention_softmax_in_fp32", "scale_attn_by_inverse_layer_idx", "scale_attn_weights",
    "seq_aux", "seq_len_interpolation", "skip_bias_add", "skip_bias_add_qkv", "slow_but_exact",
    "summary_activation", "summary_first_dropout", "summary_proj_to_labels", "summary_type",
    "summary_use_proj", "suppress_tokens", "task_specific_params", "temperature", "tf_legacy_loss",
    "tie_encoder_decoder", "tokenizer_class", "top_k", "top_p", "topk_group", "torch_dtype",
    "torchscript", "transformers.js_config", "transformers_version", "typical_p", "unk_token_id",
    "unsloth_fixed", "unsloth_version", "use_bfloat16", "use_cache", "use_dynamic_ntk",
    "use_flash_attention", "use_flash_attn", "use_logn_attn", "use_mrope", "use_parallel_residual",
    "use_scan", "use_sliding_window", "use_triton", "validate_runner_input", "video_token_index",
    "vision_use_head", "vocab_file",};
// clang-format on

/// Keys that change nothing with this value.
constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kNeutral{{
    {"_remove_final_layer_norm", "false"},
    {"attention_output_gate", "false"},
    {"do_layer_norm_before", "true"},
    {"full_attn_mod", "1"},
    {"lm_head_bias", "false"},
    {"mlp_type", "default"},
    {"norm_type", "layer_norm"},
    {"parallel_attn", "false"},
    {"qk_layernorm", "false"},
}};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string without_digits(std::string_view word) {
  std::string letters(word);
  std::erase_if(letters, is_digit);
  return letters;
}

/// One letter more, less, or another.
bool one_edit(std::string_view a, std::string_view b) {
  const std::size_t shorter = std::min(a.size(), b.size());
  if (std::max(a.size(), b.size()) - shorter > 1) return false;
  std::size_t front = 0;
  while (front < shorter && a[front] == b[front]) ++front;
  const std::size_t rest = a.size() == b.size() ? 1 : 0;
  const std::string_view tail_a =
      a.substr(std::min(a.size(), front + (a.size() > shorter ? 1 : rest)));
  const std::string_view tail_b =
      b.substr(std::min(b.size(), front + (b.size() > shorter ? 1 : rest)));
  return tail_a == tail_b;
}

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

HfKey hf_key(std::string_view key) {
  if (std::binary_search(kHarmless.begin(), kHarmless.end(), key)) return HfKey::Harmless;
  if (!neutral_value(key).empty()) return HfKey::Neutral;
  for (const std::string_view ending : {"_id", "_ids", "_token_index", "_token_id"})
    if (key.ends_with(ending)) return HfKey::Harmless;
  const bool shape =
      std::any_of(kShapeWords.begin(), kShapeWords.end(), [key](std::string_view word) {
        const std::size_t at = key.find(word);
        return word.back() == '_' ? at == 0 : at != std::string_view::npos;
      });
  return shape ? HfKey::Shape : HfKey::Unknown;
}

std::string_view neutral_value(std::string_view key) {
  const auto found = std::find_if(kNeutral.begin(), kNeutral.end(),
                                  [&](const auto& row) { return row.first == key; });
  return found == kNeutral.end() ? std::string_view{} : found->second;
}

std::string architecture_hint(std::string_view model_type) {
  for (const HfArchitecture& row : kArchitectures)
    if (one_edit(model_type, row.model_type) &&
        without_digits(model_type) != without_digits(row.model_type))
      return fmt::format("did you mean '{}'?", row.model_type);
  return fmt::format("one of: {}", fmt::join(hf_architectures(), ", "));
}

}  // namespace pipecast
