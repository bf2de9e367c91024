#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "sim/base/quantity.hpp"
#include "sim/read/megatron_parts.hpp"

namespace pipecast {
namespace {

using Arguments = MegatronArguments;

const std::array<std::string, 6> kPositions{"learned_absolute", "rope", "yarn", "mrope", "none",
                                            "relative"};
const std::array<std::string, 2> kNorms{"LayerNorm", "RMSNorm"};

void read_experts(Arguments& given, TransformerModel& model) {
  const int count = given.integer("num-experts", 0, 0);
  Experts& experts = model.experts;
  const int width = given.integer("moe-ffn-hidden-size", model.feed_forward);
  const int active = given.integer("moe-router-topk", 2);
  const int shared = given.integer("moe-shared-expert-intermediate-size", 0, 0);
  const std::string frequency = given.text("moe-layer-freq", "1");
  const std::string capacity = given.text("moe-expert-capacity-factor");
  const bool shared_gate = given.flag("moe-shared-expert-gate");
  const bool router_bias = given.flag("moe-router-enable-expert-bias");
  if (count == 0) return;
  experts.count = count;
  experts.active = active;
  experts.width = width;
  experts.shared_gate = shared_gate;
  experts.router_bias = router_bias;
  if (const auto factor = parse_number(capacity); factor && !capacity.empty())
    experts.capacity_factor = std::max(0.0, *factor);
  if (width > 0 && shared % width != 0)
    given.fault("moe-shared-expert-intermediate-size",
                "a shared expert must be a multiple of an expert's width");
  else if (width > 0)
    experts.shared = shared / width;
  if (const auto every = parse_integer(frequency); every && *every >= 1 && *every <= 4096)
    experts.every = static_cast<int>(*every);
  else if (int dense = 0; std::sscanf(frequency.c_str(), "([0]*%d", &dense) == 1 && dense >= 0 &&
                          dense <= model.layers)
    experts.dense_layers_first = dense;
  else
    given.fault("moe-layer-freq",
                fmt::format("--moe-layer-freq '{}' is not understood", shown(frequency)),
                "a number, or ([0]*dense+[1]*experts)");
}

void read_latent(Arguments& given, TransformerModel& model) {
  LatentAttention latent;
  latent.query_rank = given.integer("q-lora-rank", 0, 0);
  latent.key_value_rank = given.integer("kv-lora-rank", 32);
  latent.nope_head_width = given.integer("qk-head-dim", 128);
  latent.rope_head_width = given.integer("qk-pos-emb-head-dim", 64);
  latent.value_head_width = given.integer("v-head-dim", 128);
  if (given.flag("multi-latent-attention")) model.latent = latent;
}

int padded(int vocabulary, int multiple, int tensor) {
  const int step = std::max(1, multiple * tensor);
  return (vocabulary + step - 1) / step * step;
}

int read_vocabulary(Arguments& given, const FrameworkHints& hints, int tensor) {
  const int multiple = given.integer("make-vocab-size-divisible-by", 128);
  const int words = given.integer("vocab-size", hints.vocabulary.value_or(0), 1, 1 << 26);
  if (given.has("padded-vocab-size")) return given.integer("padded-vocab-size", 0);
  return words > 0 ? padded(words, std::min(multiple, 1 << 16), tensor) : 0;
}

void read_flags(Arguments& given, TransformerModel& model) {
  const bool quick = given.flag("quick-geglu");
  model.gated = given.flag("swiglu") || quick;
  const bool without_bias = given.flag("disable-bias-linear");
  model.linear_bias = given.dumped() ? given.flag("add-bias-linear") : !without_bias;
  model.qkv_bias = given.flag("add-qkv-bias") && !model.linear_bias;
  model.query_key_norm = given.flag("qk-layernorm");
  model.tied_embeddings = !given.flag("untie-embeddings-and-output-weights");
  const bool rms = given.choice("normalization", "LayerNorm", kNorms) == "RMSNorm";
  model.norm = rms ? Norm::RmsNorm : Norm::LayerNorm;
  const std::string position =
      given.choice("position-embedding-type", "learned_absolute", kPositions);
  const bool rotary = given.flag("use-rotary-position-embeddings");
  const bool none = given.flag("no-position-embedding");
  const bool learned = position == "learned_absolute" && !rotary && !none;
  model.position = learned ? Position::Learned : Position::Rope;
}

}  // namespace

void read_megatron_model(Arguments& given, const FrameworkHints& hints, FrameworkRun& run) {
  TransformerModel model;
  model.name = "megatron arguments";
  const bool has_shape =
      given.has("num-layers") && given.has("hidden-size") && given.has("num-attention-heads");
  model.layers = given.integer("num-layers", 1, 1, 4096);
  model.hidden = given.integer("hidden-size", 1, 1, 1 << 20);
  model.heads = given.integer("num-attention-heads", 1, 1, 1 << 16);
  model.key_value_heads = given.integer("num-query-groups", 1, 1, 1 << 16);
  if (!given.flag("group-query-attention")) model.key_value_heads = model.heads;
  model.head_width =
      given.integer("kv-channels", std::max(1, model.hidden / model.heads), 1, 1 << 16);
  read_flags(given, model);
  const int usual = model.gated ? model.hidden * 8 / 3 / 64 * 64 : 4 * model.hidden;
  model.feed_forward = given.integer("ffn-hidden-size", std::max(usual, 1), 1, 1 << 24);
  model.max_position = given.integer("max-position-embeddings", run.layout.sequence);
  model.mtp_layers = given.integer("mtp-num-layers", 0, 0, 64);
  read_latent(given, model);
  read_experts(given, model);
  model.vocabulary = read_vocabulary(given, hints, run.layout.tensor);
  if (!has_shape) {
    run.model = hints.model;
    if (!run.model) run.notes.push_back("the arguments do not give a model");
    return;
  }
  if (model.vocabulary == 0)
    run.notes.push_back("the tokenizer decides the vocabulary: give it to know the model");
  else
    run.model = model;
}

}  // namespace pipecast
