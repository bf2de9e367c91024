#include "platforms/building.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pipecast {

LinkId add_link(Platform& platform, std::string name, const Wire& wire) {
  platform.links.push_back(
      {std::move(name), wire.latency, wire.line_rate * wire.achieved, Sharing::Shared});
  return {static_cast<std::int32_t>(platform.links.size()) - 1};
}

Duplex add_duplex(Platform& platform, const std::string& name, const Wire& wire) {
  const LinkId up = add_link(platform, name + " up", wire);
  return {up, add_link(platform, name + " down", wire)};
}

void add_nodes(Platform& platform, int nodes, int per_node,
               const std::function<Device(int)>& device_of) {
  platform.devices.reserve(static_cast<std::size_t>(nodes) * static_cast<std::size_t>(per_node));
  for (int node = 0; node < nodes; ++node) {
    const Device device = device_of(node);
    for (int slot = 0; slot < per_node; ++slot) {
      platform.devices.push_back(device);
      platform.devices.back().name = fmt::format("n{}.d{}", node, slot);
    }
  }
}

std::vector<std::int32_t> blocks(const Platform& platform, int per_group) {
  std::vector<std::int32_t> group_of(platform.devices.size());
  for (std::size_t device = 0; device < group_of.size(); ++device)
    group_of[device] = static_cast<std::int32_t>(device) / per_group;
  return group_of;
}

std::vector<std::int32_t> rails(const Platform& platform, int per_node, int group_nodes) {
  std::vector<std::int32_t> group_of(platform.devices.size());
  for (std::size_t device = 0; device < group_of.size(); ++device) {
    const auto number = static_cast<std::int32_t>(device);
    group_of[device] = number / per_node / group_nodes * per_node + number % per_node;
  }
  return group_of;
}

RoutingLevel empty_level(std::string name, std::size_t devices) {
  RoutingLevel level;
  level.name = std::move(name);
  level.group_of.assign(devices, 0);
  level.climb.resize(devices);
  level.descend.resize(devices);
  return level;
}

void extend_way(Platform& platform, RoutingLevel& way, const std::vector<std::int32_t>& group_of,
                const NameOf& name_of, const WireOf& wire_of) {
  const auto last = std::max_element(group_of.begin(), group_of.end());
  std::vector<Duplex> wires;
  for (int group = 0; last != group_of.end() && group <= *last; ++group)
    wires.push_back(add_duplex(platform, name_of(group), wire_of(group)));
  for (std::size_t device = 0; device < group_of.size(); ++device) {
    const Duplex& mine = wires[static_cast<std::size_t>(group_of[device])];
    way.climb[device].push_back(mine.up);
    way.descend[device].insert(way.descend[device].begin(), mine.down);
  }
}

WireOf always(const Wire& wire) {
  return [wire](int) { return wire; };
}

void extend_each(Platform& platform, RoutingLevel& way, std::string_view what,
                 const WireOf& wire_of) {
  const auto name_of = [&](int device) {
    return fmt::format("{} {}", platform.devices[static_cast<std::size_t>(device)].name, what);
  };
  extend_way(platform, way, blocks(platform, 1), name_of, wire_of);
}

RoutingLevel meeting(const RoutingLevel& way, std::string name,
                     std::vector<std::int32_t> group_of) {
  RoutingLevel level = way;
  level.name = std::move(name);
  level.group_of = std::move(group_of);
  return level;
}

RoutingLevel switch_level(Platform& platform, const std::string& name,
                          std::vector<std::int32_t> group_of, const WireOf& wire_of) {
  RoutingLevel way = empty_level(name, platform.devices.size());
  extend_each(platform, way, name, [&](int device) {
    Wire half = wire_of(device);
    half.latency = half.latency / 2;
    return half;
  });
  return meeting(way, name, std::move(group_of));
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

Diagnostics device_faults(std::string_view kind, double devices) {
  if (devices <= kMaxDevices) return {};
  return {
      input_error(fmt::format("a platform of kind {} would have {:.0f} devices; at most {} are "
                              "allowed",
                              kind, devices, kMaxDevices))};
}

}  // namespace pipecast
