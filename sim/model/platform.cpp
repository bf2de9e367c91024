#include "sim/model/platform.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace pipecast {
namespace {

/// A bandwidth at which even an exabyte takes no time that a double beside a second can show;
/// SimGrid needs a finite one.
constexpr double kUnlimitedBandwidth = 1e30;

std::vector<LinkId> links_between(const UniformRouting& routing, DeviceId, DeviceId) {
  return routing.links;
}

std::vector<LinkId> links_between(const LevelRouting& routing, DeviceId from, DeviceId to) {
  for (const RoutingLevel& level : routing.levels) {
    if (level.group_of[from.at()] != level.group_of[to.at()]) continue;
    std::vector<LinkId> links = level.climb[from.at()];
    const std::vector<LinkId>& down = level.descend[to.at()];
    links.insert(links.end(), down.begin(), down.end());
    return links;
  }
  return {};
}

std::vector<LinkId> links_between(const ExplicitRouting& routing, DeviceId from, DeviceId to) {
  const auto found = routing.routes.find({from, to});
  return found == routing.routes.end() ? std::vector<LinkId>{} : found->second;
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

Diagnostics check_routing(const Platform& platform, const LevelRouting& routing) {
  Diagnostics faults;
  for (const RoutingLevel& level : routing.levels) {
    const std::size_t devices = platform.devices.size();
    if (level.group_of.size() != devices || level.climb.size() != devices ||
        level.descend.size() != devices) {
      faults.push_back(input_error("platform " + platform.name + ": level " + level.name +
                                   " does not cover every device"));
      continue;
    }
    for (std::size_t device = 0; device < devices; ++device)
      if (!links_exist(platform, level.climb[device]) ||
          !links_exist(platform, level.descend[device]))
        faults.push_back(input_error("platform " + platform.name + ": level " + level.name +
                                     " names a link that does not exist"));
  }
  return faults;
}

Diagnostics check_routing(const Platform& platform, const ExplicitRouting& routing) {
  Diagnostics faults;
  for (const auto& [pair, links] : routing.routes)
    if (!links_exist(platform, links) || links.empty() ||
        pair.first.at() >= platform.devices.size() || pair.second.at() >= platform.devices.size())
      faults.push_back(input_error("platform " + platform.name +
                                   ": a route names a link or device that does not exist"));
  return faults;
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
  Diagnostics routing =
      std::visit([&](const auto& r) { return check_routing(platform, r); }, platform.routing);
  faults.insert(faults.end(), routing.begin(), routing.end());
  return faults;
}

}  // namespace pipecast
