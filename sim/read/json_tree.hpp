#pragma once
#include <string>
#include <string_view>

#include "sim/base/diagnostic.hpp"
#include "sim/read/yaml_cursor.hpp"

namespace pipecast {

/// JSON text → the same nodes as parse_yaml(), so that one cursor reads both: objects are maps,
/// arrays lists, everything else the text it was written as, null a key without a value. Every
/// fault of form with its line: what JSON refuses, repeated keys, and the bounds of
/// yaml_cursor.hpp. No exception leaves. O(bytes).
Result<YamlDocument> parse_json(std::string_view text, const std::string& file);

/// Drops the entries of maps that have no value: in JSON `null` says "left out".
void drop_nulls(YamlNode& node);

}  // namespace pipecast
