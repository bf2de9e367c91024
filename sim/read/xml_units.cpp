#include "sim/read/xml_units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "sim/read/text_file.hpp"

namespace pipecast {
namespace {

/// The number at the front of `450GBps`, and what follows it.
std::pair<std::string_view, std::string_view> cut(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size()) {
    const char c = text[end];
    const bool exponent = (c == 'e' || c == 'E') && end + 1 < text.size() &&
                          (text[end + 1] == '-' || text[end + 1] == '+' ||
                           (text[end + 1] >= '0' && text[end + 1] <= '9'));
    const bool sign =
        (c == '-' || c == '+') && (end == 0 || text[end - 1] == 'e' || text[end - 1] == 'E');
    if (!(c >= '0' && c <= '9') && c != '.' && !exponent && !sign) break;
    ++end;
  }
  std::string_view unit = text.substr(end);
  while (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
  return {text.substr(0, end), unit};
}

double prefix(std::string_view word) {
  constexpr std::array<std::pair<std::string_view, double>, 11> kPrefixes{
      {{"", 1.0},
       {"k", 1e3},
       {"K", 1e3},
       {"M", 1e6},
       {"G", 1e9},
       {"T", 1e12},
       {"P", 1e15},
       {"Ki", 1024.0},
       {"Mi", 1048576.0},
       {"Gi", 1073741824.0},
       {"Ti", 1099511627776.0}}};
  for (const auto& [name, factor] : kPrefixes)
    if (word == name) return factor;
  return 0;
}

}  // namespace

tl::expected<double, std::string> parse_simgrid_bandwidth(std::string_view text) {
  const auto [digits, unit] = cut(text);
  const auto number = parse_number(digits);
  if (!number) return tl::unexpected(number.error());
  if (unit.empty()) return *number;
  const bool is_bits = unit.ends_with("bps");
  const bool is_bytes = unit.ends_with("Bps");
  const double factor = is_bits || is_bytes ? prefix(unit.substr(0, unit.size() - 3)) : 0;
  if (factor == 0)
    return tl::unexpected(fmt::format(
        "unknown unit '{}': Bps (bytes) or bps (bits), with k, M, G, T or Ki, Mi, Gi, Ti before it",
        unit.substr(0, 20)));
  return *number * factor / (is_bits ? 8 : 1);
}

tl::expected<double, std::string> parse_simgrid_time(std::string_view text) {
  const auto [digits, unit] = cut(text);
  const auto number = parse_number(digits);
  if (!number) return tl::unexpected(number.error());
  constexpr std::array<std::pair<std::string_view, double>, 8> kUnits{{{"", 1.0},
                                                                       {"s", 1.0},
                                                                       {"ms", 1e3},
                                                                       {"us", 1e6},
                                                                       {"ns", 1e9},
                                                                       {"ps", 1e12},
                                                                       {"m", 1.0 / 60},
                                                                       {"h", 1.0 / 3600}}};
  for (const auto& [name, per_second] : kUnits)
    if (unit == name) return *number / per_second;
  return tl::unexpected(
      fmt::format("unknown unit '{}': one of ps, ns, us, ms, s, m, h", unit.substr(0, 20)));
}

tl::expected<std::vector<std::int64_t>, std::string> parse_radical(const std::string& text,
                                                                   std::size_t most) {
  std::vector<std::int64_t> numbers;
  for (std::size_t begin = 0; begin <= text.size() && !text.empty();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    const std::size_t dash = part.find('-');
    const auto first = parse_integer(part.substr(0, dash));
    const auto last = dash == std::string::npos ? first : parse_integer(part.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first)
      return tl::unexpected(fmt::format("radical '{}' is not a list of ranges", shown(text)));
    if (*last - *first >= static_cast<std::int64_t>(most - numbers.size()))
      return tl::unexpected(fmt::format("radical '{}' has more than {} hosts", shown(text), most));
    for (std::int64_t n = *first; n <= *last; ++n) numbers.push_back(n);
    begin = end + 1;
  }
  return numbers;
}

}  // namespace pipecast
