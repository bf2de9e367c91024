#include "sim/read/hf_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "sim/read/hf_architecture.hpp"
#include "sim/read/json_tree.hpp"

namespace pipecast {
namespace {

constexpr const char* kOrigin = "Hugging Face configuration";

/// A file being read: which keys were asked for, so that the rest can be judged.
class Reader {
 public:
  explicit Reader(YamlCursor map) : map_(std::move(map)) {}

  const YamlCursor& map() const { return map_; }
  bool has(std::string_view key) const { return map_.has(key); }

  /// The first of the names that the file has.
  std::optional<YamlCursor> first(std::initializer_list<std::string_view> names) {
    std::optional<YamlCursor> found;
    for (const std::string_view name : names) {
      asked_.emplace(name);
      if (!found && map_.has(name)) found = map_.find(name);
    }
    return found;
  }

  /// The same for names of one thing: where a file has several they must agree.
  std::optional<YamlCursor> any(std::initializer_list<std::string_view> names) {
    const std::optional<YamlCursor> found = first(names);
    if (!found || found->kind() != YamlKind::Scalar) return found;
    for (const std::string_view name : names) {
      const auto other = map_.has(name) ? map_.find(name) : std::nullopt;
      if (!other || other->kind() != YamlKind::Scalar || other->node().text == found->node().text)
        continue;
      other->fault(fmt::format("'{}' is {} and '{}' is {}: two names of one thing", name,
                               shown(other->node().text), found->key(), shown(found->node().text)),
                   "remove the one that the model does not use");
      break;
    }
    return found;
  }

  int integer(std::initializer_list<std::string_view> names, int fallback, int minimum = 0) {
    const auto given = any(names);
    if (!given) return fallback;
    return static_cast<int>(given->integer(minimum, 1 << 30).value_or(fallback));
  }

  int needed(std::initializer_list<std::string_view> names) {
    if (const auto given = any(names))
      return static_cast<int>(given->integer(1, 1 << 30).value_or(1));
    map_.fault_at_key(fmt::format("the file lacks '{}'", *names.begin()),
                      "a shape is never guessed");
    return 1;
  }

  bool flag(std::string_view name, bool fallback) {
    const auto given = any({name});
    const auto word = given ? given->text() : std::nullopt;
    if (!word) return fallback;
    if (*word == "true" || *word == "false") return *word == "true";
    given->fault(fmt::format("{} is '{}', allowed is true or false", name, shown(*word)));
    return fallback;
  }

  std::string text(std::initializer_list<std::string_view> names) {
    const auto given = first(names);
    return given ? given->text().value_or("") : std::string{};
  }

  /// Every key that may change the shape and that nobody asked for is a fault; one that is in no
  /// list is a warning.
  void refuse_unknown(std::vector<std::string>& warnings) const {
    for (const YamlCursor& entry : map_.children()) {
      const std::string key(entry.key());
      if (asked_.contains(key)) continue;
      switch (hf_key(key)) {
        case HfKey::Harmless:
          break;
        case HfKey::Neutral:
          expect_neutral(entry, key);
          break;
        case HfKey::Shape:
          refuse(entry, key);
          break;
        case HfKey::Unknown:
          warnings.push_back(fmt::format("'{}' is not known and passed over", shown(key)));
      }
    }
  }

 private:
  static void refuse(const YamlCursor& entry, const std::string& key) {
    entry.fault_at_key(
        fmt::format("'{}' may change the shape of the model and is not understood", shown(key)),
        "describe the model with keys of its own instead: model: {layers: …, hidden: …}");
  }

  static void expect_neutral(const YamlCursor& entry, const std::string& key) {
    const std::string_view neutral = neutral_value(key);
    if (entry.kind() == YamlKind::Scalar && entry.node().text == neutral) return;
    entry.fault(fmt::format("'{}' changes the shape of the model unless it is {}", key, neutral));
  }

