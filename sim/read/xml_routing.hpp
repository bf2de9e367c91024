#pragma once
#include <optional>

#include "sim/model/platform.hpp"
#include "sim/read/xml_zone_graph.hpp"

namespace pipecast {

/// The way of every ordered pair of devices, written out. O(devices² · length of a way).
ExplicitRouting explicit_routing(const ZoneGraph& graph);

/// The same ways as levels, when all devices stand in flat clusters that are joined at their
/// routers: one level inside the clusters, then one for every two that are joined. Nothing when
/// they do not, or when there are too many clusters for it. O(clusters² · devices).
std::optional<LevelRouting> cluster_levels(const ZoneGraph& graph, std::size_t devices);

}  // namespace pipecast
