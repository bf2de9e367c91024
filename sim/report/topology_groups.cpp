#include "sim/report/topology_groups.hpp"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <span>

namespace pipecast {
namespace {

std::span<const RoutingLevel> levels_of(const Platform& platform) {
  if (const auto* routing = std::get_if<LevelRouting>(&platform.routing)) return routing->levels;
  if (const auto* torus = std::get_if<TorusRouting>(&platform.routing)) return torus->outside;
  return {};
}

/// A finer grouping into a coarser one: the coarse group of each fine one, or nothing when a fine
/// group is cut.
std::optional<std::vector<std::int32_t>> lies_within(const std::vector<std::int32_t>& fine,
                                                     const std::vector<std::int32_t>& coarse) {
  std::map<std::int32_t, std::int32_t> parent;
  for (std::size_t device = 0; device < fine.size(); ++device)
    if (parent.try_emplace(fine[device], coarse[device]).first->second != coarse[device])
      return std::nullopt;
  std::vector<std::int32_t> parents;
  for (const auto& [group, above] : parent) parents.push_back(above);
  return parents;
}

/// Groups numbered 0, 1, 2 … in the order of their first device.
std::vector<std::int32_t> numbered(const std::vector<std::int32_t>& group_of) {
  std::map<std::int32_t, std::int32_t> number;
  std::vector<std::int32_t> result;
  for (const std::int32_t group : group_of)
    result.push_back(
        number.try_emplace(group, static_cast<std::int32_t>(number.size())).first->second);
  return result;
}

void adopt(TopologyGroup& parent, TopologyGroup child, std::size_t shown) {
  parent.devices += child.devices;
  if (parent.members.size() < shown)
    parent.members.push_back(std::move(child));
  else
    ++parent.hidden;
}

/// One level further out: the groups of this level with the groups so far as members.
std::vector<TopologyGroup> gathered(std::vector<TopologyGroup> inner,
                                    const std::vector<std::int32_t>& parents,
                                    const std::string& name, std::size_t shown) {
  std::map<std::int32_t, TopologyGroup> outer;
  for (std::size_t group = 0; group < inner.size(); ++group) {
    const auto [entry, is_new] = outer.try_emplace(parents[group]);
    if (is_new) {
      entry->second.label = fmt::format("{} {}", name, parents[group]);
      entry->second.devices = 0;
    }
    adopt(entry->second, std::move(inner[group]), shown);
  }
  std::vector<TopologyGroup> result;
  for (auto& [number, group] : outer) result.push_back(std::move(group));
  return result;
}

}  // namespace

TopologyGroup topology_groups(const Platform& platform, std::size_t shown) {
  std::vector<TopologyGroup> groups;
  std::vector<std::int32_t> group_of;
  for (const Device& device : platform.devices) {
    groups.push_back({device.name, {}, 0, 1});
    group_of.push_back(static_cast<std::int32_t>(group_of.size()));
  }
  for (const RoutingLevel& level : levels_of(platform)) {
    const std::vector<std::int32_t> outer = numbered(level.group_of);
    if (outer == group_of) continue;
    const auto parents = lies_within(group_of, outer);
    if (!parents) continue;
    groups = gathered(std::move(groups), *parents, level.name, shown);
    group_of = outer;
  }
  if (groups.size() == 1) return std::move(groups.front());
  TopologyGroup whole{platform.name, {}, 0, 0};
  for (TopologyGroup& group : groups) adopt(whole, std::move(group), shown);
  return whole;
}

}  // namespace pipecast
