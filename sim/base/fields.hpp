#pragma once
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "sim/base/diagnostic.hpp"
#include "sim/base/quantity.hpp"

namespace pipecast {

/// What a field's text may be.
enum class FieldKind : std::uint8_t {
  Integer,
  Number,
  Flag,
  Text,
  Time,
  Memory,
  Bandwidth,
  Compute
};

/// A field as help, documentation and readers see it. Bounds are inclusive, in the base unit.
struct FieldInfo {
  std::string name;
  FieldKind kind = FieldKind::Integer;
  double minimum = 0;
  double maximum = 0;
  std::string default_text;
  std::string help;
  std::vector<std::string> choices;  ///< for Text: the words allowed; empty: any
};

/// A parsed field: integers as int64, everything measured as a double in its base unit.
using FieldValue = std::variant<std::int64_t, double, bool, std::string>;
using FieldValues = std::map<std::string, FieldValue, std::less<>>;

/// One row of a field table: a parameter declared once, with type, bounds and help; parsing,
/// checking,
/// `--help` and the documentation all read it. The default is the member's initialiser in `Block`.
template <class Block>
struct Field {
  using Member = std::variant<int Block::*, double Block::*, bool Block::*, std::string Block::*,
                              Seconds Block::*, Bytes Block::*, BytesPerSecond Block::*,
                              FlopsPerSecond Block::*>;
  std::string_view name;
  Member member;
  std::string_view help;
  double minimum = 0;
  double maximum = std::numeric_limits<double>::infinity();
  std::vector<std::string> choices = {};
};

/// Text → value, checked against kind, bounds and choices. The error is a sentence without
/// position.
tl::expected<FieldValue, std::string> parse_field(const FieldInfo& field, std::string_view text);

/// Every field at its default, then the given texts on top; all faults in one go (unknown names
/// with a suggestion). For callers without source positions, such as `--param k=v`.
Result<FieldValues> parse_fields(std::span<const FieldInfo> fields,
                                 const std::map<std::string, std::string, std::less<>>& texts);

namespace detail {

template <class Value>
FieldKind kind_of() {
  if constexpr (std::is_same_v<Value, int>) return FieldKind::Integer;
  if constexpr (std::is_same_v<Value, double>) return FieldKind::Number;
  if constexpr (std::is_same_v<Value, bool>) return FieldKind::Flag;
  if constexpr (std::is_same_v<Value, std::string>) return FieldKind::Text;
  if constexpr (std::is_same_v<Value, Seconds>) return FieldKind::Time;
  if constexpr (std::is_same_v<Value, Bytes>) return FieldKind::Memory;
  if constexpr (std::is_same_v<Value, BytesPerSecond>) return FieldKind::Bandwidth;
  if constexpr (std::is_same_v<Value, FlopsPerSecond>) return FieldKind::Compute;
}

std::string default_text(FieldKind kind, const FieldValue& value);

template <class Value>
FieldValue to_value(const Value& member) {
  if constexpr (std::is_same_v<Value, int>)
    return static_cast<std::int64_t>(member);
  else if constexpr (std::is_same_v<Value, double> || std::is_same_v<Value, bool> ||
                     std::is_same_v<Value, std::string>)
    return member;
  else
    return member.value;
}

template <class Value>
Value from_value(const FieldValue& value) {
  if constexpr (std::is_same_v<Value, int>)
    return static_cast<int>(std::get<std::int64_t>(value));
  else if constexpr (std::is_same_v<Value, double> || std::is_same_v<Value, bool> ||
                     std::is_same_v<Value, std::string>)
    return std::get<Value>(value);
  else
    return Value{std::get<double>(value)};
}

/// Kept out of line: inlined, g++ 12 warns that a member of a wide type lies outside a narrow
/// block, although the block has no such member.
template <class Block, class Value>
[[gnu::noinline]] void assign(Block& block, Value Block::*member, const FieldValue& value) {
  block.*member = from_value<Value>(value);
}
template <class Block, class Value>
[[gnu::noinline]] FieldValue read(const Block& block, Value Block::*member) {
  return to_value<Value>(block.*member);
}

}  // namespace detail

/// The table without its types: what readers, help and documentation work with.
template <class Block>
std::vector<FieldInfo> describe(std::span<const Field<Block>> table) {
  const Block defaults{};
  std::vector<FieldInfo> result;
  for (const Field<Block>& field : table) {
    std::visit(
        [&](auto member) {
          using Value = std::remove_cvref_t<decltype(defaults.*member)>;
          const FieldKind kind = detail::kind_of<Value>();
          const FieldValue value = detail::read(defaults, member);
          result.push_back({std::string(field.name), kind, field.minimum, field.maximum,
                            detail::default_text(kind, value), std::string(field.help),
                            field.choices});
        },
        field.member);
  }
  return result;
}

/// Values (already checked by parse_field) into the block; absent names keep their default.
template <class Block>
Block bind(std::span<const Field<Block>> table, const FieldValues& values) {
  Block block{};
  for (const Field<Block>& field : table) {
    const auto found = values.find(field.name);
    if (found == values.end()) continue;
    std::visit([&](auto member) { detail::assign(block, member, found->second); }, field.member);
  }
  return block;
}

}  // namespace pipecast
