#include "sim/read/xml_zone.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "sim/read/platform_xml.hpp"
#include "sim/read/xml_units.hpp"
#include "sim/read/xml_zone_graph.hpp"

namespace pipecast {

SourceSpan XmlSource::where(const XmlNode& node) const {
  return text_span(file, node.line, node.column, node.name.size() + 1, text.line(node.line));
}

void XmlSource::fault(const XmlNode& node, std::string message, std::string hint) const {
  faults.add(input_error(std::move(message), std::move(hint), where(node)));
}

namespace {

/// A link as routes use it: one LinkId, or two for the directions of a SPLITDUPLEX one.
struct NamedLink {
  LinkId up;
  LinkId down;
  bool split = false;
};

constexpr std::size_t kMaxPoints = 8192;

class ZoneReader {
 public:
  explicit ZoneReader(const XmlSource& source) : source_(source) {}

  Platform read(const XmlNode& root) {
    if (root.name != "platform") {
      source_.fault(root,
                    fmt::format("the outermost element is <{}>, not <platform>", shown(root.name)));
      return {};
    }
    const std::string* version = root.find("version");
    if (version == nullptr || !version->starts_with("4"))
      source_.fault(root, "only version 4 of SimGrid's platform files is read",
                    "write version=\"4.1\"");
    std::vector<const XmlNode*> zones;
    for (const XmlNode& child : root.children)
      if (child.name == "zone" || child.name == "cluster")
        zones.push_back(&child);
      else if (child.name != "config")
        unknown(child);
    if (zones.size() != 1) {
      source_.fault(root, fmt::format("a platform has one outermost zone, not {}", zones.size()));
      return {};
    }
    declare(*zones.front(), -1);
    for (const auto& [zone, node] : pending_routes_) add_route(zone, *node);
    return finish(root);
  }

 private:
  void unknown(const XmlNode& node) {
    source_.fault(node, fmt::format("<{}> is not read here", shown(node.name)),
                  "zone, host, router, link, route, zoneRoute, cluster and prop are");
  }

  std::string required(const XmlNode& node, std::string_view attribute) {
    if (const std::string* value = node.find(attribute)) return *value;
    source_.fault(node, fmt::format("<{}> needs {}", node.name, attribute));
    return {};
  }

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
    source_.fault(node, fmt::format("{}: {}", attribute, value.error()));
    return 1;
  }

  void declare(const XmlNode& node, std::int32_t parent) {
    const auto zone = static_cast<std::int32_t>(graph_.zones.size());
    graph_.zones.push_back({required(node, "id"), parent, routing_of(node), {}, {}, {}, {}});
    if (!zone_of_.try_emplace(graph_.zones.back().name, zone).second)
      source_.fault(node, fmt::format("two zones are named '{}'", shown(graph_.zones.back().name)));
    if (node.name == "cluster") return declare_cluster(node, zone);
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
        unknown(child);
    }
  }

