#pragma once
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>

#include "platforms/platform_kind.hpp"
#include "sim/read/platform_preset.hpp"
#include "sim/read/yaml_cursor.hpp"

namespace pipecast {

/// The kind that `kind: name` names, or a fault with a suggestion.
const PlatformKind* read_platform_kind(const YamlCursor& name, std::span<const PlatformKind> kinds);

/// Reads the kind's fields of a map over `values`: each a single value, or `{value, source,
/// certainty, note}`. Keys in `also` belong to the caller, every other key is a fault. Returns what
/// was written.
std::map<std::string, StatedValue, std::less<>> read_platform_parameters(
    const YamlCursor& map, const PlatformKind& kind, std::initializer_list<std::string_view> also,
    FieldValues& values);

/// Every field of the kind at its default.
FieldValues default_values(const PlatformKind& kind);

}  // namespace pipecast
