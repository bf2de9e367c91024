#include "sim/read/model_shape.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>

#include "sim/base/fields.hpp"
#include "sim/read/hf_config.hpp"

namespace pipecast {
namespace {

constexpr double kMost = 1 << 30;

const std::array<Field<TransformerModel>, 16> kModelFields{{
    {"layers", &TransformerModel::layers, "decoder layers", 1, 4096, {}},
    {"hidden", &TransformerModel::hidden, "width between layers", 1, 1 << 20, {}},
    {"heads", &TransformerModel::heads, "attention heads", 1, 1 << 16, {}},
    {"key_value_heads", &TransformerModel::key_value_heads, "of grouped queries", 1, 1 << 16, {}},
    {"head_width", &TransformerModel::head_width, "width of a head", 1, 1 << 16, {}},
    {"feed_forward", &TransformerModel::feed_forward, "of a dense layer", 1, 1 << 24, {}},
    {"vocabulary", &TransformerModel::vocabulary, "tokens, padded as trained", 1, kMost, {}},
    {"max_position", &TransformerModel::max_position, "learned positions", 1, kMost, {}},
    {"gated", &TransformerModel::gated, "two up-projections (SwiGLU)", 0, 1, {}},
    {"linear_bias", &TransformerModel::linear_bias, "every linear layer has one", 0, 1, {}},
    {"qkv_bias", &TransformerModel::qkv_bias, "query, key and value have one", 0, 1, {}},
    {"attention_output_bias", &TransformerModel::attention_output_bias, "output has one", 0, 1, {}},
    {"query_key_norm", &TransformerModel::query_key_norm, "norms of queries and keys", 0, 1, {}},
    {"tied_embeddings", &TransformerModel::tied_embeddings, "head and embedding are one", 0, 1, {}},
    {"embedding_norm", &TransformerModel::embedding_norm, "a norm after the embedding", 0, 1, {}},
    {"mtp_layers", &TransformerModel::mtp_layers, "multi-token prediction modules", 0, 64, {}},
}};

const std::array<Field<LatentAttention>, 5> kLatentFields{{
    {"query_rank", &LatentAttention::query_rank, "0: queries directly", 0, 1 << 20, {}},
    {"key_value_rank", &LatentAttention::key_value_rank, "cached latent", 1, 1 << 20, {}},
    {"nope_head_width", &LatentAttention::nope_head_width, "without rotation", 1, 1 << 16, {}},
    {"rope_head_width", &LatentAttention::rope_head_width, "with rotation", 0, 1 << 16, {}},
    {"value_head_width", &LatentAttention::value_head_width, "of a value", 1, 1 << 16, {}},
}};

const std::array<Field<Experts>, 10> kExpertFields{{
    {"count", &Experts::count, "routed experts", 1, 1 << 16, {}},
    {"active", &Experts::active, "experts of a token (top-k)", 1, 1 << 16, {}},
    {"width", &Experts::width, "feed-forward of one expert", 1, 1 << 24, {}},
    {"shared", &Experts::shared, "experts every token passes", 0, 1 << 10, {}},
    {"dense_layers_first", &Experts::dense_layers_first, "layers without experts", 0, 4096, {}},
    {"every", &Experts::every, "experts in layers l with l mod every = offset", 1, 4096, {}},
    {"offset", &Experts::offset, "see every", 0, 4095, {}},
    {"shared_gate", &Experts::shared_gate, "a gate weighs the shared ones", 0, 1, {}},
    {"router_bias", &Experts::router_bias, "one bias per expert", 0, 1, {}},
    {"capacity_factor", &Experts::capacity_factor, "0: dropless", 0, 1024, {}},
}};

const std::array<Field<Encoder>, 8> kEncoderFields{{
    {"layers", &Encoder::layers, "encoder layers", 1, 4096, {}},
    {"hidden", &Encoder::hidden, "width between layers", 1, 1 << 20, {}},
    {"heads", &Encoder::heads, "attention heads", 1, 1 << 16, {}},
    {"feed_forward", &Encoder::feed_forward, "of a layer", 1, 1 << 24, {}},
    {"gated", &Encoder::gated, "two up-projections", 0, 1, {}},
    {"tokens", &Encoder::tokens, "patches or frames per sequence", 1, 1 << 24, {}},
    {"token_values", &Encoder::token_values, "channels × patch²", 1, 1 << 24, {}},
    {"merge", &Encoder::merge, "encoder tokens per decoder token", 1, 1 << 16, {}},
}};

constexpr std::array<std::string_view, 4> kOtherKeys{"name", "norm", "position", "dtype"};
constexpr std::array<std::string_view, 3> kBlocks{"latent_attention", "experts", "encoder"};

/// Puts the given keys over the block's values. The set of keys has been checked.
template <class Block, std::size_t N>
void overlay(const YamlCursor& map, const std::array<Field<Block>, N>& table, Block& block) {
  const std::vector<FieldInfo> infos = describe<Block>(std::span<const Field<Block>>(table));
  for (std::size_t i = 0; i < N; ++i) {
    if (!map.has(table[i].name)) continue;
    const auto given = map.find(table[i].name);
    const auto value = given ? given->field(infos[i]) : std::nullopt;
    if (!value) continue;
    std::visit([&](auto member) { detail::assign(block, member, *value); }, table[i].member);
  }
}

template <class Block, std::size_t N>
std::vector<std::string> names_of(const std::array<Field<Block>, N>& table) {
  std::vector<std::string> names;
  for (const Field<Block>& field : table) names.emplace_back(field.name);
  return names;
}

/// A block inside the model: its keys, then those it cannot do without.
template <class Block, std::size_t N>
void overlay_block(const YamlCursor& model, std::string_view key,
                   const std::array<Field<Block>, N>& table,
                   std::initializer_list<std::string_view> needed, Block& block) {
  const auto given = model.find(key);
  if (!given || !given->expect_map(std::span<const std::string>(names_of(table)))) return;
  if (block == Block{})
    for (const std::string_view name : needed)
      if (!given->has(name)) given->require(name);
  overlay(*given, table, block);
}

void overlay_words(const YamlCursor& map, TransformerModel& model) {
  static constexpr std::array<const char*, 2> kNorms{"layernorm", "rmsnorm"};
  static constexpr std::array<const char*, 3> kPositions{"learned", "rope", "alibi"};
  const std::vector<std::string> norms(kNorms.begin(), kNorms.end());
  const std::vector<std::string> positions(kPositions.begin(), kPositions.end());
  if (const auto name = map.find("name")) model.name = name->text().value_or(model.name);
  if (const auto given = map.find("norm"))
    if (const auto word = given->choice(norms))
      model.norm = *word == norms[0] ? Norm::LayerNorm : Norm::RmsNorm;
  if (const auto given = map.find("position"))
    if (const auto word = given->choice(positions))
      model.position = *word == positions[0]   ? Position::Learned
                       : *word == positions[1] ? Position::Rope
                                               : Position::Alibi;
}

/// Where a key is left out and nothing was read before, it follows from others.
void derive_defaults(const YamlCursor& map, TransformerModel& model) {
  if (!map.has("key_value_heads")) model.key_value_heads = model.heads;
  if (!map.has("head_width") && model.heads > 0 && model.latent == LatentAttention{}) {
    model.head_width = model.hidden / model.heads;
    if (model.hidden % model.heads != 0)
      map.fault_at_key(
          fmt::format("hidden {} does not divide by heads {}", model.hidden, model.heads),
          "give head_width");
  }
}

enum class Base : std::uint8_t { Nothing, Another };

/// Reads the shape over `shape`; with Base::Nothing the essential keys must be there.
bool overlay_shape(const YamlCursor& map, std::initializer_list<std::string_view> also, Base base,
                   ModelShape& shape) {
  std::vector<std::string> names = names_of(kModelFields);
  names.insert(names.end(), kOtherKeys.begin(), kOtherKeys.end());
  names.insert(names.end(), kBlocks.begin(), kBlocks.end());
  names.insert(names.end(), also.begin(), also.end());
  if (!map.expect_map(std::span<const std::string>(names))) return false;
  TransformerModel& model = shape.model;
  if (base == Base::Nothing)
    for (const char* key : {"layers", "hidden", "heads", "feed_forward", "vocabulary"})
      if (!map.has(key)) map.require(key);
  overlay(map, kModelFields, model);
  overlay_words(map, model);
  overlay_block(map, "latent_attention", kLatentFields,
                {"key_value_rank", "nope_head_width", "value_head_width"}, model.latent);
  overlay_block(map, "experts", kExpertFields, {"count", "active", "width"}, model.experts);
  overlay_block(map, "encoder", kEncoderFields,
                {"layers", "hidden", "heads", "feed_forward", "tokens", "token_values"},
                model.encoder);
  if (base == Base::Nothing) derive_defaults(map, model);
  if (const auto dtype = map.find("dtype")) shape.dtype = dtype->text().value_or("");
  return true;
}

std::vector<std::string> texts(const YamlCursor& map, std::string_view key) {
  std::vector<std::string> result;
  const auto list = map.find(key);
  if (!list) return result;
  if (!list->is_list()) {
    list->fault(fmt::format("{} is a list of texts", key));
    return result;
  }
  for (const YamlCursor& item : list->children()) result.push_back(item.text().value_or(""));
  return result;
}

/// The faults of the shape as a whole, at the place of the map.
bool sound(const YamlCursor& map, const TransformerModel& model) {
  const Diagnostics faults = check(model);
  for (const Diagnostic& fault : faults) map.fault_at_key(fault.message, fault.hint);
  return faults.empty();
}

std::optional<ModelShape> base_of(const YamlCursor& block, const std::string& file,
                                  std::span<const std::string> folders) {
  const bool preset = block.has("preset");
  const YamlCursor key = *block.find(preset ? "preset" : "hf");
  const auto word = key.text();
  if (!word) return std::nullopt;
  const auto path = (std::filesystem::path(file).parent_path() / *word).string();
  Result<ModelShape> found = preset ? find_model_preset(*word, folders) : read_hf_file(path);
  if (found) return std::move(*found);
  for (const Diagnostic& fault : found.error())
    key.fault(fault.where.file.empty()
                  ? fault.message
                  : fmt::format("{}:{}: {}", fault.where.file, fault.where.line, fault.message),
              fault.hint);
  return std::nullopt;
}

}  // namespace

Result<ModelShape> read_model_preset(std::string_view text, const std::string& file) {
  const auto document = parse_yaml(text, file);
  if (!document) return fail(document.error());
  FaultList faults;
  const YamlCursor root = YamlCursor::root(*document, faults);
  ModelShape shape;
  const std::string stem = std::filesystem::path(file).stem().string();
  shape.origin = "preset " + stem;
  shape.model.name = stem;
  if (overlay_shape(root, {"sources", "notes", "unverified"}, Base::Nothing, shape)) {
    shape.sources = texts(root, "sources");
    shape.notes = texts(root, "notes");
    shape.unverified = texts(root, "unverified");
    if (faults.empty()) sound(root, shape.model);
  }
  if (!faults.empty()) return fail(faults.take(file));
  return shape;
}

Result<ModelShape> find_model_preset(const std::string& name,
                                     std::span<const std::string> folders) {
  const auto names = model_preset_names(folders);
  if (std::find(names.begin(), names.end(), name) == names.end())
    return fail(input_error(
        fmt::format("unknown model preset '{}'", shown(name)),
        names.empty() ? "there are no models in the preset folders" : suggest(name, names)));
  for (const std::string& folder : folders) {
    const auto path = std::filesystem::path(folder) / "models" / (name + ".yaml");
    std::error_code error;
    if (!std::filesystem::exists(path, error)) continue;
    const auto text = read_text_file(path.string(), kMaxYamlBytes);
    if (!text) return fail(text.error());
    return read_model_preset(*text, path.string());
  }
  return fail(input_error(fmt::format("the model preset '{}' cannot be read", shown(name))));
}

std::vector<std::string> model_preset_names(std::span<const std::string> folders) {
  std::set<std::string> names;
  for (const std::string& folder : folders) {
    std::error_code error;
    const auto models = std::filesystem::path(folder) / "models";
    for (std::filesystem::directory_iterator entry(models, error), end; !error && entry != end;
         entry.increment(error))
      if (entry->path().extension() == ".yaml") names.insert(entry->path().stem().string());
  }
  return {names.begin(), names.end()};
}

std::optional<ModelShape> read_model_block(const YamlCursor& block, const std::string& file,
                                           std::span<const std::string> folders) {
  ModelShape shape;
  shape.origin = "scenario";
  const bool based = block.is_map() && (block.has("preset") || block.has("hf"));
  if (based && block.has("preset") && block.has("hf")) {
    block.fault_at_key("a model is a preset or a Hugging Face file, not both", "leave one out");
    return std::nullopt;
  }
  if (based && block.find(block.has("preset") ? "preset" : "hf")) {
    auto base = base_of(block, file, folders);
    if (!base) return std::nullopt;
    shape = std::move(*base);
  }
  if (!overlay_shape(block, {"preset", "hf"}, based ? Base::Another : Base::Nothing, shape) ||
      !sound(block, shape.model))
    return std::nullopt;
  return shape;
}

}  // namespace pipecast
