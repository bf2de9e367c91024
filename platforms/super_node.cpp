#include <fmt/format.h>

#include "platforms/catalogue.hpp"
#include "platforms/cluster.hpp"

namespace pipecast {
namespace {

std::vector<Field<Cluster>> fields() {
  return network_cluster_fields({"nodes", "domain_nodes", "node_devices", "accelerator", "memory",
                                 "scale_up_bandwidth", "scale_up_achieved", "scale_up_latency",
                                 "domain_oversubscription", "domain_latency", "card_bandwidth",
                                 "card_achieved", "leaf_nodes", "leaf_oversubscription",
                                 "leaf_latency", "spine_latency"});
}

/// First tier inside the node, second tier between the nodes of a super-node.
LevelRouting add_domains(Platform& platform, const ClusterNodes& nodes) {
  const Cluster& cluster = nodes.machine();
  const int per_node = cluster.node_devices;
  LevelRouting routing;
  const WireOf whole = scale_up_wires(nodes);
  RoutingLevel way = empty_level("", platform.devices.size());
  extend_each(platform, way, "ub", [&](int device) {
    Wire port = whole(device);
    port.latency = port.latency / 2;
    return port;
  });
  routing.levels.push_back(meeting(way, "node", blocks(platform, per_node)));
  const auto uplink = [&](int node) {
    const Cluster& own = nodes.of(node);
    return Wire{own.scale_up_bandwidth * per_node / cluster.domain_oversubscription,
                own.scale_up_achieved, (cluster.domain_latency - own.scale_up_latency) / 2};
  };
  extend_way(
      platform, way, blocks(platform, per_node),
      [](int node) { return fmt::format("n{} ub", node); }, uplink);
  routing.levels.push_back(
      meeting(way, "super-node", blocks(platform, per_node * cluster.domain_nodes)));
  return routing;
}

Result<Platform> expand(const FieldValues& values, std::span<const NodePart> parts) {
  const std::vector<Field<Cluster>> table = fields();
  const ClusterNodes nodes(table, values, parts);
  const Cluster& cluster = nodes.machine();
  Diagnostics faults = cluster_faults("super-node", nodes, table);
  if (!faults.empty()) return fail(std::move(faults));
  Platform platform = start_platform("super-node", nodes);
  LevelRouting routing = add_domains(platform, nodes);
  const int per_node = cluster.node_devices;
  RoutingLevel way = empty_level("", platform.devices.size());
  extend_each(platform, way, "card", card_wires(nodes, cluster.node_devices));
  routing.levels.push_back(meeting(way, "leaf", blocks(platform, per_node * cluster.leaf_nodes)));
  if (cluster.nodes > cluster.leaf_nodes) {
    extend_way(
        platform, way, routing.levels.back().group_of,
        [](int leaf) { return fmt::format("u{} leaf", leaf); },
        [&](int leaf) {
          return leaf_wire(nodes, {leaf * cluster.leaf_nodes, cluster.leaf_nodes, per_node});
        });
    routing.levels.push_back(meeting(way, "spine", blocks(platform, per_node * cluster.nodes)));
  }
  platform.routing = std::move(routing);
  return platform;
}

}  // namespace

PlatformKind super_node_kind() {
  return {"super-node",
          "two-tier scale-up network over many nodes (CloudMatrix); super-nodes joined by cards",
          describe<Cluster>(fields()),
          expand,
          "nodes",
          cluster_node_fields(fields())};
}

}  // namespace pipecast
