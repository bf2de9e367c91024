#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/cost/transformer.hpp"

namespace pipecast {

/// What an architecture fixes without saying it in the file.
struct HfArchitecture {
  std::string_view model_type;
  Norm norm = Norm::RmsNorm;
  Position position = Position::Rope;
  bool gated = true;
  bool linear_bias = false;
  bool qkv_bias = false;
  bool query_key_norm = false;
  bool tied = false;  ///< when the file does not say
  bool embedding_norm = false;
  bool experts = false;            ///< the family has a mixture of experts
  bool attention_bias_all = true;  ///< `attention_bias` covers the output projection too
};

/// The row of a `model_type`; null when the family is not understood. O(families).
const HfArchitecture* find_hf_architecture(std::string_view model_type);

/// The architectures that are understood, sorted.
std::vector<std::string> hf_architectures();

/// What a key of a configuration that nobody asked for means.
enum class HfKey : std::uint8_t {
  Harmless,  ///< changes neither parameters nor work, whatever its value
  Neutral,   ///< changes nothing with one value: neutral_value()
  Shape,     ///< its name speaks of layers, heads, experts, widths: refused
  Unknown,   ///< in no list; its name says nothing of the shape
};
HfKey hf_key(std::string_view key);
/// The value with which a Neutral key changes nothing.
std::string_view neutral_value(std::string_view key);

/// For an architecture that is not understood: the one it is a slip of the pen of, else all. A
/// name that differs in its number only is another architecture.
std::string architecture_hint(std::string_view model_type);

}  // namespace pipecast
