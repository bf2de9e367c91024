#include "sim/read/xml_zone.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "sim/read/platform_xml.hpp"
#include "sim/read/xml_builder.hpp"
#include "sim/read/xml_levels.hpp"
#include "sim/read/xml_routing.hpp"
#include "sim/read/xml_units.hpp"

namespace pipecast {

SourceSpan XmlSource::where(const XmlNode& node) const {
  return text_span(file, node.line, node.column, node.name.size() + 1, text.line(node.line));
}

void XmlSource::fault(const XmlNode& node, std::string message, std::string hint) const {
  faults.add(input_error(std::move(message), std::move(hint), where(node)));
}

namespace {

class ZoneReader {
 public:
  explicit ZoneReader(const XmlSource& source) : build_{source} {}

  Platform read(const XmlNode& root) {
    if (root.name != "platform") {
      build_.source.fault(
          root, fmt::format("the outermost element is <{}>, not <platform>", shown(root.name)));
      return {};
    }
    const std::string* version = root.find("version");
    if (version == nullptr || !version->starts_with("4"))
      build_.source.fault(root, "only version 4 of SimGrid's platform files is read",
                          "write version=\"4.1\"");
    std::vector<const XmlNode*> zones;
    for (const XmlNode& child : root.children)
      if (child.name == "zone" || child.name == "cluster")
        zones.push_back(&child);
      else if (child.name != "config")
        build_.unknown(child);
    if (zones.size() != 1) {
      build_.source.fault(root,
                          fmt::format("a platform has one outermost zone, not {}", zones.size()));
      return {};
    }
    declare(*zones.front(), -1);
    for (const auto& [zone, node] : pending_routes_) add_route(zone, *node);
    return finish(root, *zones.front());
  }

 private:
  void declare(const XmlNode& node, std::int32_t parent) {
    const auto zone = static_cast<std::int32_t>(build_.graph.zones.size());
    build_.graph.zones.push_back(
        {build_.required(node, "id"), parent, routing_of(node), {}, {}, {}, {}});
    if (!zone_of_.try_emplace(build_.graph.zones.back().name, zone).second)
      build_.source.fault(
          node, fmt::format("two zones are named '{}'", shown(build_.graph.zones.back().name)));
    if (node.name == "cluster") return declare_cluster(build_, node, zone);
    for (const XmlNode& child : node.children) {
      if (child.name == "zone" || child.name == "cluster")
        declare(child, zone);
      else if (child.name == "host" || child.name == "router")
        declare_point(child, zone);
      else if (child.name == "link")
        declare_link(child);
      else if (child.name == "route" || child.name == "zoneRoute")
        pending_routes_.emplace_back(zone, &child);
      else if (child.name != "prop")
        build_.unknown(child);
    }
  }

