#include "sim/report/footprint_groups.hpp"

#include <algorithm>

namespace pipecast {

double FootprintGroup::of(const MemoryParts& parts) const {
  double bytes = 0;
  for (auto part = static_cast<std::size_t>(first); part <= static_cast<std::size_t>(last); ++part)
    bytes += parts.bytes[part];
  return bytes;
}

Bytes missing(const RankFootprint& rank) {
  return {rank.fits ? 0.0 : std::max(0.0, rank.needed.value - rank.capacity.value)};
}

}  // namespace pipecast
