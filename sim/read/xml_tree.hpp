#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/diagnostic.hpp"

namespace pipecast {

/// Bounds of an XML file.
inline constexpr std::size_t kMaxXmlBytes = std::size_t{64} << 20;
inline constexpr int kMaxXmlDepth = 64;
inline constexpr std::size_t kMaxXmlNodes = std::size_t{1} << 20;

/// An element with where its tag begins; text between tags is not kept.
struct XmlNode {
  std::string name;
  std::vector<std::pair<std::string, std::string>> attributes;
  std::vector<XmlNode> children;
  int line = 0;
  int column = 0;

  /// The value of an attribute, or nothing.
  const std::string* find(std::string_view attribute) const;
};

/// Text → the outermost element. Entities of the file's own are refused, nothing outside the text
/// is read. O(bytes).
Result<XmlNode> parse_xml(std::string_view text, const std::string& file);

}  // namespace pipecast
