#pragma once
#include <fmt/format.h>

#include <map>
#include <string>
#include <string_view>

#include "sim/model/platform.hpp"
#include "sim/read/xml_zone.hpp"
#include "sim/read/xml_zone_graph.hpp"

namespace pipecast {

/// A link as routes use it: one LinkId, or two for the directions of a SPLITDUPLEX one.
struct NamedLink {
  LinkId up;
  LinkId down;
  bool split = false;
};

/// Hosts and routers of a file that are taken on.
inline constexpr std::size_t kMaxXmlPoints = std::size_t{1} << 17U;

/// The platform and its zones as they grow while a file is read. What is wrong goes to `source`,
/// and reading goes on with something in its place.
struct XmlBuilder {
  const XmlSource& source;
  Platform platform = {};
  ZoneGraph graph = {};
  std::map<std::string, std::int32_t> point_of = {};

  void unknown(const XmlNode& node);
  /// The attribute's text; empty, and a fault, when it is missing.
  std::string required(const XmlNode& node, std::string_view attribute);
  double number(const XmlNode& node, const std::string& text, double otherwise);
  std::int32_t add_point(const XmlNode& node, const std::string& name, std::int32_t zone,
                         std::int32_t device);
  /// Its number; the element's props say what it is.
  std::int32_t add_device(const XmlNode& node, const std::string& name);
  LinkId add_link(const XmlNode& node, std::string name, double latency, double bandwidth,
                  Sharing sharing);
  NamedLink add_link_by_policy(const XmlNode& node, const std::string& name, double latency,
                               double bandwidth, std::string_view policy);
  void add_edge(std::int32_t zone_number, const XmlNode& node, const ZoneEdge& edge);

  /// What cannot be read is a fault and counts as 1.
  template <class Parse>
  double quantity(const XmlNode& node, std::string_view attribute, Parse parse,
                  std::string_view default_text) {
    const std::string* given = node.find(attribute);
    const std::string_view text = given != nullptr ? std::string_view(*given) : default_text;
    if (text.empty()) {
      required(node, attribute);
      return 1;
    }
    const auto value = parse(text);
    if (value) return *value;
    source.fault(node, fmt::format("{}: {}", attribute, value.error()));
    return 1;
  }
};

/// A <cluster> whose zone is there already: its hosts, links and ways.
void declare_cluster(XmlBuilder& build, const XmlNode& node, std::int32_t zone);

}  // namespace pipecast
