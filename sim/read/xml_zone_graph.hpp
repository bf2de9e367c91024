#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/model/ids.hpp"

namespace pipecast {

/// How a zone finds its ways.
enum class ZoneRouting : std::uint8_t {
  Direct,    ///< the route of the pair, as written
  Shortest,  ///< over the routes with the fewest links in all
  Star,      ///< a cluster: every host's links to the middle and back
};

/// A host or router: where it is.
struct ZonePoint {
  std::string name;
  std::int32_t zone = 0;
  std::int32_t device = -1;  ///< −1: a router
};

/// What a zone holds: points and zones, told apart by sign-free numbering in one list.
struct ZoneMember {
  std::int32_t point = -1;
  std::int32_t zone = -1;
  auto operator<=>(const ZoneMember&) const = default;
};

/// A written route: from one member to another, entering and leaving zones at points.
struct ZoneEdge {
  ZoneMember from;
  ZoneMember to;
  std::int32_t exit_point = 0;   ///< the sender itself, or the gateway of its zone
  std::int32_t entry_point = 0;  ///< the receiver itself, or the gateway of its zone
  std::vector<LinkId> links;
};

struct Zone {
  std::string name;
  std::int32_t parent = -1;
  ZoneRouting routing = ZoneRouting::Direct;
  std::vector<ZoneEdge> edges;
  std::map<std::pair<ZoneMember, ZoneMember>, std::size_t> edge_of;
  std::map<std::int32_t, std::vector<LinkId>> spoke_up;    ///< Star: [point]
  std::map<std::int32_t, std::vector<LinkId>> spoke_down;  ///< Star: [point]
};

/// Zones in zones, points in zones. Zone 0 is the outermost.
struct ZoneGraph {
  std::vector<Zone> zones;
  std::vector<ZonePoint> points;
};

/// Finds ways in a zone graph, which must outlive it and not change. Shortest ways are searched
/// once per zone and sender.
class WayFinder {
 public:
  explicit WayFinder(const ZoneGraph& graph) : graph_(graph) {}

  /// The links from one point to another, as the zones route; nothing when no route is written.
  std::optional<std::vector<LinkId>> way(std::int32_t from, std::int32_t to);

 private:
  struct Step {
    std::size_t cost = 0;
    std::size_t edge = 0;
  };
  using Steps = std::map<ZoneMember, Step>;

  const Steps& steps_from(std::int32_t zone, ZoneMember from);
  std::vector<std::size_t> path(std::int32_t zone, ZoneMember from, ZoneMember to);
  std::optional<std::vector<LinkId>> find(std::int32_t from, std::int32_t to, int depth);

  const ZoneGraph& graph_;
  std::map<std::pair<std::int32_t, ZoneMember>, Steps> searched_;
  int visits_ = 0;  ///< of one way
};

}  // namespace pipecast
