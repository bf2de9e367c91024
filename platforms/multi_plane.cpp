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
                                 "spine_latency", "core_latency"});
}

/// Every plane is a network of its own: slot `s` of all nodes is on plane `s`, and what is meant
/// for another plane is forwarded inside the sender's node.
RoutingLevel plane_meeting(const Platform& platform, const Cluster& cluster,
                           const RoutingLevel& way, std::string name, int group_nodes) {
  RoutingLevel level =
      meeting(way, std::move(name), blocks(platform, cluster.node_devices * group_nodes));
  level.lanes = lanes_of_nodes(cluster.nodes, cluster.node_devices);
  return level;
}

Result<Platform> expand(const FieldValues& values, std::span<const NodePart> parts) {
  const std::vector<Field<Cluster>> table = fields();
  const ClusterNodes nodes(table, values, parts);
  const Cluster& cluster = nodes.machine();
  Diagnostics faults = cluster_faults("multi-plane", nodes, table);
  if (!faults.empty()) return fail(std::move(faults));
  Platform platform = start_platform("multi-plane", nodes);
  LevelRouting routing = node_levels(platform, nodes);
  RoutingLevel way = empty_level("", platform.devices.size());
  extend_each(platform, way, "card", card_wires(nodes, cluster.node_devices));
  routing.levels.push_back(plane_meeting(platform, cluster, way, "leaf", cluster.leaf_nodes));
  const int planes = cluster.node_devices;
  const auto part_name = [&](std::string_view what) {
    return [=](int group) {
      return fmt::format("plane{}.u{} {}", group % planes, group / planes, what);
    };
  };
  if (cluster.nodes > cluster.leaf_nodes) {
    extend_way(
        platform, way, rails(platform, planes, cluster.leaf_nodes), part_name("leaf"),
        [&](int group) {
          return leaf_wire(nodes, {group / planes * cluster.leaf_nodes, cluster.leaf_nodes, 1});
        });
    routing.levels.push_back(plane_meeting(platform, cluster, way, "spine", pod_size(cluster)));
  }
  if (cluster.nodes > pod_size(cluster)) {
    extend_way(
        platform, way, rails(platform, planes, cluster.pod_nodes), part_name("spine"),
        [&](int group) {
          return spine_wire(nodes, {group / planes * cluster.pod_nodes, cluster.pod_nodes, 1});
        });
    routing.levels.push_back(plane_meeting(platform, cluster, way, "core", cluster.nodes));
  }
  platform.routing = std::move(routing);
  return platform;
}

}  // namespace

PlatformKind multi_plane_kind() {
  return {"multi-plane",
          "one separate leaf–spine network per device slot; planes are joined inside the nodes",
          describe<Cluster>(fields()),
          expand,
          "nodes",
          cluster_node_fields(fields())};
}

}  // namespace pipecast
