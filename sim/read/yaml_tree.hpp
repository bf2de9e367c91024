#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "sim/read/yaml_cursor.hpp"

/// Work on trees of nodes that needs no parser.
namespace pipecast {

/// Size of a tree; what an alias adds to a file.
struct YamlExtent {
  std::size_t nodes = 0;
  std::size_t bytes = 0;
  std::size_t height = 0;  ///< levels below the node
};

YamlExtent extent(const YamlNode& node);

/// Puts `value` where the dotted `path` points, making maps on the way; or a sentence why not.
std::optional<std::string> place_node(YamlNode& root, std::string_view path, YamlNode value,
                                      const YamlMark& key_mark);

/// A value as one line of YAML flow text; for tables.
std::string flow_text(const YamlNode& node);

}  // namespace pipecast
