#include <fmt/format.h>

#include <array>

#include "sim/read/study_parts.hpp"

namespace pipecast {
namespace {

struct LongUnit {
  std::string_view word;
  double hours;
};
constexpr std::array kLongUnits{LongUnit{"hours", 1},        LongUnit{"hour", 1},
                                LongUnit{"days", 24},        LongUnit{"day", 24},
                                LongUnit{"years", 8766},     LongUnit{"year", 8766},
                                LongUnit{"weeks", 7 * 24.0}, LongUnit{"week", 7 * 24.0}};

std::optional<double> parsed(const YamlCursor& given, const AmountRule& rule) {
  const auto word = given.text();
  if (!word) return std::nullopt;
  const auto value = parse_quantity(*word, rule.dimension);
  if (!value) {
    given.fault(fmt::format("{}: {}", given.path(), value.error()), std::string(rule.help));
    return std::nullopt;
  }
  if (*value >= rule.minimum && *value <= rule.maximum) return *value;
  given.fault(fmt::format("{} is {}, allowed is {} to {}", given.path(), format_number(*value),
                          format_number(rule.minimum), format_number(rule.maximum)),
              std::string(rule.help));
  return std::nullopt;
}

}  // namespace

std::string read_line(const YamlCursor& given) {
  const auto text = given.text();
  if (text && (text->empty() || printable(*text) != *text))
    given.fault(fmt::format("{} must be one line of printable text", given.path()));
  return text.value_or("");
}

std::optional<double> read_amount(const YamlCursor& given, const AmountRule& rule) {
  return parsed(given, rule);
}

std::optional<Uncertain> read_uncertain(const YamlCursor& given, const AmountRule& rule) {
  if (!given.is_list()) {
    const auto value = parsed(given, rule);
    return value ? std::optional(Uncertain{*value, *value}) : std::nullopt;
  }
  if (given.size() != 2) {
    given.fault(fmt::format("{} has {} entries; a range has two, the low and the high end",
                            given.path(), given.size()));
    return std::nullopt;
  }
  const auto low = parsed(given.item(0), rule);
  const auto high = parsed(given.item(1), rule);
  if (!low || !high) return std::nullopt;
  if (*low <= *high) return Uncertain{*low, *high};
  given.fault(fmt::format("{} runs from {} down to {}", given.path(), format_number(*low),
                          format_number(*high)),
              "the low end comes first");
  return std::nullopt;
}

std::optional<double> read_hours(const YamlCursor& given) {
  const auto word = given.text();
  if (!word) return std::nullopt;
  for (const LongUnit& unit : kLongUnits) {
    if (!word->ends_with(unit.word)) continue;
    const auto number =
        parse_number(std::string_view(*word).substr(0, word->size() - unit.word.size()));
    if (!number) break;
    if (*number > 0 && *number * unit.hours < 1e6) return *number * unit.hours;
    given.fault(fmt::format("{} must be more than 0 and less than a million hours", given.path()));
    return std::nullopt;
  }
  given.fault(fmt::format("{}: '{}' is not a time such as '90 days', '4 years' or '36 hours'",
                          given.path(), shown(*word)));
  return std::nullopt;
}

}  // namespace pipecast
