#include <fmt/format.h>

#include "platforms/catalogue.hpp"
#include "platforms/cluster.hpp"

namespace pipecast {
namespace {

std::vector<Field<Cluster>> fields() {
  return network_cluster_fields(
      {"nodes", "node_devices", "node_cards", "accelerator", "memory", "scale_up",
       "scale_up_bandwidth", "scale_up_achieved", "scale_up_latency", "card_bandwidth",
       "card_achieved", "leaf_nodes", "pod_nodes", "leaf_oversubscription",
       "spine_oversubscription", "leaf_latency", "spine_latency", "core_latency"});
}

Result<Platform> expand(const FieldValues& values, std::span<const NodePart> parts) {
  const std::vector<Field<Cluster>> table = fields();
  const ClusterNodes nodes(table, values, parts);
  const Cluster& cluster = nodes.machine();
  Diagnostics faults = cluster_faults("fat-tree", nodes, table);
  if (!faults.empty()) return fail(std::move(faults));
  Platform platform = start_platform("fat-tree", nodes);
  LevelRouting routing = node_levels(platform, nodes);
  const int per_node = cluster.node_devices;
  const int cards = cluster.node_cards > 0 ? cluster.node_cards : per_node;
  RoutingLevel way = empty_level("", platform.devices.size());
  extend_way(
      platform, way, blocks(platform, per_node / cards),
      [&](int card) { return fmt::format("n{}.c{} card", card / cards, card % cards); },
      card_wires(nodes, cards));
  routing.levels.push_back(meeting(way, "leaf", blocks(platform, per_node * cluster.leaf_nodes)));
  if (cluster.nodes > cluster.leaf_nodes) {
    extend_way(
        platform, way, routing.levels.back().group_of,
        [](int leaf) { return fmt::format("u{} leaf", leaf); },
        [&](int leaf) {
          return leaf_wire(nodes, {leaf * cluster.leaf_nodes, cluster.leaf_nodes, cards});
        });
    routing.levels.push_back(meeting(way, "spine", blocks(platform, per_node * pod_size(cluster))));
  }
  if (cluster.nodes > pod_size(cluster)) {
    extend_way(
        platform, way, routing.levels.back().group_of,
        [](int pod) { return fmt::format("p{} spine", pod); },
        [&](int pod) {
          return spine_wire(nodes, {pod * cluster.pod_nodes, cluster.pod_nodes, cards});
        });
    routing.levels.push_back(meeting(way, "core", blocks(platform, per_node * cluster.nodes)));
  }
  platform.routing = std::move(routing);
  return platform;
}

}  // namespace

PlatformKind fat_tree_kind() {
  return {"fat-tree",
          "all cards of a node on the same leaf; spines, optional core; cards may be shared",
          describe<Cluster>(fields()),
          expand,
          "nodes",
          cluster_node_fields(fields())};
}

}  // namespace pipecast
