#pragma once
#include <cmath>
#include <cstdint>

namespace pipecast::search {

/// splitmix64: the same numbers on every machine for the same seed.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9U;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebU;
    return mixed ^ (mixed >> 31);
  }
  /// 0 … bound − 1.
  int below(int bound) {
    return static_cast<int>(((next() >> 32) * static_cast<std::uint64_t>(bound)) >> 32);
  }
  bool flip() { return (next() >> 63) != 0; }
  /// In (0, 1].
  double unit() { return static_cast<double>((next() >> 11) + 1) * 0x1.0p-53; }
  /// Exponentially distributed with mean 1.
  double exponential() { return -std::log(unit()); }

 private:
  std::uint64_t state_;
};

}  // namespace pipecast::search
