#include "sim/read/yaml_tree.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pipecast {
namespace {

void flow_into(const YamlNode& node, std::string& text) {
  const char* separator = "";
  switch (node.kind) {
    case YamlKind::Null:
      text += '~';
      return;
    case YamlKind::Scalar:
      text += node.text;
      return;
    case YamlKind::List:
      text += '[';
      for (const YamlNode& item : node.items) {
        text += separator;
        flow_into(item, text);
        separator = ", ";
      }
      text += ']';
      return;
    case YamlKind::Map:
      text += '{';
      for (const YamlEntry& entry : node.entries) {
        text += separator + entry.key + ": ";
        flow_into(entry.value, text);
        separator = ", ";
      }
      text += '}';
      return;
  }
}

}  // namespace

YamlExtent extent(const YamlNode& node) {
  YamlExtent total{1, node.text.size(), 0};
  const auto add = [&](const YamlNode& child) {
    const YamlExtent inner = extent(child);
    total.nodes += inner.nodes;
    total.bytes += inner.bytes;
    total.height = std::max(total.height, inner.height + 1);
  };
  for (const YamlNode& item : node.items) add(item);
  for (const YamlEntry& entry : node.entries) {
    total.bytes += entry.key.size();
    add(entry.value);
  }
  return total;
}

std::optional<std::string> place_node(YamlNode& root, std::string_view path, YamlNode value,
                                      const YamlMark& key_mark) {
  YamlNode* node = &root;
  std::string walked;
  for (;;) {
    const std::size_t dot = path.find('.');
    const std::string part(path.substr(0, dot));
    if (part.empty()) return "the key path has an empty part";
    if (node->kind == YamlKind::Null) node->kind = YamlKind::Map;
    if (node->kind == YamlKind::Scalar)
      return fmt::format("'{}' is a single value, it has no '{}'", shown(walked), shown(part));
    YamlNode* next = nullptr;
    if (node->kind == YamlKind::List) {
      const auto index = parse_integer(part);
      if (!index || *index < 0 || static_cast<std::size_t>(*index) >= node->items.size())
        return fmt::format("'{}' is a list of {}; '{}' is not one of its elements", shown(walked),
                           node->items.size(), shown(part));
      next = &node->items[static_cast<std::size_t>(*index)];
    } else {
      auto entry = std::find_if(node->entries.begin(), node->entries.end(),
                                [&](const YamlEntry& e) { return e.key == part; });
      if (entry == node->entries.end())
        entry = node->entries.insert(entry, YamlEntry{part, key_mark, YamlNode{}});
      if (dot == std::string_view::npos) entry->mark = key_mark;
      next = &entry->value;
    }
    if (dot == std::string_view::npos) {
      *next = std::move(value);
      return std::nullopt;
    }
    if (next->kind == YamlKind::Null) next->mark = key_mark;
    node = next;
    walked += (walked.empty() ? "" : ".") + part;
    path.remove_prefix(dot + 1);
  }
}

std::string flow_text(const YamlNode& node) {
  std::string text;
  flow_into(node, text);
  return text;
}

}  // namespace pipecast
