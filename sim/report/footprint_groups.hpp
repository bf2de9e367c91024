#pragma once
#include <array>
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

/// Bytes that a rank needs and its device does not have; 0 when it fits.
Bytes missing(const RankFootprint& rank);

}  // namespace pipecast
