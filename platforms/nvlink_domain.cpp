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

Result<Platform> expand(const FieldValues& values) {
  const std::vector<Field<Cluster>> table = fields();
  const Cluster cluster = pipecast::bind<Cluster>(table, values);
  Diagnostics faults = cluster_faults("nvlink-domain", cluster, table);
  if (!faults.empty()) return fail(std::move(faults));
  Platform platform = start_platform("nvlink-domain", cluster);
  const int per_node = cluster.node_devices;
  add_nodes(platform, cluster.nodes, per_node, cluster.accelerator, cluster.memory);
  LevelRouting routing;
  routing.levels.push_back(switch_level(platform, "nvlink",
                                        blocks(platform, per_node * cluster.domain_nodes),
                                        scale_up_wire(cluster)));
  RoutingLevel way = empty_level("", platform.devices.size());
  extend_each(platform, way, "card", card_wire(cluster));
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
    extend_way(platform, way, rails(platform, per_node, cluster.leaf_nodes), leaf_name,
               leaf_wire(cluster, cluster.leaf_nodes));
    add_meeting("spine", cluster.nodes);
  }
  platform.routing = std::move(routing);
  return platform;
}

}  // namespace

PlatformKind nvlink_domain_kind() {
  return {"nvlink-domain",
          "one switch joins the devices of several nodes (NVL72); domains joined by cards",
          describe<Cluster>(fields()), expand};
}

}  // namespace pipecast
