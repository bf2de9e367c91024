#include "sim/base/fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace pipecast {
namespace {

Dimension dimension_of(FieldKind kind) {
  switch (kind) {
    case FieldKind::Time:
      return Dimension::Time;
    case FieldKind::Memory:
      return Dimension::Memory;
    case FieldKind::Bandwidth:
      return Dimension::Bandwidth;
    case FieldKind::Compute:
      return Dimension::Compute;
    case FieldKind::Integer:
    case FieldKind::Number:
    case FieldKind::Flag:
    case FieldKind::Text:
      return Dimension::None;
  }
  return Dimension::None;
}

std::string bound_text(FieldKind kind, double bound) {
  switch (kind) {
    case FieldKind::Time:
      return format(Seconds{bound});
    case FieldKind::Memory:
      return format(Bytes{bound});
    case FieldKind::Bandwidth:
      return format(BytesPerSecond{bound});
    case FieldKind::Compute:
      return format_number(bound / 1e12) + " TFLOP/s";
    case FieldKind::Integer:
    case FieldKind::Number:
    case FieldKind::Flag:
    case FieldKind::Text:
      return format_number(bound);
  }
  return {};
}

/// Beyond every machine, and small enough that products and sums of such numbers stay finite.
constexpr double kLargest = 1e24;

std::string range_text(const FieldInfo& field) {
  if (std::isinf(field.maximum))
    return fmt::format("at least {}", bound_text(field.kind, field.minimum));
  return fmt::format("from {} to {}", bound_text(field.kind, field.minimum),
                     bound_text(field.kind, field.maximum));
}

tl::expected<FieldValue, std::string> parse_word(const FieldInfo& field, std::string_view text) {
  const std::string word(text);
  if (field.choices.empty() ||
      std::find(field.choices.begin(), field.choices.end(), word) != field.choices.end())
    return word;
  return tl::unexpected(fmt::format("'{}' is not allowed for {}; {}", word.substr(0, 40),
                                    field.name, suggest(word, field.choices)));
}

}  // namespace

tl::expected<FieldValue, std::string> parse_field(const FieldInfo& field, std::string_view text) {
  if (field.kind == FieldKind::Text) return parse_word(field, text);
  if (field.kind == FieldKind::Flag) {
    if (text == "true") return true;
    if (text == "false") return false;
    return tl::unexpected(
        fmt::format("{} must be true or false, not '{}'", field.name, text.substr(0, 40)));
  }
  tl::expected<FieldValue, std::string> value;
  double magnitude = 0;
  if (field.kind == FieldKind::Integer) {
    const auto number = parse_integer(text);
    if (!number) return tl::unexpected(number.error());
    magnitude = static_cast<double>(*number);
    value = *number;
  } else {
    const auto number = parse_quantity(text, dimension_of(field.kind));
    if (!number) return tl::unexpected(number.error());
    magnitude = *number;
    value = *number;
  }
  const bool fits_int =
      field.kind != FieldKind::Integer || std::abs(magnitude) <= std::numeric_limits<int>::max();
  if (magnitude < field.minimum || magnitude > field.maximum || !fits_int)
    return tl::unexpected(
        fmt::format("{} is {}, allowed is {}", field.name, text.substr(0, 40), range_text(field)));
  if (std::abs(magnitude) > kLargest)
    return tl::unexpected(fmt::format("'{}' is out of range", text.substr(0, 40)));
  return value;
}

Result<FieldValues> parse_fields(std::span<const FieldInfo> fields,
                                 const std::map<std::string, std::string, std::less<>>& texts) {
  Diagnostics faults;
  FieldValues values;
  std::vector<std::string> names;
  for (const FieldInfo& field : fields) {
    names.push_back(field.name);
    if (const auto value = parse_field(field, field.default_text)) values[field.name] = *value;
  }
  for (const auto& [name, text] : texts) {
    const auto field = std::find_if(fields.begin(), fields.end(),
                                    [&name = name](const FieldInfo& f) { return f.name == name; });
    if (field == fields.end()) {
      const std::string hint = names.empty() ? "it takes no parameters" : suggest(name, names);
      faults.push_back(
          input_error(fmt::format("unknown parameter '{}'", name.substr(0, 40)), hint));
      continue;
    }
    const auto value = parse_field(*field, text);
    if (value)
      values[name] = *value;
    else
      faults.push_back(input_error(value.error()));
  }
  if (!faults.empty()) return fail(std::move(faults));
  return values;
}

std::string detail::default_text(FieldKind kind, const FieldValue& value) {
  if (const auto* word = std::get_if<std::string>(&value)) return *word;
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *whole);
  const double number = std::get<double>(value);
  switch (kind) {
    case FieldKind::Time:
      return format_number(number) + " s";
    case FieldKind::Memory:
      return format_number(number) + " B";
    case FieldKind::Bandwidth:
      return format_number(number / 1e9) + " GB/s";
    case FieldKind::Compute:
      return format_number(number / 1e12) + " TFLOP/s";
    case FieldKind::Integer:
    case FieldKind::Number:
    case FieldKind::Flag:
    case FieldKind::Text:
      return format_number(number);
  }
  return {};
}

}  // namespace pipecast
