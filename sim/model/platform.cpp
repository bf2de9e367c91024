#include "sim/model/platform.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <set>
#include <span>

namespace pipecast {
namespace {

/// A bandwidth at which even an exabyte takes no time that a double beside a second can show;
/// SimGrid needs a finite one.
constexpr double kUnlimitedBandwidth = 1e30;

std::vector<LinkId> links_between(const UniformRouting& routing, DeviceId, DeviceId) {
  return routing.links;
}

void append(std::vector<LinkId>& links, const std::vector<LinkId>& more) {
  links.insert(links.end(), more.begin(), more.end());
}

std::vector<LinkId> links_between(std::span<const RoutingLevel> levels, DeviceId from, DeviceId to);

/// By way of the device of the receiver's lane in the sender's unit. The way to that device may use
/// inner levels only, and behind it the lanes agree, so this ends.
std::vector<LinkId> relayed(std::span<const RoutingLevel> levels, std::size_t depth, DeviceId from,
                            DeviceId to) {
  const RelayLanes& lanes = levels[depth].lanes;
  const std::vector<DeviceId>& unit =
      lanes.members[static_cast<std::size_t>(lanes.unit_of[from.at()])];
  const DeviceId relay = unit[static_cast<std::size_t>(lanes.lane_of[to.at()])];
  std::vector<LinkId> links = links_between(levels.first(depth), from, relay);
  if (links.empty()) return {};
  const std::vector<LinkId> rest = links_between(levels.first(depth + 1), relay, to);
  if (rest.empty()) return {};
  append(links, rest);
  return links;
}

std::vector<LinkId> links_between(std::span<const RoutingLevel> levels, DeviceId from,
                                  DeviceId to) {
  for (std::size_t depth = 0; depth < levels.size(); ++depth) {
    const RoutingLevel& level = levels[depth];
    if (level.group_of[from.at()] != level.group_of[to.at()]) continue;
    if (const auto direct = level.direct.find({from, to}); direct != level.direct.end())
      return direct->second;
    if (!level.lanes.empty() && level.lanes.lane_of[from.at()] != level.lanes.lane_of[to.at()])
      return relayed(levels, depth, from, to);
    std::vector<LinkId> links = level.climb[from.at()];
    append(links, level.descend[to.at()]);
    if (!links.empty()) return links;
  }
  return {};
}

std::vector<LinkId> links_between(const LevelRouting& routing, DeviceId from, DeviceId to) {
  return links_between(std::span<const RoutingLevel>(routing.levels), from, to);
}

std::vector<LinkId> links_between(const ExplicitRouting& routing, DeviceId from, DeviceId to) {
  const auto found = routing.routes.find({from, to});
  return found == routing.routes.end() ? std::vector<LinkId>{} : found->second;
}

std::int32_t volume(const TorusRouting& torus) {
  return std::accumulate(torus.shape.begin(), torus.shape.end(), 1, std::multiplies<>());
}

/// Whether to walk towards larger coordinates; a dimension without a wire round its end has one
/// way.
bool walks_forward(const TorusRouting& torus, std::size_t dimension, std::int32_t at,
                   std::int32_t target) {
  const std::int32_t size = torus.shape[dimension];
  const std::size_t first_device = dimension;  // device 0 has coordinate 0 everywhere
  const bool wraps = torus.backward[first_device].value >= 0;
  if (!wraps) return target > at;
  const std::int32_t ahead = (target - at + size) % size;
  return ahead <= size - ahead;
}

std::vector<LinkId> links_between(const TorusRouting& torus, DeviceId from, DeviceId to) {
  const std::int32_t devices = volume(torus);
  if (from.value / devices != to.value / devices)
    return links_between(std::span<const RoutingLevel>(torus.outside), from, to);
  std::vector<LinkId> links;
  std::int32_t device = from.value;
  std::int32_t stride = devices;
  for (std::size_t dimension = 0; dimension < torus.shape.size(); ++dimension) {
    const std::int32_t size = torus.shape[dimension];
    stride /= size;
    std::int32_t at = device / stride % size;
    const std::int32_t target = to.value / stride % size;
    const bool forward = at != target && walks_forward(torus, dimension, at, target);
    while (at != target) {
      const std::size_t port = static_cast<std::size_t>(device) * torus.shape.size() + dimension;
      links.push_back(forward ? torus.forward[port] : torus.backward[port]);
      const std::int32_t next = (at + (forward ? 1 : size - 1)) % size;
      device += (next - at) * stride;
      at = next;
    }
  }
  return links;
}

bool links_exist(const Platform& platform, const std::vector<LinkId>& links) {
  return std::all_of(links.begin(), links.end(),
                     [&](LinkId id) { return id.value >= 0 && id.at() < platform.links.size(); });
}

Diagnostics check_routing(const Platform& platform, const UniformRouting& routing) {
  if (links_exist(platform, routing.links) && !routing.links.empty()) return {};
  return {
      input_error("platform " + platform.name + ": the route names a link that does not exist")};
}

bool routes_exist(const Platform& platform,
                  const std::map<std::pair<DeviceId, DeviceId>, std::vector<LinkId>>& routes) {
  const auto device_exists = [&](DeviceId id) {
    return id.value >= 0 && id.at() < platform.devices.size();
  };
  return std::all_of(routes.begin(), routes.end(), [&](const auto& entry) {
    return !entry.second.empty() && links_exist(platform, entry.second) &&
           device_exists(entry.first.first) && device_exists(entry.first.second);
  });
}

/// Every unit has one device on each lane, and those devices say so themselves.
bool lanes_agree(const RelayLanes& lanes, std::size_t devices) {
  if (lanes.empty()) return true;
  if (lanes.lane_of.size() != devices || lanes.unit_of.size() != devices) return false;
  std::size_t members = 0;
  for (std::size_t unit = 0; unit < lanes.members.size(); ++unit) {
    if (lanes.members[unit].size() != lanes.members.front().size()) return false;
    for (std::size_t lane = 0; lane < lanes.members[unit].size(); ++lane, ++members) {
      const DeviceId device = lanes.members[unit][lane];
      if (device.value < 0 || device.at() >= devices) return false;
      if (lanes.unit_of[device.at()] != static_cast<std::int32_t>(unit)) return false;
      if (lanes.lane_of[device.at()] != static_cast<std::int32_t>(lane)) return false;
    }
  }
  return members == devices;
}

Diagnostics check_levels(const Platform& platform, const std::vector<RoutingLevel>& levels) {
  Diagnostics faults;
  const std::size_t devices = platform.devices.size();
  for (const RoutingLevel& level : levels) {
    const std::string where = "platform " + platform.name + ": level " + level.name;
    if (level.group_of.size() != devices || level.climb.size() != devices ||
        level.descend.size() != devices) {
      faults.push_back(input_error(where + " does not cover every device"));
      continue;
    }
    const auto exists = [&](const std::vector<LinkId>& links) {
      return links_exist(platform, links);
    };
    if (!std::all_of(level.climb.begin(), level.climb.end(), exists) ||
        !std::all_of(level.descend.begin(), level.descend.end(), exists) ||
        !routes_exist(platform, level.direct))
      faults.push_back(input_error(where + " names a link or device that does not exist"));
    if (!lanes_agree(level.lanes, devices))
      faults.push_back(input_error(where + " has lanes that do not hold one device of every unit"));
  }
  return faults;
}

Diagnostics check_routing(const Platform& platform, const LevelRouting& routing) {
  return check_levels(platform, routing.levels);
}

/// A wire may be missing only where the grid ends.
bool wires_complete(const Platform& platform, const TorusRouting& torus) {
  const std::size_t dimensions = torus.shape.size();
  std::int32_t stride = volume(torus);
  for (std::size_t dimension = 0; dimension < dimensions; ++dimension) {
    const std::int32_t size = torus.shape[dimension];
    stride /= size;
    const bool wraps = torus.backward[dimension].value >= 0;
    for (std::size_t device = 0; device < platform.devices.size(); ++device) {
      const std::int32_t at = static_cast<std::int32_t>(device) / stride % size;
      const LinkId ahead = torus.forward[device * dimensions + dimension];
      const LinkId behind = torus.backward[device * dimensions + dimension];
      if ((wraps || at + 1 < size) && !links_exist(platform, {ahead})) return false;
      if ((wraps || at > 0) && !links_exist(platform, {behind})) return false;
    }
  }
  return true;
}

Diagnostics check_routing(const Platform& platform, const TorusRouting& torus) {
  const std::size_t ports = platform.devices.size() * torus.shape.size();
  const bool positive = !torus.shape.empty() && std::all_of(torus.shape.begin(), torus.shape.end(),
                                                            [](std::int32_t n) { return n > 0; });
  if (!positive || torus.forward.size() != ports || torus.backward.size() != ports ||
      platform.devices.size() % static_cast<std::size_t>(volume(torus)) != 0)
    return {input_error("platform " + platform.name + ": the torus does not cover every device")};
  if (!wires_complete(platform, torus))
    return {input_error("platform " + platform.name + ": a wire of the torus is missing")};
  return check_levels(platform, torus.outside);
}

Diagnostics check_routing(const Platform& platform, const ExplicitRouting& routing) {
  if (routes_exist(platform, routing.routes)) return {};
  return {input_error("platform " + platform.name +
                      ": a route names a link or device that does not exist")};
}

}  // namespace

Result<Route> route(const Platform& platform, DeviceId from, DeviceId to) {
  Route way{from,
            to,
            std::visit([&](const auto& r) { return links_between(r, from, to); }, platform.routing),
            {},
            {}};
  if (way.links.empty())
    return fail(infeasible("platform " + platform.name + " has no route from " +
                           platform.devices[from.at()].name + " to " +
                           platform.devices[to.at()].name));
  way.bandwidth = {std::numeric_limits<double>::infinity()};
  for (const LinkId id : way.links) {
    way.latency += platform.links[id.at()].latency;
    way.bandwidth = std::min(way.bandwidth, platform.links[id.at()].bandwidth);
  }
  return way;
}

std::vector<std::int32_t> innermost_groups(const Platform& platform) {
  std::vector<std::int32_t> group_of(platform.devices.size(), 0);
  if (const auto* levels = std::get_if<LevelRouting>(&platform.routing)) {
    if (!levels->levels.empty()) group_of = levels->levels.front().group_of;
  } else if (const auto* torus = std::get_if<TorusRouting>(&platform.routing)) {
    for (std::size_t device = 0; device < group_of.size(); ++device)
      group_of[device] = static_cast<std::int32_t>(device) / volume(*torus);
  }
  return group_of;
}

CollectiveTuning inside_tuning(const Platform& platform, std::span<const DeviceId> group) {
  if (platform.collectives_inside_of.empty() || group.empty()) return platform.collectives_inside;
  CollectiveTuning worst = platform.collectives_inside_of[group.front().at()];
  for (const DeviceId device : group.subspan(1)) {
    const CollectiveTuning& own = platform.collectives_inside_of[device.at()];
    worst.latency = std::max(worst.latency, own.latency);
    worst.achieved = std::min(worst.achieved, own.achieved);
    worst.half_size = std::max(worst.half_size, own.half_size);
    worst.in_switch = worst.in_switch && own.in_switch;
  }
  return worst;
}

Platform constant_delay_platform(int devices, Seconds delay) {
  Platform platform;
  platform.name = "constant delay";
  for (int device = 0; device < devices; ++device)
    platform.devices.push_back({"device" + std::to_string(device), "", Bytes{}, 1.0});
  platform.links.push_back({"delay", delay, {kUnlimitedBandwidth}, Sharing::FatPipe});
  platform.routing = UniformRouting{{LinkId{0}}};
  return platform;
}

Diagnostics check(const Platform& platform) {
  Diagnostics faults;
  std::set<std::string> names;
  for (const Device& device : platform.devices) {
    if (!names.insert(device.name).second)
      faults.push_back(
          input_error("platform " + platform.name + ": two devices are named " + device.name));
    if (!(device.slowdown > 0) || !std::isfinite(device.slowdown))
      faults.push_back(input_error("device " + device.name + ": slowdown must be greater than 0"));
  }
  names.clear();
  for (const Link& link : platform.links) {
    if (!names.insert(link.name).second)
      faults.push_back(
          input_error("platform " + platform.name + ": two links are named " + link.name));
    if (!(link.latency.value >= 0) || !std::isfinite(link.latency.value))
      faults.push_back(input_error("link " + link.name + ": latency must be at least 0"));
    if (!(link.bandwidth.value > 0) || !std::isfinite(link.bandwidth.value))
      faults.push_back(input_error("link " + link.name + ": bandwidth must be greater than 0"));
  }
  const auto in_bounds = [](const CollectiveTuning& tuning) {
    return tuning.latency.value >= 0 && tuning.half_size.value >= 0 && tuning.achieved > 0 &&
           std::isfinite(tuning.achieved);
  };
  const std::vector<CollectiveTuning>& own = platform.collectives_inside_of;
  if (!in_bounds(platform.collectives_inside) || !in_bounds(platform.collectives_across) ||
      !std::all_of(own.begin(), own.end(), in_bounds))
    faults.push_back(input_error("platform " + platform.name +
                                 ": the constants of its collectives are out of bounds"));
  if (!own.empty() && own.size() != platform.devices.size())
    faults.push_back(input_error("platform " + platform.name +
                                 ": the constants of collectives are "
                                 "given for " +
                                 std::to_string(own.size()) + " of " +
                                 std::to_string(platform.devices.size()) + " devices"));
  Diagnostics routing =
      std::visit([&](const auto& r) { return check_routing(platform, r); }, platform.routing);
  faults.insert(faults.end(), routing.begin(), routing.end());
  return faults;
}

}  // namespace pipecast
