#include <array>

#include "platforms/building.hpp"
#include "platforms/catalogue.hpp"

namespace pipecast {
namespace {

struct Mesh {
  int node_devices = 8;
  std::string accelerator;
  Bytes memory;
  std::string shape = "full";
  BytesPerSecond wire_bandwidth;
  double wire_achieved = 1;
  Seconds wire_latency;
};

std::array<Field<Mesh>, 7> fields() {
  return {{
      {"node_devices", &Mesh::node_devices, "devices of the node", 1, 256},
      {"accelerator", &Mesh::accelerator, "catalogue name of the device"},
      {"memory", &Mesh::memory, "device memory as the system reports it; 0 B: not known"},
      {"shape",
       &Mesh::shape,
       "each with each; eight devices with six wires as in DGX-1; or each with two neighbours",
       0,
       0,
       {"full", "cube-mesh", "ring"}},
      {"wire_bandwidth", &Mesh::wire_bandwidth, "line rate of one wire, one direction", 1},
      {"wire_achieved", &Mesh::wire_achieved, "fraction of it that a flow reaches", 1e-3, 1},
      {"wire_latency", &Mesh::wire_latency, "from device to device over one wire", 0, 1},
  }};
}

Result<Platform> expand(const FieldValues& values, std::span<const NodePart>) {
  const Mesh mesh = pipecast::bind<Mesh>(fields(), values);
  Diagnostics faults;
  if (!(mesh.wire_bandwidth.value > 0))
    faults.push_back(missing_field("mesh-node", "wire_bandwidth"));
  if (mesh.shape == "cube-mesh" && mesh.node_devices != 8)
    faults.push_back(
        input_error("a cube-mesh has 8 devices, not " + std::to_string(mesh.node_devices)));
  if (!faults.empty()) return fail(std::move(faults));
  Platform platform;
  platform.name = "mesh-node";
  add_nodes(platform, 1, mesh.node_devices, [&](int) {
    return Device{{}, mesh.accelerator, mesh.memory, 1.0};
  });
  MeshShape shape = full_mesh(mesh.node_devices);
  if (mesh.shape == "cube-mesh") shape = cube_mesh();
  if (mesh.shape == "ring") shape = ring_mesh(mesh.node_devices);
  const Wire wire{mesh.wire_bandwidth, mesh.wire_achieved, mesh.wire_latency};
  RoutingLevel level = empty_level("mesh", platform.devices.size());
  add_mesh(platform, level, 0, mesh_plan(std::move(shape)), wire);
  platform.routing = LevelRouting{{std::move(level)}};
  return platform;
}

}  // namespace

PlatformKind mesh_node_kind() {
  return {"mesh-node", "one node: devices wired to each other (NVLink mesh, xGMI, HCCS)",
          describe<Mesh>(fields()), expand};
}

}  // namespace pipecast
