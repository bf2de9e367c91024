#pragma once
#include <string>
#include <string_view>

#include "sim/base/diagnostic.hpp"
#include "sim/read/yaml_cursor.hpp"

namespace pipecast {

/// TOML text → the same nodes as parse_yaml(): tables are maps, arrays lists, everything else text.
/// What run files use: tables, dotted and bare keys, one-line and multi-line arrays, basic and
/// literal strings (`"""` too), numbers with `_`, inline tables. Arrays of tables are refused.
/// Every fault with its line; depth and size are bounded. O(bytes).
Result<YamlDocument> parse_toml(std::string_view text, const std::string& file);

}  // namespace pipecast
