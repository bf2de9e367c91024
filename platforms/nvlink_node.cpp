#include "platforms/catalogue.hpp"
#include "platforms/cluster.hpp"

namespace pipecast {
namespace {

std::vector<Field<Cluster>> fields() {
  return cluster_fields({"node_devices", "accelerator", "memory", "scale_up_bandwidth",
                         "scale_up_achieved", "scale_up_latency"});
}

Result<Platform> expand(const FieldValues& values, std::span<const NodePart>) {
  const std::vector<Field<Cluster>> table = fields();
  const ClusterNodes node(table, values, {});
  Diagnostics faults = cluster_faults("nvlink-node", node, table);
  if (!faults.empty()) return fail(std::move(faults));
  Platform platform = start_platform("nvlink-node", node);
  platform.routing = node_levels(platform, node);
  return platform;
}

}  // namespace

PlatformKind nvlink_node_kind() {
  return {"nvlink-node", "one node: every device has a full-duplex port to a switch",
          describe<Cluster>(fields()), expand};
}

}  // namespace pipecast
