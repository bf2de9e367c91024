#pragma once
#include <cmath>
#include <cstdint>
#include <numbers>

namespace pipecast {

/// Random numbers that are the same on every machine: SplitMix64 (Steele, Lea, Flood 2014) and the
/// Box–Muller transform; the standard library's distributions are not portable.
class RandomSource {
 public:
  explicit RandomSource(std::uint64_t seed) : state_(seed) {}

  std::uint64_t bits() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31U);
  }
  /// In [0, 1).
  double uniform() { return static_cast<double>(bits() >> 11U) * 0x1.0p-53; }
  /// Mean 0, standard deviation 1.
  double normal() {
    const double radius = std::sqrt(-2 * std::log(1 - uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }

 private:
  std::uint64_t state_;
};

}  // namespace pipecast