  YamlCursor map_;
  std::set<std::string, std::less<>> asked_;
};

const HfArchitecture* architecture_of(Reader& reader) {
  const auto given = reader.any({"model_type"});
  if (!given) {
    reader.map().fault_at_key("the file lacks 'model_type', which decides norms and biases",
                              "one of: " + fmt::format("{}", fmt::join(hf_architectures(), ", ")));
    return nullptr;
  }
  const auto word = given->text();
  if (!word) return nullptr;
  if (const HfArchitecture* found = find_hf_architecture(*word)) return found;
  given->fault(fmt::format("the architecture '{}' is not understood", shown(*word)),
               architecture_hint(*word));
  return nullptr;
}

void read_widths(Reader& reader, const HfArchitecture& architecture, TransformerModel& model) {
  model.layers = reader.needed({"num_hidden_layers", "n_layer", "num_layers"});
  model.hidden = reader.needed({"hidden_size", "n_embd", "n_embed", "d_model"});
  model.heads = reader.needed({"num_attention_heads", "n_head"});
  model.vocabulary = reader.needed({"vocab_size"});
  // Names of several lengths: the first is that of the positions.
  if (const auto positions =
          reader.first({"max_position_embeddings", "n_positions", "n_ctx", "seq_length"}))
    model.max_position =
        static_cast<int>(positions->integer(1, 1 << 30).value_or(model.max_position));
  const bool multi_query = reader.flag("multi_query", architecture.model_type == "gpt_bigcode");
  model.key_value_heads = reader.integer({"num_key_value_heads"}, multi_query ? 1 : model.heads, 1);
  // OPT's learned positions begin at 2.
  if (architecture.model_type == "opt") model.max_position += 2;
  const int projected = reader.integer({"word_embed_proj_dim"}, model.hidden, 1);
  if (projected != model.hidden)
    reader.any({"word_embed_proj_dim"})
        ->fault("an embedding narrower than the layers is not understood");
  const bool by_hand = architecture.model_type == "gpt2" || architecture.model_type == "bloom" ||
                       architecture.model_type == "gpt_bigcode";
  const auto inner = reader.any({"intermediate_size", "n_inner", "ffn_dim"});
  if (inner)
    model.feed_forward = static_cast<int>(inner->integer(1, 1 << 30).value_or(1));
  else if (by_hand)
    model.feed_forward = 4 * model.hidden;
  else
    model.feed_forward = reader.needed({"intermediate_size"});
}

void read_head_width(Reader& reader, TransformerModel& model) {
  if (const auto given = reader.any({"head_dim", "attention_head_dim"})) {
    model.head_width = static_cast<int>(given->integer(1, 1 << 16).value_or(1));
    return;
  }
  model.head_width = model.hidden / std::max(model.heads, 1);
  if (model.hidden % std::max(model.heads, 1) != 0 && !reader.has("kv_lora_rank"))
    reader.map().fault_at_key(
        fmt::format("hidden_size {} does not divide by {} heads", model.hidden, model.heads),
        "head_dim would say the width");
}

void read_biases(Reader& reader, const HfArchitecture& architecture, TransformerModel& model) {
  model.norm = architecture.norm;
  model.position = architecture.position;
  model.gated = architecture.gated;
  model.linear_bias = reader.flag("use_bias", architecture.linear_bias);
  model.qkv_bias = architecture.qkv_bias && !model.linear_bias;
  if (reader.has("qkv_bias")) model.qkv_bias = reader.flag("qkv_bias", model.qkv_bias);
  const bool bias = reader.flag("attention_bias", false) || reader.flag("bias", false);
  if (bias && !model.linear_bias) {
    model.qkv_bias = true;
    model.attention_output_bias = architecture.attention_bias_all;
  }
  if (reader.has("attention_out_bias"))
    model.attention_output_bias = reader.flag("attention_out_bias", false);
  if (reader.flag("mlp_bias", false)) {
    if (model.qkv_bias && model.attention_output_bias)
      model.linear_bias = true;
    else
      reader.any({"mlp_bias"})->fault("a bias in the feed-forward only is not understood");
  }
  model.query_key_norm = reader.flag("use_qk_norm", architecture.query_key_norm);
  model.tied_embeddings = reader.flag("tie_word_embeddings", architecture.tied);
  model.embedding_norm = architecture.embedding_norm;
}

void read_latent(Reader& reader, TransformerModel& model) {
  if (!reader.has("kv_lora_rank")) return;
  LatentAttention& latent = model.latent;
  latent.query_rank = reader.integer({"q_lora_rank"}, 0);
  latent.key_value_rank = reader.needed({"kv_lora_rank"});
  latent.nope_head_width = reader.needed({"qk_nope_head_dim"});
  latent.rope_head_width = reader.needed({"qk_rope_head_dim"});
  latent.value_head_width = reader.needed({"v_head_dim"});
  reader.integer({"qk_head_dim"}, 0);
  if (!reader.has("head_dim")) model.head_width = latent.value_head_width;
}

/// Which layers have experts: DeepSeek counts from 0, Qwen from 1.
void read_expert_layers(Reader& reader, Experts& experts) {
  experts.dense_layers_first = reader.integer({"first_k_dense_replace"}, 0);
  const int step = reader.integer({"decoder_sparse_step"}, 1, 1);
  if (const auto frequency = reader.any({"moe_layer_freq"})) {
    if (frequency->is_list())
      frequency->fault("a list of layers with experts is not understood",
                       "a number: every how many layers");
    else
      experts.every = static_cast<int>(frequency->integer(1, 4096).value_or(1));
  }
  if (step > 1) {
    experts.every = step;
    experts.offset = step - 1;
  }
  const auto only = reader.any({"mlp_only_layers"});
  if (!only || !only->is_list() || only->size() == 0) return;
  for (std::size_t i = 0; i < only->size(); ++i)
    if (only->item(i).integer(0, 4096) != static_cast<std::int64_t>(i))
      only->fault("dense layers that are not the first ones are not understood");
  experts.dense_layers_first = static_cast<int>(only->size());
}

void read_shared(Reader& reader, const HfArchitecture& architecture, Experts& experts) {
  experts.shared = reader.integer({"n_shared_experts", "num_shared_experts"}, 0);
  const int width = reader.integer({"shared_expert_intermediate_size"}, 0);
  experts.shared_gate = architecture.model_type == "qwen2_moe" && width > 0;
  if (width == 0) return;
  if (experts.width > 0 && width % experts.width == 0)
    experts.shared = width / experts.width;
  else
    reader.any({"shared_expert_intermediate_size"})
        ->fault(fmt::format("a shared expert of width {} beside experts of width {} is not "
                            "understood",
                            width, experts.width),
                "a multiple of the experts' width");
}

void read_experts(Reader& reader, const HfArchitecture& architecture, TransformerModel& model) {
  const auto count = reader.any({"n_routed_experts", "num_local_experts", "num_experts"});
  if (!count) return;
  if (!architecture.experts) {
    count->fault_at_key(
        fmt::format("experts in a '{}' model are not understood", architecture.model_type));
    return;
  }
  Experts& experts = model.experts;
  experts.count = static_cast<int>(count->integer(1, 1 << 16).value_or(1));
  experts.active = reader.needed({"num_experts_per_tok"});
  experts.width = reader.integer({"moe_intermediate_size"}, model.feed_forward, 1);
  // DeepSeek-V3's score correction; Kimi K2 and GLM-4.5 have the same.
  const bool corrected = reader.text({"topk_method"}) == "noaux_tc";
  experts.router_bias = corrected || architecture.model_type == "glm4_moe";
  reader.text({"scoring_func"});
  reader.integer({"ep_size"}, 1);
  read_expert_layers(reader, experts);
  read_shared(reader, architecture, experts);
}

/// What the attention of each layer sees; layers of another kind are not understood.
void read_layer_types(Reader& reader, ModelShape& shape) {
  const auto types = reader.first({"layer_types"});
  if (!types || !types->is_list()) return;
  int windows = 0;
  for (const YamlCursor& type : types->children()) {
    const std::string word = type.text().value_or("");
    const bool window = word == "sliding_attention" || word == "chunked_attention";
    windows += window ? 1 : 0;
    if (!window && word != "full_attention" && word != "attention")
      return type.fault(fmt::format("a layer of type '{}' is not understood", shown(word)));
  }
  if (windows > 0)
    shape.notes.push_back(
        fmt::format("layer_types: {} layers see a window; attention and cache "
                    "are counted over the whole sequence",
                    windows));
}

void read_work(Reader& reader, ModelShape& shape) {
  read_layer_types(reader, shape);
  shape.dtype = reader.text({"torch_dtype", "dtype"});
  const int window = reader.integer({"sliding_window"}, 0);
  if (window > 0 && reader.flag("use_sliding_window", true))
    shape.notes.push_back(
        fmt::format("sliding_window {} is not modelled: attention and cache are counted over the "
                    "whole sequence",
                    window));
  if (reader.has("quantization_config"))
    shape.notes.push_back("quantization_config is passed over: bytes per weight are the layout's");
}

/// CLIP's names (LLaVA and its kind) and SigLIP's: a square picture cut into patches.
void read_encoder(const YamlCursor& vision, const YamlCursor& root, ModelShape& shape) {
  Reader reader(vision);
  Encoder& encoder = shape.model.encoder;
  encoder.layers = reader.needed({"num_hidden_layers", "depth"});
  encoder.hidden = reader.needed({"hidden_size"});
  encoder.heads = reader.needed({"num_attention_heads", "num_heads"});
  encoder.feed_forward = reader.needed({"intermediate_size"});
  const int picture = reader.needed({"image_size"});
  const int patch = reader.needed({"patch_size"});
  const int colours = reader.integer({"num_channels", "in_channels"}, 3, 1);
  encoder.tokens = patch > 0 ? (picture / patch) * (picture / patch) : 0;
  encoder.token_values = colours * patch * patch;
  reader.first({"projection_dim", "vocab_size", "model_type"});
  Reader outer(root);
  encoder.merge = outer.integer({"spatial_merge_size"}, 1, 1);
  encoder.merge *= encoder.merge;
  reader.refuse_unknown(shape.notes);
}

void read_decoder(Reader& reader, ModelShape& shape) {
  const HfArchitecture* architecture = architecture_of(reader);
  if (architecture == nullptr) return;
  TransformerModel& model = shape.model;
  read_widths(reader, *architecture, model);
  read_head_width(reader, model);
  read_biases(reader, *architecture, model);
  read_latent(reader, model);
  read_experts(reader, *architecture, model);
  model.mtp_layers = reader.integer({"num_nextn_predict_layers", "num_mtp_modules"}, 0);
  read_work(reader, shape);
  reader.refuse_unknown(shape.notes);
}

}  // namespace

Result<ModelShape> read_hf_config(std::string_view text, const std::string& file) {
  auto document = parse_json(text, file);
  if (!document) return fail(document.error());
  drop_nulls(document->root);
  FaultList faults;
  const YamlCursor root = YamlCursor::root(*document, faults);
  ModelShape shape;
  shape.origin = kOrigin;
  if (!root.is_map()) {
    root.fault("a model's configuration is one JSON object");
    return fail(faults.take(file));
  }
  const auto decoder = root.has("text_config") ? root.find("text_config") : root;
  if (decoder && decoder->is_map()) {
    Reader reader(*decoder);
    read_decoder(reader, shape);
    if (root.has("vision_config"))
      if (const auto vision = root.find("vision_config"); vision && vision->is_map())
        read_encoder(*vision, root, shape);
  } else if (decoder) {
    decoder->fault("text_config is one JSON object");
  }
  for (const char* key : {"_name_or_path", "model_type"})
    if (shape.model.name.empty() && root.has(key))
      shape.model.name = root.find(key)->text().value_or("");
  if (faults.empty())
    for (const Diagnostic& fault : check(shape.model)) root.fault(fault.message, fault.hint);
  if (!faults.empty()) return fail(faults.take(file));
  return shape;
}

std::span<const std::string> left_out(const ModelShape& shape) {
  return shape.origin == kOrigin ? std::span<const std::string>(shape.notes)
                                 : std::span<const std::string>();
}

Result<ModelShape> read_hf_file(const std::string& path) {
  std::error_code error;
  const std::string file = std::filesystem::is_directory(path, error)
                               ? (std::filesystem::path(path) / "config.json").string()
                               : path;
  const auto text = read_text_file(file, kMaxYamlBytes);
  if (!text) return fail(text.error());
  return read_hf_config(*text, file);
}

}  // namespace pipecast
