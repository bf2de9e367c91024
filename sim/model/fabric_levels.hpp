#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "sim/model/platform.hpp"

namespace pipecast {

/// A level of the fabric: where devices meet, and the links that lead there.
struct FabricLevel {
  std::string name;       ///< of the meeting point, such as "nvlink", "leaf", "spine"
  std::string links;      ///< its links' names, such as "card"; "links" when they have many
  std::size_t count = 0;  ///< of its links, one direction each

  bool operator==(const FabricLevel&) const = default;
};

struct FabricLevels {
  std::vector<FabricLevel> levels;     ///< innermost first; only those that have links
  std::vector<std::int32_t> level_of;  ///< [link]; −1: no way leads over it

  bool operator==(const FabricLevels&) const = default;
};

/// A link belongs to the innermost level whose ways use it: a card to the level where cards meet at
/// a leaf switch, the uplink of a leaf to the one where leaves meet at a spine. The wires of a
/// torus are its innermost level. A platform without levels is one, "network". O(devices · levels +
/// links).
FabricLevels fabric_levels(const Platform& platform);

/// `n0.d3 card up` → `card`: what links that differ only in where they are have in common.
std::string link_kind(const Link& link);

}  // namespace pipecast
