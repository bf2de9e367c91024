#include "sim/report/footprint_groups.hpp"

#include <algorithm>

namespace pipecast {

double FootprintGroup::of(const MemoryParts& parts) const {
  double bytes = 0;
  for (auto part = static_cast<std::size_t>(first); part <= static_cast<std::size_t>(last); ++part)
    bytes += parts.bytes[part];
  return bytes;
}

Fit fit_of(Bytes capacity, bool fits) {
  if (!(capacity.value > 0)) return Fit::Unknown;
  return fits ? Fit::Yes : Fit::No;
}

std::string_view json_word(Fit fit) {
  switch (fit) {
    case Fit::Yes:
      return "true";
    case Fit::No:
      return "false";
    case Fit::Unknown:
      return "null";
  }
  return {};
}

std::string_view fit_word(Fit fit) {
  switch (fit) {
    case Fit::Yes:
      return "yes";
    case Fit::No:
      return "no";
    case Fit::Unknown:
      return "unknown";
  }
  return {};
}

Bytes missing(const RankFootprint& rank) {
  return {rank.fits ? 0.0 : std::max(0.0, rank.needed.value - rank.capacity.value)};
}

}  // namespace pipecast
