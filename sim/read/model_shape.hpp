#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/diagnostic.hpp"
#include "sim/cost/transformer.hpp"
#include "sim/read/yaml_cursor.hpp"

namespace pipecast {

/// A model's shape and where it is from.
struct ModelShape {
  TransformerModel model;
  std::string origin;  ///< "preset llama3-8b", "config.json", "scenario"
  std::string dtype;   ///< of the stored weights, as the file says it; may be empty
  std::vector<std::string> sources;
  std::vector<std::string> unverified;  ///< keys whose value the sources do not confirm
  std::vector<std::string> notes;       ///< what a reader of results should know

  bool operator==(const ModelShape&) const = default;
};

/// Text of a preset (platforms/models/*.yaml) → value, or every fault of the file:
///
///     name: Llama 3 8B
///     layers: 32
///     hidden: 4096
///     heads: 32
///     key_value_heads: 8          # default: heads
///     head_width: 128             # default: hidden ÷ heads
///     feed_forward: 14336
///     vocabulary: 128256
///     max_position: 8192
///     norm: rmsnorm               # or layernorm
///     position: rope              # or learned, alibi
///     latent_attention: {query_rank: …, key_value_rank: …, nope_head_width: …, …}
///     experts: {count: 8, active: 2, width: 14336, shared: 0, dense_layers_first: 0}
///     encoder: {layers: 24, hidden: 1024, heads: 16, feed_forward: 4096, tokens: 576, …}
///     sources: […]
Result<ModelShape> read_model_preset(std::string_view text, const std::string& file);

/// `models/<name>.yaml` in the first of the preset folders that has it.
Result<ModelShape> find_model_preset(const std::string& name, std::span<const std::string> folders);

/// Names of all presets in the folders, sorted, each once.
std::vector<std::string> model_preset_names(std::span<const std::string> folders);

/// A `model:` block: `preset: NAME`, `hf: PATH` of a Hugging Face config.json (relative to the file
/// that holds the block), or the shape itself. Keys of the shape beside `preset` or `hf` replace
/// single values, for shortened models. Faults go to the cursor's list.
std::optional<ModelShape> read_model_block(const YamlCursor& block, const std::string& file,
                                           std::span<const std::string> folders);

}  // namespace pipecast
