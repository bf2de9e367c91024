#include <fmt/format.h>

#include "platforms/catalogue.hpp"
#include "platforms/cluster.hpp"

namespace pipecast {
namespace {

std::vector<Field<Cluster>> fields() {
  return network_cluster_fields({"nodes", "node_devices", "accelerator", "memory", "scale_up",
                                 "scale_up_bandwidth", "scale_up_achieved", "scale_up_latency",
                                 "card_bandwidth", "card_achieved", "leaf_nodes", "pod_nodes",
                                 "leaf_oversubscription", "spine_oversubscription", "leaf_latency",
                                 "spine_latency", "core_latency", "cross_rail"});
}

/// A meeting point of whole nodes; another rail is reached inside the node unless by the spine.
RoutingLevel node_meeting(const Platform& platform, const Cluster& cluster, const RoutingLevel& way,
                          std::string name, int group_nodes) {
  RoutingLevel level =
      meeting(way, std::move(name), blocks(platform, cluster.node_devices * group_nodes));
  if (cluster.cross_rail == "scale-up")
    level.lanes = lanes_of_nodes(cluster.nodes, cluster.node_devices);
  return level;
}

void add_spines(Platform& platform, const ClusterNodes& nodes, RoutingLevel& way,
                LevelRouting& routing) {
  const Cluster& cluster = nodes.machine();
  const int per_node = cluster.node_devices;
  const auto leaf_name = [&](int leaf) {
    return fmt::format("u{}.r{} leaf", leaf / per_node, leaf % per_node);
  };
  const auto wire_of_leaf = [&](int leaf) {
    return leaf_wire(nodes, {leaf / per_node * cluster.leaf_nodes, cluster.leaf_nodes, 1});
  };
  extend_way(platform, way, rails(platform, per_node, cluster.leaf_nodes), leaf_name, wire_of_leaf);
  const int pod = pod_size(cluster);
  routing.levels.push_back(node_meeting(platform, cluster, way, "spine", pod));
  if (cluster.nodes <= pod) return;
  extend_way(
      platform, way, blocks(platform, per_node * pod),
      [](int group) { return fmt::format("p{} spine", group); },
      [&](int group) {
        return spine_wire(nodes, {group * pod, pod, per_node});
      });
  routing.levels.push_back(node_meeting(platform, cluster, way, "core", cluster.nodes));
}

Result<Platform> expand(const FieldValues& values, std::span<const NodePart> parts) {
  const std::vector<Field<Cluster>> table = fields();
  const ClusterNodes nodes(table, values, parts);
  const Cluster& cluster = nodes.machine();
  Diagnostics faults = cluster_faults("rail-cluster", nodes, table);
  if (!faults.empty()) return fail(std::move(faults));
  Platform platform = start_platform("rail-cluster", nodes);
  LevelRouting routing = node_levels(platform, nodes);
  RoutingLevel way = empty_level("", platform.devices.size());
  extend_each(platform, way, "card", card_wires(nodes, cluster.node_devices));
  routing.levels.push_back(node_meeting(platform, cluster, way, "leaf", cluster.leaf_nodes));
  const bool by_spine = cluster.cross_rail == "spine";
  if (by_spine)  // only cards of the same rail meet at a leaf
    routing.levels.back().group_of = rails(platform, cluster.node_devices, cluster.leaf_nodes);
  if (by_spine || cluster.nodes > cluster.leaf_nodes) add_spines(platform, nodes, way, routing);
  platform.routing = std::move(routing);
  return platform;
}

}  // namespace

PlatformKind rail_cluster_kind() {
  return {"rail-cluster",
          "nodes with one card per device; a leaf switch per rail, spines, optional core",
          describe<Cluster>(fields()),
          expand,
          "nodes",
          cluster_node_fields(fields())};
}

}  // namespace pipecast