  ZoneRouting routing_of(const XmlNode& node) {
    if (node.name == "cluster") return ZoneRouting::Star;
    const std::string given = required(node, "routing");
    std::string word = given;
    std::transform(word.begin(), word.end(), word.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (word == "floyd" || word == "dijkstra" || word == "dijkstracache")
      return ZoneRouting::Shortest;
    if (word != "full" && word != "none" && word != "cluster" && !word.empty())
      source_.fault(node, fmt::format("routing '{}' is not read", shown(given)),
                    "Full, None, Floyd, Dijkstra, DijkstraCache and <cluster> are");
    return ZoneRouting::Direct;
  }

  std::int32_t add_point(const XmlNode& node, const std::string& name, std::int32_t zone,
                         std::int32_t device) {
    const auto point = static_cast<std::int32_t>(graph_.points.size());
    if (graph_.points.size() == kMaxPoints) {
      source_.fault(node, fmt::format("more than {} hosts and routers", kMaxPoints));
      return 0;
    }
    if (graph_.points.size() > kMaxPoints) return 0;
    graph_.points.push_back({name, zone, device});
    if (!point_of_.try_emplace(name, point).second)
      source_.fault(node, fmt::format("two hosts or routers are named '{}'", shown(name)));
    return point;
  }

  std::int32_t add_device(const XmlNode& node, const std::string& name) {
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
    if (platform_.devices.size() == kMaxExplicitDevices)
      source_.fault(node, fmt::format("more than {} hosts", kMaxExplicitDevices));
    if (platform_.devices.size() <= kMaxExplicitDevices)
      platform_.devices.push_back(std::move(device));
    return static_cast<std::int32_t>(platform_.devices.size()) - 1;
  }

  double number(const XmlNode& node, const std::string& text, double otherwise) {
    const auto value = parse_number(text);
    if (value && *value >= 0) return *value;
    source_.fault(node, value ? fmt::format("'{}' is less than 0", shown(text)) : value.error());
    return otherwise;
  }

  void declare_point(const XmlNode& node, std::int32_t zone) {
    const std::string name = required(node, "id");
    add_point(node, name, zone, node.name == "host" ? add_device(node, name) : -1);
  }

  LinkId add_link(const XmlNode& node, std::string name, double latency, double bandwidth,
                  Sharing sharing) {
    if (!(bandwidth > 0)) {
      source_.fault(node, fmt::format("the bandwidth of '{}' must be greater than 0", shown(name)));
      bandwidth = 1;
    }
    if (latency < 0)
      source_.fault(node, fmt::format("the latency of '{}' must be at least 0", shown(name)));
    platform_.links.push_back({std::move(name), {latency}, {bandwidth}, sharing});
    return {static_cast<std::int32_t>(platform_.links.size()) - 1};
  }

  NamedLink add_link_by_policy(const XmlNode& node, const std::string& name, double latency,
                               double bandwidth, std::string_view policy) {
    if (policy == "SPLITDUPLEX") {
      const LinkId up = add_link(node, name + "_UP", latency, bandwidth, Sharing::Shared);
      return {up, add_link(node, name + "_DOWN", latency, bandwidth, Sharing::Shared), true};
    }
    if (policy != "SHARED" && policy != "FATPIPE")
      source_.fault(node, fmt::format("sharing_policy '{}' is not read", shown(policy)),
                    "SHARED, SPLITDUPLEX and FATPIPE are");
    const LinkId link = add_link(node, name, latency, bandwidth,
                                 policy == "FATPIPE" ? Sharing::FatPipe : Sharing::Shared);
    return {link, link, false};
  }

  void declare_link(const XmlNode& node) {
    const std::string name = required(node, "id");
    const std::string* policy = node.find("sharing_policy");
    const NamedLink link = add_link_by_policy(
        node, name, quantity(node, "latency", parse_simgrid_time, "0s"),
        quantity(node, "bandwidth", parse_simgrid_bandwidth, ""),
        policy != nullptr ? std::string_view(*policy) : std::string_view("SHARED"));
    if (!link_of_.try_emplace(name, link).second)
      source_.fault(node, fmt::format("two links are named '{}'", shown(name)));
  }

  /// `0-7,10` → 0 … 7, 10.
  std::vector<std::int64_t> radical(const XmlNode& node) {
    std::vector<std::int64_t> numbers;
    const std::string text = required(node, "radical");
    for (std::size_t begin = 0; begin <= text.size() && !text.empty();) {
      const std::size_t end = std::min(text.find(',', begin), text.size());
      const std::string part = text.substr(begin, end - begin);
      const std::size_t dash = part.find('-');
      const auto first = parse_integer(part.substr(0, dash));
      const auto last = dash == std::string::npos ? first : parse_integer(part.substr(dash + 1));
      if (!first || !last || *first < 0 || *last < *first ||
          *last - *first >= static_cast<std::int64_t>(kMaxPoints) || numbers.size() > kMaxPoints) {
        source_.fault(node, fmt::format("radical '{}' is not a list of ranges", shown(text)),
                      "write 0-7 or 0-3,8-11");
        return {};
      }
      for (std::int64_t n = *first; n <= *last; ++n) numbers.push_back(n);
      begin = end + 1;
    }
    return numbers;
  }

  void declare_cluster(const XmlNode& node, std::int32_t zone) {
    const std::string* topology = node.find("topology");
    if (topology != nullptr && *topology != "FLAT")
      source_.fault(node, fmt::format("a cluster of topology '{}' is not read", shown(*topology)),
                    "write its hosts, links and routes, or use a kind of pipecast");
    const std::string id = required(node, "id");
    const std::string prefix = required(node, "prefix");
    const std::string suffix = required(node, "suffix");
    const double bandwidth = quantity(node, "bw", parse_simgrid_bandwidth, "");
    const double latency = quantity(node, "lat", parse_simgrid_time, "");
    const std::string* policy = node.find("sharing_policy");
    std::vector<LinkId> backbone;
    if (node.find("bb_bw") != nullptr)
      backbone = {add_link(node, id + "_backbone", quantity(node, "bb_lat", parse_simgrid_time, ""),
                           quantity(node, "bb_bw", parse_simgrid_bandwidth, ""), Sharing::Shared)};
    const std::string* router = node.find("router_id");
    const std::int32_t middle =
        add_point(node, router != nullptr ? *router : prefix + id + "_router" + suffix, zone, -1);
    graph_.zones[static_cast<std::size_t>(zone)].spoke_up[middle] = backbone;
    graph_.zones[static_cast<std::size_t>(zone)].spoke_down[middle] = backbone;
    for (const std::int64_t number : radical(node)) {
      if (source_.faults.full()) return;
      const std::string name = fmt::format("{}{}{}", prefix, number, suffix);
      const std::int32_t point = add_point(node, name, zone, add_device(node, name));
      const NamedLink link = add_link_by_policy(
          node, fmt::format("{}_link_{}", id, number), latency, bandwidth,
          policy != nullptr ? std::string_view(*policy) : std::string_view("SPLITDUPLEX"));
      add_spoke(zone, point, link, backbone);
    }
  }

  void add_spoke(std::int32_t zone, std::int32_t point, const NamedLink& link,
                 const std::vector<LinkId>& backbone) {
    Zone& star = graph_.zones[static_cast<std::size_t>(zone)];
    star.spoke_up[point] = {link.up};
    star.spoke_up[point].insert(star.spoke_up[point].end(), backbone.begin(), backbone.end());
    star.spoke_down[point] = backbone;
    star.spoke_down[point].push_back(link.down);
  }

  /// The end of a route: a point, or for zoneRoute a zone and its gateway.
  bool find_end(const XmlNode& node, std::int32_t zone, std::string_view attribute,
                std::string_view gateway, ZoneMember& member, std::int32_t& point) {
    const std::string name = required(node, attribute);
    const bool between_zones = node.name == "zoneRoute";
    const auto& names = between_zones ? zone_of_ : point_of_;
    const auto found = names.find(name);
    if (found == names.end()) {
      std::vector<std::string> known;
      for (const auto& [word, number] : names) known.push_back(word);
      source_.fault(
          node, fmt::format("there is no {} '{}'", between_zones ? "zone" : "host", shown(name)),
          suggest(name, known));
      return false;
    }
    if (!between_zones) {
      member = {found->second, -1};
      point = found->second;
      if (graph_.points[static_cast<std::size_t>(point)].zone == zone) return true;
    } else {
      member = {-1, found->second};
      const auto gate = point_of_.find(required(node, gateway));
      if (gate == point_of_.end()) {
        source_.fault(node, fmt::format("{} is not a host or router", gateway));
        return false;
      }
      point = gate->second;
      if (graph_.zones[static_cast<std::size_t>(found->second)].parent == zone) return true;
    }
    source_.fault(node, fmt::format("'{}' is not in zone '{}'", shown(name),
                                    shown(graph_.zones[static_cast<std::size_t>(zone)].name)));
    return false;
  }

  /// The links of a route there and back.
  std::pair<std::vector<LinkId>, std::vector<LinkId>> links_of(const XmlNode& node) {
    std::vector<LinkId> there;
    std::vector<LinkId> back;
    for (const XmlNode& child : node.children) {
      if (child.name != "link_ctn") {
        unknown(child);
        continue;
      }
      const std::string name = required(child, "id");
      const auto found = link_of_.find(name);
      if (found == link_of_.end()) {
        std::vector<std::string> known;
        for (const auto& [word, link] : link_of_) known.push_back(word);
        source_.fault(child, fmt::format("there is no link '{}'", shown(name)),
                      suggest(name, known));
        continue;
      }
      const std::string* direction = child.find("direction");
      const bool goes_down = direction != nullptr && *direction == "DOWN";
      if (found->second.split && direction == nullptr)
        source_.fault(child,
                      fmt::format("link '{}' is SPLITDUPLEX: say which direction", shown(name)),
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
    add_edge(zone_number, node, edge);
    if (symmetrical != nullptr && (*symmetrical == "NO" || *symmetrical == "no")) return;
    std::swap(edge.from, edge.to);
    std::swap(edge.exit_point, edge.entry_point);
    edge.links = back;
    add_edge(zone_number, node, edge);
  }

  void add_edge(std::int32_t zone_number, const XmlNode& node, const ZoneEdge& edge) {
    Zone& zone = graph_.zones[static_cast<std::size_t>(zone_number)];
    if (!zone.edge_of.try_emplace({edge.from, edge.to}, zone.edges.size()).second) {
      source_.fault(node, "a route between these two is already there",
                    "a symmetrical route counts for both directions");
      return;
    }
    zone.edges.push_back(edge);
  }

  Platform finish(const XmlNode& root) {
    if (!source_.faults.empty()) return {};
    if (platform_.devices.empty()) {
      source_.fault(root, "the platform has no hosts");
      return {};
    }
    ExplicitRouting routing;
    WayFinder finder(graph_);
    for (std::size_t from = 0; from < graph_.points.size(); ++from)
      for (std::size_t to = 0; to < graph_.points.size(); ++to) {
        const std::int32_t sender = graph_.points[from].device;
        const std::int32_t receiver = graph_.points[to].device;
        if (from == to || sender < 0 || receiver < 0) continue;
        auto links = finder.way(static_cast<std::int32_t>(from), static_cast<std::int32_t>(to));
        if (links && !links->empty())
          routing.routes[{DeviceId{sender}, DeviceId{receiver}}] = std::move(*links);
      }
    platform_.routing = std::move(routing);
    return std::move(platform_);
  }

  const XmlSource& source_;
  Platform platform_;
  ZoneGraph graph_;
  std::map<std::string, std::int32_t> zone_of_;
  std::map<std::string, std::int32_t> point_of_;
  std::map<std::string, NamedLink> link_of_;
  std::vector<std::pair<std::int32_t, const XmlNode*>> pending_routes_;
};

}  // namespace

Platform read_zones(const XmlNode& root, const XmlSource& source) {
  return ZoneReader(source).read(root);
}

}  // namespace pipecast
