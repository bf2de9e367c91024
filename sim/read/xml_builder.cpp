#include "sim/read/xml_builder.hpp"

#include <fmt/format.h>

namespace pipecast {

void XmlBuilder::unknown(const XmlNode& node) {
  source.fault(node, fmt::format("<{}> is not read here", shown(node.name)),
               "zone, host, router, link, route, zoneRoute, cluster and prop are");
}

std::string XmlBuilder::required(const XmlNode& node, std::string_view attribute) {
  if (const std::string* value = node.find(attribute)) return *value;
  source.fault(node, fmt::format("<{}> needs {}", node.name, attribute));
  return {};
}

std::int32_t XmlBuilder::add_point(const XmlNode& node, const std::string& name, std::int32_t zone,
                                   std::int32_t device) {
  const auto point = static_cast<std::int32_t>(graph.points.size());
  if (graph.points.size() == kMaxXmlPoints) {
    source.fault(node, fmt::format("more than {} hosts and routers", kMaxXmlPoints));
    return 0;
  }
  if (graph.points.size() > kMaxXmlPoints) return 0;
  graph.points.push_back({name, zone, device});
  if (!point_of.try_emplace(name, point).second)
    source.fault(node, fmt::format("two hosts or routers are named '{}'", shown(name)));
  return point;
}

std::int32_t XmlBuilder::add_device(const XmlNode& node, const std::string& name) {
  Device device;
  device.name = name;
  for (const XmlNode& child : node.children) {
    if (child.name == "disk") continue;
    if (child.name != "prop") {
      unknown(child);
      continue;
    }
    const std::string id = required(child, "id");
    const std::string value = required(child, "value");
    if (id == "accelerator" || id == "kind") device.accelerator = value;
    if (id == "memory" || id == "hbm_bytes") device.memory = {number(child, value, 0)};
    if (id == "slowdown") device.slowdown = number(child, value, 1);
  }
  if (platform.devices.size() <= kMaxXmlPoints) platform.devices.push_back(std::move(device));
  return static_cast<std::int32_t>(platform.devices.size()) - 1;
}

double XmlBuilder::number(const XmlNode& node, const std::string& text, double otherwise) {
  const auto value = parse_number(text);
  if (value && *value >= 0) return *value;
  source.fault(node, value ? fmt::format("'{}' is less than 0", shown(text)) : value.error());
  return otherwise;
}

LinkId XmlBuilder::add_link(const XmlNode& node, std::string name, double latency, double bandwidth,
                            Sharing sharing) {
  if (!(bandwidth > 0)) {
    source.fault(node, fmt::format("the bandwidth of '{}' must be greater than 0", shown(name)));
    bandwidth = 1;
  }
  if (latency < 0)
    source.fault(node, fmt::format("the latency of '{}' must be at least 0", shown(name)));
  platform.links.push_back({std::move(name), {latency}, {bandwidth}, sharing});
  return {static_cast<std::int32_t>(platform.links.size()) - 1};
}

NamedLink XmlBuilder::add_link_by_policy(const XmlNode& node, const std::string& name,
                                         double latency, double bandwidth,
                                         std::string_view policy) {
  if (policy == "SPLITDUPLEX") {
    const LinkId up = add_link(node, name + "_UP", latency, bandwidth, Sharing::Shared);
    return {up, add_link(node, name + "_DOWN", latency, bandwidth, Sharing::Shared), true};
  }
  if (policy != "SHARED" && policy != "FATPIPE")
    source.fault(node, fmt::format("sharing_policy '{}' is not read", shown(policy)),
                 "SHARED, SPLITDUPLEX and FATPIPE are");
  const LinkId link = add_link(node, name, latency, bandwidth,
                               policy == "FATPIPE" ? Sharing::FatPipe : Sharing::Shared);
  return {link, link, false};
}

void XmlBuilder::add_edge(std::int32_t zone_number, const XmlNode& node, const ZoneEdge& edge) {
  Zone& zone = graph.zones[static_cast<std::size_t>(zone_number)];
  if (!zone.edge_of.try_emplace({edge.from, edge.to}, zone.edges.size()).second) {
    source.fault(node, "a route between these two is already there",
                 "a symmetrical route counts for both directions");
    return;
  }
  zone.edges.push_back(edge);
}

}  // namespace pipecast
