#include <array>

#include "platforms/building.hpp"
#include "platforms/catalogue.hpp"

namespace pipecast {
namespace {

struct Node {
  int node_devices = 8;
  std::string accelerator;
  Bytes memory;
  BytesPerSecond nvlink_bandwidth;
  double nvlink_achieved = 1;
  Seconds nvlink_latency;
};

const std::array<Field<Node>, 6> kFields{{
    {"node_devices", &Node::node_devices, "devices of the node", 1, 1024},
    {"accelerator", &Node::accelerator, "catalogue name of the device"},
    {"memory", &Node::memory, "device memory as the system reports it; 0 B: not known"},
    {"nvlink_bandwidth", &Node::nvlink_bandwidth, "line rate of a device's port, one direction", 1},
    {"nvlink_achieved", &Node::nvlink_achieved, "fraction of it that a flow reaches", 1e-3, 1},
    {"nvlink_latency", &Node::nvlink_latency, "from device to device, small message", 0, 1},
}};

Result<Platform> expand(const FieldValues& values) {
  const Node node = pipecast::bind<Node>(kFields, values);
  Diagnostics faults =
      faults_of("nvlink-node", node.node_devices, {{"nvlink_bandwidth", node.nvlink_bandwidth}});
  if (!faults.empty()) return fail(std::move(faults));
  Platform platform;
  platform.name = "nvlink-node";
  add_nodes(platform, 1, node.node_devices, node.accelerator, node.memory);
  const Wire wire{node.nvlink_bandwidth, node.nvlink_achieved, node.nvlink_latency};
  RoutingLevel level = switch_level(platform, "nvlink", 1, node.node_devices, wire);
  platform.routing = LevelRouting{{std::move(level)}};
  return platform;
}

}  // namespace

PlatformKind nvlink_node_kind() {
  return {"nvlink-node", "one node: every device has a full-duplex port to a switch",
          describe<Node>(kFields), expand};
}

}  // namespace pipecast
