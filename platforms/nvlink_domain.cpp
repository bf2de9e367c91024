#include <fmt/format.h>

#include "platforms/catalogue.hpp"
#include "platforms/cluster.hpp"

namespace pipecast {
namespace {

std::vector<Field<Cluster>> fields() {
  return network_cluster_fields({"nodes", "domain_nodes", "node_devices", "accelerator", "memory",
                                 "scale_up_bandwidth", "scale_up_achieved", "scale_up_latency",
                                 "card_bandwidth", "card_achieved", "leaf_nodes",
                                 "leaf_oversubscription", "leaf_latency", "spine_latency"});
}

Result<Platform> expand(const FieldValues& values, std::span<const NodePart> parts) {
  const std::vector<Field<Cluster>> table = fields();
  const ClusterNodes nodes(table, values, parts);
  const Cluster& cluster = nodes.machine();
  Diagnostics faults = cluster_faults("nvlink-domain", nodes, table);
  if (!faults.empty()) return fail(std::move(faults));
  Platform platform = start_platform("nvlink-domain", nodes);
  const int per_node = cluster.node_devices;
  LevelRouting routing;
  routing.levels.push_back(switch_level(platform, "nvlink",
                                        blocks(platform, per_node * cluster.domain_nodes),
                                        scale_up_wires(nodes)));
  RoutingLevel way = empty_level("", platform.devices.size());
  extend_each(platform, way, "card", card_wires(nodes, cluster.node_devices));
  const auto add_meeting = [&](std::string name, int group_nodes) {
    routing.levels.push_back(
        meeting(way, std::move(name), blocks(platform, per_node * group_nodes)));
    routing.levels.back().lanes = lanes_of_nodes(cluster.nodes, per_node);
  };
  add_meeting("leaf", cluster.leaf_nodes);
  if (cluster.nodes > cluster.leaf_nodes) {
    const auto leaf_name = [&](int leaf) {
      return fmt::format("u{}.r{} leaf", leaf / per_node, leaf % per_node);
    };
    extend_way(
        platform, way, rails(platform, per_node, cluster.leaf_nodes), leaf_name, [&](int leaf) {
          return leaf_wire(nodes, {leaf / per_node * cluster.leaf_nodes, cluster.leaf_nodes, 1});
        });
    add_meeting("spine", cluster.nodes);
  }
  platform.routing = std::move(routing);
  return platform;
}

}  // namespace

PlatformKind nvlink_domain_kind() {
  return {"nvlink-domain",
          "one switch joins the devices of several nodes (NVL72); domains joined by cards",
          describe<Cluster>(fields()),
          expand,
          "nodes",
          cluster_node_fields(fields())};
}

}  // namespace pipecast
