#pragma once
#include <cmath>
#include <cstdint>
#include <vector>

namespace pipecast::testing {

/// Random numbers that are the same on every machine (SplitMix64); the standard library's
/// distributions are not.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t bits() {
    std::uint64_t word = state_ += 0x9e3779b97f4a7c15ULL;
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9ULL;
    word = (word ^ (word >> 27)) * 0x94d049bb133111ebULL;
    return word ^ (word >> 31);
  }
  /// 0 … count−1.
  int below(int count) { return static_cast<int>(bits() % static_cast<std::uint64_t>(count)); }
  /// first … last, both possible.
  int between(int first, int last) { return first + below(last - first + 1); }
  /// 0 ≤ x < 1.
  double unit() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
  bool chance(double probability) { return unit() < probability; }
  /// Every order of magnitude from low to high is as likely as any other.
  double magnitude(double low, double high) { return low * std::pow(high / low, unit()); }

  template <class T>
  T& pick(std::vector<T>& list) {
    return list[static_cast<std::size_t>(below(static_cast<int>(list.size())))];
  }

 private:
  std::uint64_t state_;
};

}  // namespace pipecast::testing
