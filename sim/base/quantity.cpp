#include "sim/base/quantity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "sim/base/whole_number.hpp"

namespace pipecast {
namespace {

/// A text of `n word` is n × factor ÷ divisor: dividing by 1e6 rounds once, multiplying by the
/// inexact 1e-6 twice, so that 200 us is the double nearest to 0.0002.
struct Unit {
  std::string_view word;
  double factor;
  double divisor = 1;
};

constexpr double kKi = 1024.0;

constexpr std::array kTime{Unit{"ns", 1, 1e9}, Unit{"us", 1, 1e6}, Unit{"ms", 1, 1e3},
                           Unit{"s", 1}};
constexpr std::array kMemory{Unit{"B", 1.0},
                             Unit{"KiB", kKi},
                             Unit{"MiB", kKi* kKi},
                             Unit{"GiB", kKi* kKi* kKi},
                             Unit{"TiB", kKi* kKi* kKi* kKi},
                             Unit{"KB", 1e3},
                             Unit{"MB", 1e6},
                             Unit{"GB", 1e9},
                             Unit{"TB", 1e12}};
constexpr std::array kBandwidth{Unit{"Mb/s", 1e6 / 8},   Unit{"Gb/s", 1e9 / 8},
                                Unit{"Tb/s", 1e12 / 8},  Unit{"MB/s", 1e6},
                                Unit{"GB/s", 1e9},       Unit{"TB/s", 1e12},
                                Unit{"MiB/s", kKi* kKi}, Unit{"GiB/s", kKi* kKi* kKi}};
constexpr std::array kCompute{Unit{"GFLOP/s", 1e9}, Unit{"TFLOP/s", 1e12}, Unit{"PFLOP/s", 1e15}};
constexpr std::array kPower{Unit{"W", 1.0}, Unit{"kW", 1e3}, Unit{"MW", 1e6}};
constexpr std::array kMoney{Unit{"USD", 1.0}};

std::span<const Unit> units(Dimension dimension) {
  switch (dimension) {
    case Dimension::Time:
      return kTime;
    case Dimension::Memory:
      return kMemory;
    case Dimension::Bandwidth:
      return kBandwidth;
    case Dimension::Compute:
      return kCompute;
    case Dimension::Power:
      return kPower;
    case Dimension::Money:
      return kMoney;
    case Dimension::None:
      return {};
  }
  return {};
}

template <std::size_t N>
constexpr std::array<std::string_view, N> words(const std::array<Unit, N>& table) {
  std::array<std::string_view, N> result{};
  for (std::size_t i = 0; i < N; ++i) result[i] = table[i].word;
  return result;
}

constexpr auto kTimeWords = words(kTime);
constexpr auto kMemoryWords = words(kMemory);
constexpr auto kBandwidthWords = words(kBandwidth);
constexpr auto kComputeWords = words(kCompute);
constexpr auto kPowerWords = words(kPower);
constexpr auto kMoneyWords = words(kMoney);

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::string joined(std::span<const std::string_view> list) {
  std::string text;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (i > 0) text += ", ";
    text += list[i];
  }
  return text;
}

/// Splits `18.5 ms` into number and unit; from_chars alone would also take "inf" and "0x".
tl::expected<std::pair<double, std::string_view>, std::string> split_number(std::string_view text) {
  text = trimmed(text);
  if (text.empty()) return tl::unexpected(std::string("a number is missing"));
  const std::size_t digit = text.front() == '-' || text.front() == '+' ? 1 : 0;
  const bool starts_well =
      text.size() > digit && ((text[digit] >= '0' && text[digit] <= '9') || text[digit] == '.');
  if (!starts_well) return tl::unexpected(fmt::format("'{}' is not a number", text.substr(0, 40)));
  if (text.size() > digit + 1 && text[digit] == '0' &&
      (text[digit + 1] == 'x' || text[digit + 1] == 'X'))
    return tl::unexpected(
        fmt::format("'{}' is hexadecimal; write a decimal number", text.substr(0, 40)));
  double number = 0;
  const char* begin = text.data() + (text.front() == '+' ? 1 : 0);
  const auto [end, error] = std::from_chars(begin, text.data() + text.size(), number);
  if (error == std::errc::result_out_of_range || !std::isfinite(number))
    return tl::unexpected(fmt::format("'{}' is out of range", text.substr(0, 40)));
  if (error != std::errc{})
    return tl::unexpected(fmt::format("'{}' is not a number", text.substr(0, 40)));
  return std::pair{number,
                   trimmed({end, static_cast<std::size_t>(text.data() + text.size() - end)})};
}

}  // namespace

