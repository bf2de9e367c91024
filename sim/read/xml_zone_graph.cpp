#include "sim/read/xml_zone_graph.hpp"

#include <algorithm>
#include <limits>
#include <set>

namespace pipecast {
namespace {

using Links = std::vector<LinkId>;

constexpr int kMaxGateways = 64;
constexpr int kMaxVisits = 4096;

void append(Links& links, const Links& more) {
  links.insert(links.end(), more.begin(), more.end());
}

/// Zones around a point, innermost first.
std::vector<std::int32_t> zones_around(const ZoneGraph& graph, std::int32_t point) {
  std::vector<std::int32_t> zones;
  for (std::int32_t zone = graph.points[static_cast<std::size_t>(point)].zone; zone >= 0;
       zone = graph.zones[static_cast<std::size_t>(zone)].parent)
    zones.push_back(zone);
  return zones;
}

/// The innermost zone that holds both points, and the members of it they are or are in.
struct Meeting {
  std::int32_t zone = -1;
  ZoneMember from;
  ZoneMember to;
};

Meeting meeting_of(const ZoneGraph& graph, std::int32_t from, std::int32_t to) {
  std::vector<std::int32_t> a = zones_around(graph, from);
  std::vector<std::int32_t> b = zones_around(graph, to);
  Meeting meeting{-1, {from, -1}, {to, -1}};
  while (!a.empty() && !b.empty() && a.back() == b.back()) {
    meeting.zone = a.back();
    a.pop_back();
    b.pop_back();
  }
  if (!a.empty()) meeting.from = {-1, a.back()};
  if (!b.empty()) meeting.to = {-1, b.back()};
  return meeting;
}

std::optional<Links> star_way(const Zone& zone, std::int32_t from, std::int32_t to) {
  Links links;
  const auto up = zone.spoke_up.find(from);
  const auto down = zone.spoke_down.find(to);
  if (up == zone.spoke_up.end() || down == zone.spoke_down.end()) return std::nullopt;
  append(links, up->second);
  for (const LinkId link : down->second)  // the backbone is crossed once
    if (std::find(links.begin(), links.end(), link) == links.end()) links.push_back(link);
  return links;
}

}  // namespace

/// Fewest links first; of equal ways the one over the point declared first.
const WayFinder::Steps& WayFinder::steps_from(std::int32_t zone_number, ZoneMember from) {
  const auto [entry, is_new] = searched_.try_emplace({zone_number, from});
  Steps& reached = entry->second;
  if (!is_new) return reached;
  const Zone& zone = graph_.zones[static_cast<std::size_t>(zone_number)];
  std::map<ZoneMember, std::vector<std::size_t>> edges_from;
  for (std::size_t edge = 0; edge < zone.edges.size(); ++edge)
    edges_from[zone.edges[edge].from].push_back(edge);
  std::set<std::pair<std::size_t, ZoneMember>> open{{0, from}};
  reached[from] = {0, std::numeric_limits<std::size_t>::max()};
  while (!open.empty()) {
    const auto [cost, member] = *open.begin();
    open.erase(open.begin());
    for (const std::size_t index : edges_from[member]) {
      const ZoneEdge& edge = zone.edges[index];
      const std::size_t total = cost + edge.links.size();
      const auto known = reached.find(edge.to);
      if (known != reached.end() && known->second.cost <= total) continue;
      if (known != reached.end()) open.erase({known->second.cost, edge.to});
      reached[edge.to] = {total, index};
      open.insert({total, edge.to});
    }
  }
  return reached;
}

/// The edges of a zone from one member to another; empty when there are none.
std::vector<std::size_t> WayFinder::path(std::int32_t zone_number, ZoneMember from, ZoneMember to) {
  const Zone& zone = graph_.zones[static_cast<std::size_t>(zone_number)];
  if (zone.routing == ZoneRouting::Direct) {
    const auto edge = zone.edge_of.find({from, to});
    if (edge == zone.edge_of.end()) return {};
    return {edge->second};
  }
  const Steps& steps = steps_from(zone_number, from);
  std::vector<std::size_t> edges;
  for (ZoneMember at = to; at != from;) {
    const auto step = steps.find(at);
    if (step == steps.end()) return {};
    edges.push_back(step->second.edge);
    at = zone.edges[step->second.edge].from;
  }
  std::reverse(edges.begin(), edges.end());
  return edges;
}

/// `depth` counts gateways inside gateways: a file can name them in a circle, or nest them so that
/// every level doubles the way.
std::optional<Links> WayFinder::find(std::int32_t from, std::int32_t to, int depth) {
  if (from == to) return Links{};
  if (depth > kMaxGateways || ++visits_ > kMaxVisits) return std::nullopt;
  const Meeting meeting = meeting_of(graph_, from, to);
  const Zone& zone = graph_.zones[static_cast<std::size_t>(meeting.zone)];
  if (zone.routing == ZoneRouting::Star) return star_way(zone, from, to);
  const std::vector<std::size_t> edges = path(meeting.zone, meeting.from, meeting.to);
  if (edges.empty()) return std::nullopt;
  Links links;
  std::int32_t at = from;
  for (const std::size_t index : edges) {
    const ZoneEdge& edge = zone.edges[index];
    const auto approach = find(at, edge.exit_point, depth + 1);
    if (!approach) return std::nullopt;
    append(links, *approach);
    append(links, edge.links);
    at = edge.entry_point;
  }
  const auto rest = find(at, to, depth + 1);
  if (!rest) return std::nullopt;
  append(links, *rest);
  return links;
}

std::optional<Links> WayFinder::way(std::int32_t from, std::int32_t to) {
  visits_ = 0;
  return find(from, to, 0);
}

}  // namespace pipecast
