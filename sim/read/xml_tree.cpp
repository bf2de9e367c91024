#include "sim/read/xml_tree.hpp"

#include <expat.h>
#include <fmt/format.h>

#include <memory>
#include <tuple>
#include <utility>

#include "sim/read/text_file.hpp"

namespace pipecast {
namespace {

// Newer expats deprecate these two for 64-bit ones that older ones lack; files here are small.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
/// Line and column of what is being parsed, from 1.
std::pair<int, int> position(XML_Parser parser) {
  return {static_cast<int>(XML_GetCurrentLineNumber(parser)),
          static_cast<int>(XML_GetCurrentColumnNumber(parser)) + 1};
}
#pragma GCC diagnostic pop

/// What the parser's callbacks share: the open elements, outermost first.
struct Building {
  XML_Parser parser = nullptr;
  XmlNode root;
  std::vector<XmlNode> open;
  std::size_t nodes = 0;
  std::string refusal;
};

void refuse(Building& building, std::string why) {
  building.refusal = std::move(why);
  XML_StopParser(building.parser, XML_FALSE);
}

void on_start(void* user, const XML_Char* name, const XML_Char** attributes) {
  Building& building = *static_cast<Building*>(user);
  if (building.open.size() >= static_cast<std::size_t>(kMaxXmlDepth))
    return refuse(building, fmt::format("elements are nested more than {} deep", kMaxXmlDepth));
  if (++building.nodes > kMaxXmlNodes)
    return refuse(building, fmt::format("the file has more than {} elements", kMaxXmlNodes));
  XmlNode node;
  node.name = name;
  std::tie(node.line, node.column) = position(building.parser);
  for (; *attributes != nullptr; attributes += 2)
    node.attributes.emplace_back(attributes[0], attributes[1]);
  building.open.push_back(std::move(node));
}

void on_end(void* user, const XML_Char*) {
  Building& building = *static_cast<Building*>(user);
  if (building.open.empty()) return;
  XmlNode done = std::move(building.open.back());
  building.open.pop_back();
  if (building.open.empty())
    building.root = std::move(done);
  else
    building.open.back().children.push_back(std::move(done));
}

void on_entity(void* user, const XML_Char*, int, const XML_Char*, int, const XML_Char*,
               const XML_Char*, const XML_Char*, const XML_Char*) {
  refuse(*static_cast<Building*>(user), "entity declarations are not allowed");
}

}  // namespace

const std::string* XmlNode::find(std::string_view attribute) const {
  for (const auto& [key, value] : attributes)
    if (key == attribute) return &value;
  return nullptr;
}

Result<XmlNode> parse_xml(std::string_view text, const std::string& file) {
  if (text.size() > kMaxXmlBytes)
    return fail(input_error(fmt::format("{} is longer than {} MiB", file, kMaxXmlBytes >> 20)));
  const std::unique_ptr<XML_ParserStruct, decltype(&XML_ParserFree)> parser(
      XML_ParserCreate("UTF-8"), XML_ParserFree);
  Building building;
  building.parser = parser.get();
  XML_SetUserData(parser.get(), &building);
  XML_SetElementHandler(parser.get(), on_start, on_end);
  XML_SetEntityDeclHandler(parser.get(), on_entity);
  const XML_Status status =
      XML_Parse(parser.get(), text.data(), static_cast<int>(text.size()), XML_TRUE);
  if (status == XML_STATUS_OK) return std::move(building.root);
  const auto [line, column] = position(parser.get());
  const LinedText lined{std::string(text)};
  const std::string why =
      building.refusal.empty() ? XML_ErrorString(XML_GetErrorCode(parser.get())) : building.refusal;
  return fail(input_error("not a platform file: " + why, {},
                          text_span(file, line, column, 1, lined.line(line))));
}

}  // namespace pipecast
