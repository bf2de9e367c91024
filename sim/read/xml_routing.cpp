#include "sim/read/xml_routing.hpp"

#include <algorithm>
#include <map>

namespace pipecast {
namespace {

using Links = std::vector<LinkId>;

/// Groups and ways of all levels together that are taken on.
constexpr std::size_t kMaxLevelEntries = std::size_t{1} << 20U;

/// A flat cluster: its router and its hosts.
struct Hub {
  std::int32_t zone = -1;
  std::int32_t router = -1;
  std::vector<std::int32_t> hosts;  ///< points
};

/// Empty when a host stands outside of a flat cluster.
std::vector<Hub> hubs_of(const ZoneGraph& graph) {
  std::map<std::int32_t, Hub> hubs;
  for (std::size_t point = 0; point < graph.points.size(); ++point) {
    const ZonePoint& here = graph.points[point];
    if (graph.zones[static_cast<std::size_t>(here.zone)].routing != ZoneRouting::Star) {
      if (here.device >= 0) return {};
      continue;
    }
    Hub& hub = hubs[here.zone];
    hub.zone = here.zone;
    if (here.device < 0)
      hub.router = static_cast<std::int32_t>(point);
    else
      hub.hosts.push_back(static_cast<std::int32_t>(point));
  }
  std::vector<Hub> result;
  for (auto& [zone, hub] : hubs)
    if (!hub.hosts.empty()) result.push_back(std::move(hub));
  return result;
}

Links joined(const Links& first, const Links& second, const Links& third) {
  Links links = first;
  links.insert(links.end(), second.begin(), second.end());
  links.insert(links.end(), third.begin(), third.end());
  return links;
}

class ClusterLevels {
 public:
  ClusterLevels(const ZoneGraph& graph, std::size_t devices)
      : graph_(graph), finder_(graph), devices_(devices), hubs_(hubs_of(graph)) {}

  std::optional<LevelRouting> build() {
    const std::size_t levels = 1 + hubs_.size() * (hubs_.size() - 1) / 2;
    if (hubs_.empty() || levels * devices_ > kMaxLevelEntries) return std::nullopt;
    LevelRouting routing;
    routing.levels.push_back(inside());
    for (std::size_t a = 0; a < hubs_.size(); ++a)
      for (std::size_t b = a + 1; b < hubs_.size(); ++b)
        if (!add_between(hubs_[a], hubs_[b], routing)) return std::nullopt;
    return routing;
  }

 private:
  RoutingLevel empty_level(std::string name) const {
    return {std::move(name), std::vector<std::int32_t>(devices_), std::vector<Links>(devices_),
            std::vector<Links>(devices_)};
  }
  std::size_t device(std::int32_t point) const {
    return static_cast<std::size_t>(graph_.points[static_cast<std::size_t>(point)].device);
  }
  Links way(std::int32_t from, std::int32_t to) { return finder_.way(from, to).value_or(Links{}); }

  /// The backbone is on the way up; from there the host's own link leads down.
  RoutingLevel inside() {
    RoutingLevel level = empty_level("cluster");
    for (std::size_t number = 0; number < hubs_.size(); ++number) {
      const Hub& hub = hubs_[number];
      const Links backbone =
          graph_.zones[static_cast<std::size_t>(hub.zone)].spoke_up.at(hub.router);
      for (const std::int32_t host : hub.hosts) {
        level.group_of[device(host)] = static_cast<std::int32_t>(number);
        level.climb[device(host)] = way(host, hub.router);
        const Links down = way(hub.router, host);
        level.descend[device(host)].assign(
            down.begin() + static_cast<std::ptrdiff_t>(backbone.size()), down.end());
      }
    }
    return level;
  }

  /// Whether hosts of the two reach each other by way of the routers, both ways or not at all.
  bool add_between(const Hub& a, const Hub& b, LevelRouting& routing) {
    const auto there = finder_.way(a.router, b.router);
    const auto back = finder_.way(b.router, a.router);
    if (there.has_value() != back.has_value()) return false;
    if (!there) return true;
    if (!by_routers(a, b, *there) || !by_routers(b, a, *back)) return false;
    RoutingLevel level = empty_level(graph_.zones[static_cast<std::size_t>(a.zone)].name + "-" +
                                     graph_.zones[static_cast<std::size_t>(b.zone)].name);
    for (std::size_t other = 0; other < devices_; ++other)
      level.group_of[other] = static_cast<std::int32_t>(other) + 1;
    for (const auto& [hub, onward] : {std::pair(&a, &*there), std::pair(&b, &*back)})
      for (const std::int32_t host : hub->hosts) {
        level.group_of[device(host)] = 0;
        level.climb[device(host)] = joined(way(host, hub->router), *onward, {});
        level.descend[device(host)] = way(hub->router, host);
      }
    routing.levels.push_back(std::move(level));
    return true;
  }

  /// Hosts of a cluster differ in their own link only, unless one of them is its gateway: the first
  /// and the last tell.
  bool by_routers(const Hub& from, const Hub& to, const Links& between) {
    for (const std::int32_t sender : {from.hosts.front(), from.hosts.back()})
      for (const std::int32_t receiver : {to.hosts.front(), to.hosts.back()})
        if (finder_.way(sender, receiver) !=
            joined(way(sender, from.router), between, way(to.router, receiver)))
          return false;
    return true;
  }

  const ZoneGraph& graph_;
  WayFinder finder_;
  std::size_t devices_;
  std::vector<Hub> hubs_;
};

}  // namespace

ExplicitRouting explicit_routing(const ZoneGraph& graph) {
  ExplicitRouting routing;
  WayFinder finder(graph);
  for (std::size_t from = 0; from < graph.points.size(); ++from)
    for (std::size_t to = 0; to < graph.points.size(); ++to) {
      const std::int32_t sender = graph.points[from].device;
      const std::int32_t receiver = graph.points[to].device;
      if (from == to || sender < 0 || receiver < 0) continue;
      auto links = finder.way(static_cast<std::int32_t>(from), static_cast<std::int32_t>(to));
      if (links && !links->empty())
        routing.routes[{DeviceId{sender}, DeviceId{receiver}}] = std::move(*links);
    }
  return routing;
}

std::optional<LevelRouting> cluster_levels(const ZoneGraph& graph, std::size_t devices) {
  return ClusterLevels(graph, devices).build();
}

}  // namespace pipecast
