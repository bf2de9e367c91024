#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <tuple>

#include "sim/model/fabric_levels.hpp"
#include "sim/report/topology.hpp"
#include "sim/report/topology_groups.hpp"

namespace pipecast {
namespace {

constexpr std::size_t kShownMembers = 4;

void describe_devices(std::string& text, const Platform& platform) {
  std::map<std::string, std::size_t> kinds;
  for (const Device& device : platform.devices) {
    std::string kind = device.accelerator.empty() ? "unnamed device" : device.accelerator;
    if (device.memory.value > 0) kind += ", " + format(device.memory);
    if (device.slowdown != 1) kind += fmt::format(", slowed by {}", format_number(device.slowdown));
    ++kinds[kind];
  }
  text += fmt::format("{}: {} devices\n", platform.name, platform.devices.size());
  for (const auto& [kind, count] : kinds) text += fmt::format("  {} × {}\n", count, kind);
}

/// A device that meets the first one at this level and not further in.
std::optional<DeviceId> partner_of_first(std::span<const RoutingLevel> levels, std::size_t depth) {
  const auto meets = [](const RoutingLevel& level, std::size_t device) {
    return level.group_of[device] == level.group_of[0];
  };
  const std::span<const RoutingLevel> inner = levels.first(depth);
  for (std::size_t device = 1; device < levels[depth].group_of.size(); ++device)
    if (meets(levels[depth], device) &&
        std::none_of(inner.begin(), inner.end(),
                     [&](const RoutingLevel& level) { return meets(level, device); }))
      return DeviceId{static_cast<std::int32_t>(device)};
  return std::nullopt;
}

void describe_way(std::string& text, const Platform& platform, std::string_view level,
                  std::size_t groups, DeviceId from, DeviceId to) {
  const Result<Route> way = route(platform, from, to);
  if (!way) return;
  std::string links;
  for (const LinkId link : way->links)
    links += (links.empty() ? "" : " → ") + platform.links[link.at()].name;
  text += fmt::format("  {:<12} {:>6}  {:>9}  {:>9}  {}\n", level, groups, format(way->latency),
                      format(way->bandwidth), links);
}

void describe_levels(std::string& text, const Platform& platform) {
  text += "levels, from the inside out (the way between the first two devices that meet there)\n";
  text += fmt::format("  {:<12} {:>6}  {:>9}  {:>9}  {}\n", "level", "groups", "latency",
                      "bandwidth", "way");
  std::span<const RoutingLevel> levels;
  if (const auto* routing = std::get_if<LevelRouting>(&platform.routing)) levels = routing->levels;
  if (const auto* torus = std::get_if<TorusRouting>(&platform.routing)) {
    levels = torus->outside;
    std::string shape;
    for (const std::int32_t size : torus->shape)
      shape += (shape.empty() ? "" : "x") + std::to_string(size);
    describe_way(text, platform, "torus " + shape, 1, {0}, {1});
  } else if (levels.empty() && platform.devices.size() > 1) {
    describe_way(text, platform, "any pair", 1, {0}, {1});
  }
  for (std::size_t depth = 0; depth < levels.size(); ++depth) {
    const std::set<std::int32_t> groups(levels[depth].group_of.begin(),
                                        levels[depth].group_of.end());
    if (const auto partner = partner_of_first(levels, depth))
      describe_way(text, platform, levels[depth].name, groups.size(), {0}, *partner);
  }
}

void describe_links(std::string& text, const Platform& platform) {
  std::map<std::tuple<std::string, double, double>, std::size_t> kinds;
  for (const Link& link : platform.links)
    ++kinds[{link_kind(link), link.bandwidth.value, link.latency.value}];
  text += "links, one direction each\n";
  for (const auto& [kind, count] : kinds)
    text +=
        fmt::format("  {:>7} × {:<10} {:>9}  {:>9}\n", count, std::get<0>(kind),
                    format(BytesPerSecond{std::get<1>(kind)}), format(Seconds{std::get<2>(kind)}));
}

void sketch(std::string& text, const TopologyGroup& group, const std::string& indent) {
  for (std::size_t index = 0; index < group.members.size(); ++index) {
    const TopologyGroup& member = group.members[index];
    const bool last = index + 1 == group.members.size() && group.hidden == 0;
    text += fmt::format("{}{} {}", indent, last ? "└─" : "├─", member.label);
    text += member.members.empty() ? "\n" : fmt::format(" ({} devices)\n", member.devices);
    sketch(text, member, indent + (last ? "   " : "│  "));
  }
  if (group.hidden > 0) text += fmt::format("{}└─ … {} more\n", indent, group.hidden);
}

}  // namespace

std::string topology_text(const Platform& platform) {
  std::string text;
  describe_devices(text, platform);
  describe_levels(text, platform);
  describe_links(text, platform);
  const TopologyGroup whole = topology_groups(platform, kShownMembers);
  text += fmt::format("{} ({} devices)\n", whole.label, whole.devices);
  sketch(text, whole, "");
  return text;
}

}  // namespace pipecast