  ZoneRouting routing_of(const XmlNode& node) {
    if (node.name == "cluster") return ZoneRouting::Star;
    const std::string given = build_.required(node, "routing");
    std::string word = given;
    std::transform(word.begin(), word.end(), word.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (word == "floyd" || word == "dijkstra" || word == "dijkstracache")
      return ZoneRouting::Shortest;
    if (word != "full" && word != "none" && word != "cluster" && !word.empty())
      build_.source.fault(node, fmt::format("routing '{}' is not read", shown(given)),
                          "Full, None, Floyd, Dijkstra, DijkstraCache and <cluster> are");
    return ZoneRouting::Direct;
  }

  void declare_point(const XmlNode& node, std::int32_t zone) {
    const std::string name = build_.required(node, "id");
    build_.add_point(node, name, zone, node.name == "host" ? build_.add_device(node, name) : -1);
  }

  void declare_link(const XmlNode& node) {
    const std::string name = build_.required(node, "id");
    const std::string* policy = node.find("sharing_policy");
    const NamedLink link = build_.add_link_by_policy(
        node, name, build_.quantity(node, "latency", parse_simgrid_time, "0s"),
        build_.quantity(node, "bandwidth", parse_simgrid_bandwidth, ""),
        policy != nullptr ? std::string_view(*policy) : std::string_view("SHARED"));
    if (!link_of_.try_emplace(name, link).second)
      build_.source.fault(node, fmt::format("two links are named '{}'", shown(name)));
  }

  /// The end of a route: a point, or for zoneRoute a zone and its gateway.
  bool find_end(const XmlNode& node, std::int32_t zone, std::string_view attribute,
                std::string_view gateway, ZoneMember& member, std::int32_t& point) {
    const std::string name = build_.required(node, attribute);
    const bool between_zones = node.name == "zoneRoute";
    const auto& names = between_zones ? zone_of_ : build_.point_of;
    const auto found = names.find(name);
    if (found == names.end()) {
      std::vector<std::string> known;
      for (const auto& [word, number] : names) known.push_back(word);
      build_.source.fault(
          node, fmt::format("there is no {} '{}'", between_zones ? "zone" : "host", shown(name)),
          suggest(name, known));
      return false;
    }
    if (!between_zones) {
      member = {found->second, -1};
      point = found->second;
      if (build_.graph.points[static_cast<std::size_t>(point)].zone == zone) return true;
    } else {
      member = {-1, found->second};
      const auto gate = build_.point_of.find(build_.required(node, gateway));
      if (gate == build_.point_of.end()) {
        build_.source.fault(node, fmt::format("{} is not a host or router", gateway));
        return false;
      }
      point = gate->second;
      if (build_.graph.zones[static_cast<std::size_t>(found->second)].parent == zone) return true;
    }
    build_.source.fault(
        node, fmt::format("'{}' is not in zone '{}'", shown(name),
                          shown(build_.graph.zones[static_cast<std::size_t>(zone)].name)));
    return false;
  }

  /// The links of a route there and back.
  std::pair<std::vector<LinkId>, std::vector<LinkId>> links_of(const XmlNode& node) {
    std::vector<LinkId> there;
    std::vector<LinkId> back;
    for (const XmlNode& child : node.children) {
      if (child.name != "link_ctn") {
        build_.unknown(child);
        continue;
      }
      const std::string name = build_.required(child, "id");
      const auto found = link_of_.find(name);
      if (found == link_of_.end()) {
        std::vector<std::string> known;
        for (const auto& [word, link] : link_of_) known.push_back(word);
        build_.source.fault(child, fmt::format("there is no link '{}'", shown(name)),
                            suggest(name, known));
        continue;
      }
      const std::string* direction = child.find("direction");
      const bool goes_down = direction != nullptr && *direction == "DOWN";
      if (found->second.split && direction == nullptr)
        build_.source.fault(
            child, fmt::format("link '{}' is SPLITDUPLEX: say which direction", shown(name)),
            "write direction=\"UP\" or direction=\"DOWN\"");
      there.push_back(goes_down ? found->second.down : found->second.up);
      back.insert(back.begin(), goes_down ? found->second.up : found->second.down);
    }
    return {there, back};
  }

  void add_route(std::int32_t zone_number, const XmlNode& node) {
    ZoneEdge edge;
    const bool from = find_end(node, zone_number, "src", "gw_src", edge.from, edge.exit_point);
    const bool to = find_end(node, zone_number, "dst", "gw_dst", edge.to, edge.entry_point);
    const auto [there, back] = links_of(node);
    const std::string* symmetrical = node.find("symmetrical");
    if (!from || !to || edge.from == edge.to) return;  // the way of a host to itself is not needed
    edge.links = there;
    build_.add_edge(zone_number, node, edge);
    if (symmetrical != nullptr && (*symmetrical == "NO" || *symmetrical == "no")) return;
    std::swap(edge.from, edge.to);
    std::swap(edge.exit_point, edge.entry_point);
    edge.links = back;
    build_.add_edge(zone_number, node, edge);
  }

  Platform finish(const XmlNode& root, const XmlNode& zone) {
    if (!build_.source.faults.empty()) return {};
    if (build_.platform.devices.empty()) {
      build_.source.fault(root, "the platform has no hosts");
      return {};
    }
    read_collectives(build_, zone);
    if (tells_levels(zone)) {
      build_.platform.routing = read_levels(build_, zone);
    } else if (build_.platform.devices.size() <= kMaxExplicitDevices) {
      build_.platform.routing = explicit_routing(build_.graph);
    } else if (auto levels = cluster_levels(build_.graph, build_.platform.devices.size())) {
      build_.platform.routing = std::move(*levels);
    } else {
      build_.source.fault(
          root,
          fmt::format("more than {} hosts, and not all of them in flat clusters that are "
                      "joined at their routers",
                      kMaxExplicitDevices),
          "the way between every two hosts is written out otherwise");
      return {};
    }
    return std::move(build_.platform);
  }

  XmlBuilder build_;
  std::map<std::string, std::int32_t> zone_of_;
  std::map<std::string, NamedLink> link_of_;
  std::vector<std::pair<std::int32_t, const XmlNode*>> pending_routes_;
};

}  // namespace

Platform read_zones(const XmlNode& root, const XmlSource& source) {
  return ZoneReader(source).read(root);
}

}  // namespace pipecast
