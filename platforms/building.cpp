#include "platforms/building.hpp"

#include <fmt/format.h>

namespace pipecast {

LinkId add_link(Platform& platform, std::string name, const Wire& wire, Sharing sharing) {
  platform.links.push_back(
      {std::move(name), wire.latency, wire.line_rate * wire.achieved, sharing});
  return {static_cast<std::int32_t>(platform.links.size()) - 1};
}

Duplex add_duplex(Platform& platform, const std::string& name, const Wire& wire, Sharing sharing) {
  const LinkId up = add_link(platform, name + " up", wire, sharing);
  return {up, add_link(platform, name + " down", wire, sharing)};
}

void add_nodes(Platform& platform, int nodes, int per_node, const std::string& accelerator,
               Bytes memory) {
  platform.devices.reserve(static_cast<std::size_t>(nodes) * static_cast<std::size_t>(per_node));
  for (int node = 0; node < nodes; ++node)
    for (int slot = 0; slot < per_node; ++slot)
      platform.devices.push_back({fmt::format("n{}.d{}", node, slot), accelerator, memory, 1.0});
}

RoutingLevel empty_level(std::string name, std::size_t devices) {
  RoutingLevel level;
  level.name = std::move(name);
  level.group_of.assign(devices, 0);
  level.climb.resize(devices);
  level.descend.resize(devices);
  return level;
}

RoutingLevel switch_level(Platform& platform, std::string name, int nodes, int per_node,
                          Wire wire) {
  wire.latency = wire.latency / 2;
  RoutingLevel level = empty_level(std::move(name), platform.devices.size());
  for (int node = 0; node < nodes; ++node)
    for (int slot = 0; slot < per_node; ++slot) {
      const std::size_t device = static_cast<std::size_t>(node * per_node + slot);
      const Duplex ports =
          add_duplex(platform, platform.devices[device].name + " " + level.name, wire);
      level.group_of[device] = node;
      level.climb[device] = {ports.up};
      level.descend[device] = {ports.down};
    }
  return level;
}

RelayLanes lanes_of_nodes(int nodes, int per_node) {
  RelayLanes lanes;
  lanes.members.resize(static_cast<std::size_t>(nodes));
  for (int node = 0; node < nodes; ++node)
    for (int slot = 0; slot < per_node; ++slot) {
      lanes.unit_of.push_back(node);
      lanes.lane_of.push_back(slot);
      lanes.members[static_cast<std::size_t>(node)].push_back({node * per_node + slot});
    }
  return lanes;
}

Diagnostic missing_field(std::string_view kind, std::string_view field) {
  return input_error(fmt::format("a platform of kind {} needs {}", kind, field),
                     "give it, or start from a preset");
}

Diagnostics faults_of(std::string_view kind, double devices,
                      const std::vector<std::pair<std::string_view, BytesPerSecond>>& required) {
  Diagnostics faults;
  for (const auto& [name, rate] : required)
    if (!(rate.value > 0)) faults.push_back(missing_field(kind, name));
  if (devices > kMaxDevices)
    faults.push_back(
        input_error(fmt::format("a platform of kind {} would have {:.0f} devices; at "
                                "most {} are allowed",
                                kind, devices, kMaxDevices)));
  return faults;
}

}  // namespace pipecast
