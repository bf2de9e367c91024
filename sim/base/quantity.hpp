#pragma once
#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace pipecast {

/// A number with a dimension; the base unit is in the alias below. Adding seconds to bytes does not
/// compile. Integral values up to 2^53 are exact, so whole ticks and whole bytes add without error.
template <class Dimension>
struct Quantity {
  double value = 0;

  constexpr auto operator<=>(const Quantity&) const = default;
  constexpr Quantity& operator+=(Quantity other) {
    value += other.value;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity other) {
    value -= other.value;
    return *this;
  }
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return {a.value + b.value}; }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return {a.value - b.value}; }
  friend constexpr Quantity operator*(Quantity a, double factor) { return {a.value * factor}; }
  friend constexpr Quantity operator*(double factor, Quantity a) { return {a.value * factor}; }
  friend constexpr Quantity operator/(Quantity a, double divisor) { return {a.value / divisor}; }
  friend constexpr double operator/(Quantity a, Quantity b) { return a.value / b.value; }
};

using Seconds = Quantity<struct SecondsDimension>;
using Bytes = Quantity<struct BytesDimension>;
using BytesPerSecond = Quantity<struct BytesPerSecondDimension>;
using Flops = Quantity<struct FlopsDimension>;
using FlopsPerSecond = Quantity<struct FlopsPerSecondDimension>;
using Watts = Quantity<struct WattsDimension>;
using Dollars = Quantity<struct DollarsDimension>;

constexpr Seconds operator/(Bytes amount, BytesPerSecond rate) {
  return {amount.value / rate.value};
}
constexpr Seconds operator/(Flops work, FlopsPerSecond rate) { return {work.value / rate.value}; }

/// Which unit words a text may carry.
enum class Dimension : std::uint8_t {
  Time,
  Memory,
  Bandwidth,
  Compute,
  Power,
  Money,
  None,  ///< a bare number
};

/// The unit words of a dimension as a user may write them, e.g. {"us", "ms", "s"}.
std::span<const std::string_view> unit_words(Dimension dimension);

/// Parses `18.5 ms`, `1.2 GiB`, `400 Gb/s` to the base unit (seconds, bytes, bytes/s, flop/s, W,
/// USD). Decimal digits, an optional fraction and exponent; no hexadecimal, octal, NaN or infinity;
/// bytes are rounded to whole ones. The error is a sentence without position.
tl::expected<double, std::string> parse_quantity(std::string_view text, Dimension dimension);

/// A finite decimal number with nothing behind it, or a sentence saying why not.
tl::expected<double, std::string> parse_number(std::string_view text);
tl::expected<std::int64_t, std::string> parse_integer(std::string_view text);

/// `18.522 ms`, `601 us`: the unit that keeps one to three digits before the point.
std::string format(Seconds duration);
/// `1.20 GiB`, `27.0 MiB`, `12 B`.
std::string format(Bytes amount);
std::string format(BytesPerSecond rate);
/// Shortest decimal text that reads back as the same double; no locale.
std::string format_number(double number);

}  // namespace pipecast
