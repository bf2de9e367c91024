#include <fmt/format.h>

#include <algorithm>

#include "platforms/catalogue.hpp"
#include "platforms/cluster.hpp"

namespace pipecast {
namespace {

std::vector<Field<Cluster>> fields() {
  return network_cluster_fields(
      {"sites", "nodes", "node_devices", "accelerator", "memory", "scale_up", "scale_up_bandwidth",
       "scale_up_achieved", "scale_up_latency", "card_bandwidth", "card_achieved", "leaf_nodes",
       "leaf_oversubscription", "leaf_latency", "spine_latency", "site_bandwidth", "site_latency"});
}

Result<Platform> expand(const FieldValues& values, std::span<const NodePart> parts) {
  const std::vector<Field<Cluster>> table = fields();
  const ClusterNodes nodes(table, values, parts);
  const Cluster& cluster = nodes.machine();
  Diagnostics faults = cluster_faults("two-sites", nodes, table);
  const int site_nodes = cluster.nodes / cluster.sites;
  if (faults.empty() && site_nodes > cluster.leaf_nodes && site_nodes % cluster.leaf_nodes != 0)
    faults.push_back(input_error(fmt::format("a site has {} nodes, not a multiple of leaf_nodes {}",
                                             site_nodes, cluster.leaf_nodes)));
  if (!faults.empty()) return fail(std::move(faults));
  Platform platform = start_platform("two-sites", nodes);
  LevelRouting routing = node_levels(platform, nodes);
  const int per_node = cluster.node_devices;
  const int leaf_nodes = std::min(cluster.leaf_nodes, site_nodes);
  RoutingLevel way = empty_level("", platform.devices.size());
  extend_each(platform, way, "card", card_wires(nodes, cluster.node_devices));
  const auto add_meeting = [&](std::string name, int group_nodes) {
    routing.levels.push_back(
        meeting(way, std::move(name), blocks(platform, per_node * group_nodes)));
    routing.levels.back().lanes = lanes_of_nodes(cluster.nodes, per_node);
  };
  add_meeting("leaf", leaf_nodes);
  const auto leaf_name = [&](int leaf) {
    return fmt::format("u{}.r{} leaf", leaf / per_node, leaf % per_node);
  };
  extend_way(platform, way, rails(platform, per_node, leaf_nodes), leaf_name, [&](int leaf) {
    return leaf_wire(nodes, {leaf / per_node * leaf_nodes, leaf_nodes, 1});
  });
  if (site_nodes > leaf_nodes) add_meeting("spine", site_nodes);
  extend_way(
      platform, way, blocks(platform, per_node * site_nodes),
      [](int site) { return fmt::format("s{} line", site); },
      always({cluster.site_bandwidth, 1, (cluster.site_latency - cluster.spine_latency) / 2}));
  add_meeting("site", cluster.nodes);
  platform.routing = std::move(routing);
  return platform;
}

}  // namespace

PlatformKind two_sites_kind() {
  return {"two-sites",
          "rail-optimised clusters at several sites, joined by one long line per site",
          describe<Cluster>(fields()),
          expand,
          "nodes",
          cluster_node_fields(fields())};
}

}  // namespace pipecast