std::span<const std::string_view> unit_words(Dimension dimension) {
  switch (dimension) {
    case Dimension::Time:
      return kTimeWords;
    case Dimension::Memory:
      return kMemoryWords;
    case Dimension::Bandwidth:
      return kBandwidthWords;
    case Dimension::Compute:
      return kComputeWords;
    case Dimension::Power:
      return kPowerWords;
    case Dimension::Money:
      return kMoneyWords;
    case Dimension::None:
      return {};
  }
  return {};
}

tl::expected<double, std::string> parse_quantity(std::string_view text, Dimension dimension) {
  if (dimension == Dimension::None) return parse_number(text);
  const auto parts = split_number(text);
  if (!parts) return tl::unexpected(parts.error());
  const double number = parts->first;
  const std::string_view word = parts->second;
  const std::string allowed = joined(unit_words(dimension));
  if (word.empty())
    return tl::unexpected(
        fmt::format("'{}' needs a unit: one of {}", trimmed(text).substr(0, 40), allowed));
  const auto table = units(dimension);
  const auto unit =
      std::find_if(table.begin(), table.end(), [&](const Unit& u) { return u.word == word; });
  if (unit == table.end())
    return tl::unexpected(fmt::format("unknown unit '{}': one of {}", word.substr(0, 40), allowed));
  const double value = number * unit->factor / unit->divisor;
  if (!std::isfinite(value))
    return tl::unexpected(fmt::format("'{}' is out of range", trimmed(text).substr(0, 40)));
  return dimension == Dimension::Memory ? std::round(value) : value;
}

tl::expected<double, std::string> parse_number(std::string_view text) {
  const auto parts = split_number(text);
  if (!parts) return tl::unexpected(parts.error());
  if (!parts->second.empty())
    return tl::unexpected(fmt::format("'{}' is not a number", trimmed(text).substr(0, 40)));
  return parts->first;
}

tl::expected<std::int64_t, std::string> parse_integer(std::string_view text) {
  text = trimmed(text);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc::result_out_of_range)
    return tl::unexpected(fmt::format("'{}' is out of range", text.substr(0, 40)));
  if (error != std::errc{} || end != text.data() + text.size())
    return tl::unexpected(fmt::format("'{}' is not a whole number", text.substr(0, 40)));
  const std::size_t digit = text.front() == '-' ? 1 : 0;
  if (text.size() > digit + 1 && text[digit] == '0')
    return tl::unexpected(
        fmt::format("'{}' has a leading zero; write a decimal number", text.substr(0, 40)));
  return number;
}

std::string format(Seconds duration) {
  const double magnitude = std::abs(duration.value);
  if (magnitude == 0) return "0 s";
  // What rounds to 1000 of a unit is 1 of the next.
  if (magnitude < 0.99995e-6) return fmt::format("{:.4g} ns", duration.value * 1e9);
  if (magnitude < 0.9999995e-3) return fmt::format("{:.6g} us", duration.value * 1e6);
  if (magnitude < 0.9999995) return fmt::format("{:.6g} ms", duration.value * 1e3);
  return fmt::format("{:.6g} s", duration.value);
}

std::string format(Bytes amount) {
  const double magnitude = std::abs(amount.value);
  if (magnitude < kKi) return fmt::format("{:.0f} B", amount.value);
  if (magnitude < kKi * kKi) return fmt::format("{:.2f} KiB", amount.value / kKi);
  if (magnitude < kKi * kKi * kKi) return fmt::format("{:.2f} MiB", amount.value / (kKi * kKi));
  return fmt::format("{:.2f} GiB", amount.value / (kKi * kKi * kKi));
}

std::string format(BytesPerSecond rate) {
  constexpr double kFourDigits = 9999.5e9;
  constexpr double kNoLink = 1e18;
  if (rate.value < 1e9) return fmt::format("{:.4g} MB/s", rate.value / 1e6);
  if (rate.value >= kFourDigits && rate.value < kNoLink)
    return fmt::format("{:.0f} GB/s", rate.value / 1e9);
  return fmt::format("{:.4g} GB/s", rate.value / 1e9);
}

bool is_exact_integer(double number) {
  constexpr double kFirstInexact = 9007199254740992.0;  // 2^53
  return std::abs(number) < kFirstInexact && number == std::trunc(number);
}

std::string format_number(double number) {
  if (is_exact_integer(number)) return std::to_string(static_cast<std::int64_t>(number));
  std::array<char, 32> buffer{};
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number);
  return error == std::errc{} ? std::string(buffer.data(), end) : std::string("0");
}

}  // namespace pipecast
