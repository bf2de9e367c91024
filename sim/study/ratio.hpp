#pragma once
#include <compare>
#include <cstdint>
#include <numeric>
#include <string>

namespace pipecast {

/// An exact fraction in lowest terms, the denominator positive. Whole ticks and counts stay far
/// below 2^31, so products of two fit.
struct Ratio {
  std::int64_t numerator = 0;
  std::int64_t denominator = 1;

  constexpr Ratio() = default;
  constexpr Ratio(std::int64_t whole) : numerator(whole) {}  // NOLINT: numbers are fractions
  /// Precondition: `below` is not 0.
  constexpr Ratio(std::int64_t above, std::int64_t below) {
    const std::int64_t common = std::gcd(above, below);
    const std::int64_t sign = below < 0 ? -1 : 1;
    numerator = sign * above / (common == 0 ? 1 : common);
    denominator = sign * below / (common == 0 ? 1 : common);
  }

  friend constexpr Ratio operator+(Ratio a, Ratio b) {
    return {a.numerator * b.denominator + b.numerator * a.denominator,
            a.denominator * b.denominator};
  }
  friend constexpr Ratio operator-(Ratio a, Ratio b) {
    return a + Ratio(-b.numerator, b.denominator);
  }
  friend constexpr Ratio operator*(Ratio a, Ratio b) {
    return {a.numerator * b.numerator, a.denominator * b.denominator};
  }
  friend constexpr Ratio operator/(Ratio a, Ratio b) {
    return {a.numerator * b.denominator, a.denominator * b.numerator};
  }
  constexpr bool operator==(const Ratio&) const = default;
  friend constexpr std::strong_ordering operator<=>(Ratio a, Ratio b) {
    return a.numerator * b.denominator <=> b.numerator * a.denominator;
  }

  constexpr double value() const {
    return static_cast<double>(numerator) / static_cast<double>(denominator);
  }
  /// `7`, `3/11`.
  std::string text() const {
    const std::string above = std::to_string(numerator);
    return denominator == 1 ? above : above + "/" + std::to_string(denominator);
  }
};

}  // namespace pipecast
