#pragma once
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

/// Whether a key of a configuration may change parameters or work, judged by its name: such a key
/// is refused unless it is understood.
bool may_change_shape(std::string_view key);

}  // namespace pipecast
