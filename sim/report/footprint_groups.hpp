#pragma once
#include <array>
#include <cstdint>
#include <string_view>

#include "sim/model/memory_parts.hpp"

namespace pipecast {

/// Parts of a device's memory that tables show as one column.
struct FootprintGroup {
  std::string_view name;
  MemoryPart first;
  MemoryPart last;

  double of(const MemoryParts& parts) const;
};

/// Every part is in one group, so the groups of a rank's fullest moment add up to what it needs.
inline constexpr std::array<FootprintGroup, 9> kFootprintGroups{{
    {"weights", MemoryPart::Weights, MemoryPart::Weights},
    {"gradients", MemoryPart::Gradients, MemoryPart::Gradients},
    {"optimizer", MemoryPart::Optimizer, MemoryPart::Optimizer},
    {"activations", MemoryPart::Norms, MemoryPart::Embedding},
    {"logits", MemoryPart::Logits, MemoryPart::Logits},
    {"working", MemoryPart::Working, MemoryPart::Working},
    {"transfers", MemoryPart::Transfers, MemoryPart::Transfers},
    {"gathers", MemoryPart::Gathers, MemoryPart::Gathers},
    {"allowance", MemoryPart::Workspace, MemoryPart::Fragmentation},
}};

/// Whether what a rank needs fits: nobody knows where no capacity is given.
enum class Fit : std::uint8_t { Yes, No, Unknown };
Fit fit_of(Bytes capacity, bool fits);
/// `true`, `false` or `null`, for JSON.
std::string_view json_word(Fit fit);
/// `yes`, `no` or `unknown`, for people.
std::string_view fit_word(Fit fit);

/// Bytes that a rank needs and its device does not have; 0 when it fits.
Bytes missing(const RankFootprint& rank);

}  // namespace pipecast
