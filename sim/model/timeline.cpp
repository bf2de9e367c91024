#include "sim/model/timeline.hpp"

#include <algorithm>
#include <bit>

namespace pipecast {
namespace {

std::uint64_t mix(std::uint64_t hash, double number) {
  constexpr std::uint64_t kPrime = 1099511628211ULL;
  const auto bits = std::bit_cast<std::uint64_t>(number == 0 ? 0.0 : number);  // one zero, not two
  for (int shift = 0; shift < 64; shift += 8) hash = (hash ^ ((bits >> shift) & 0xff)) * kPrime;
  return hash;
}

}  // namespace

Seconds makespan(const Timeline& timeline) {
  double latest = 0;
  for (const Interval& interval : timeline.intervals) latest = std::max(latest, interval.end_s);
  return {latest};
}

std::uint64_t digest(const Timeline& timeline) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const Interval& interval : timeline.intervals)
    hash = mix(mix(hash, interval.start_s), interval.end_s);
  return hash;
}

}  // namespace pipecast
