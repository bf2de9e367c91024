#include "sim/read/xml_level_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

namespace pipecast {

std::optional<std::string> WrittenLevels::fault() const {
  for (std::size_t level = 0; level < levels_.size(); ++level) {
    if (level > 0 && !levels_[level].direct.empty())
      return fmt::format("level {} has wires between single devices", level);
    if (!groups_agree(level))
      return fmt::format("some devices of level {} have no way to their group", level);
    if (!even_ways(level)) return fmt::format("the ways of level {} differ in length", level);
    if (has_lanes(level) && unit_level(level) == kNone && meeting_level_of_units(level) == kNone)
      return fmt::format("the units of level {} do not meet at an inner level", level);
  }
  if (!all_meet()) return "not all devices reach each other";
  return std::nullopt;
}

void WrittenLevels::add_units() {
  for (std::size_t level = 0; level < levels_.size(); ++level) {
    if (!has_lanes(level) || unit_level(level) != kNone) continue;
    const std::size_t inner = meeting_level_of_units(level);
    RoutingLevel units = levels_[inner];
    units.group_of = levels_[level].lanes.unit_of;
    const auto at = static_cast<std::ptrdiff_t>(inner);
    levels_.insert(levels_.begin() + at, std::move(units));
    only_units_.insert(only_units_.begin() + at, true);
  }
}

bool WrittenLevels::takes_part(std::size_t level, std::size_t device) const {
  return !levels_[level].climb[device].empty() || !levels_[level].descend[device].empty();
}

std::size_t WrittenLevels::unit_level(std::size_t level) const {
  const std::vector<std::int32_t>& units = levels_[level].lanes.unit_of;
  for (std::size_t inner = level; inner-- > 0;) {
    std::set<std::pair<std::int32_t, std::int32_t>> pairs;
    std::set<std::int32_t> groups;
    std::set<std::int32_t> seen;
    for (std::size_t device = 0; device < devices_; ++device) {
      pairs.emplace(units[device], levels_[inner].group_of[device]);
      groups.insert(levels_[inner].group_of[device]);
      seen.insert(units[device]);
    }
    if (pairs.size() == groups.size() && pairs.size() == seen.size()) return inner;
  }
  return kNone;
}

std::size_t WrittenLevels::way_length(std::size_t level) const {
  for (std::size_t device = 0; device < devices_; ++device) {
    const auto [up, down] = lengths(level, device);
    if (up + down > 0) return std::max<std::size_t>(up, 1) + std::max<std::size_t>(down, 1);
  }
  return 0;
}

/// SimGrid 3.32 counts on it when it looks for a way.
bool WrittenLevels::all_meet() const {
  std::vector<std::size_t> root(devices_);
  std::iota(root.begin(), root.end(), std::size_t{0});
  const auto root_of = [&](std::size_t device) {
    while (root[device] != device) device = root[device] = root[root[device]];
    return device;
  };
  for (std::size_t level = 0; level < levels_.size(); ++level) {
    std::map<std::int32_t, std::size_t> first;
    for (std::size_t device = 0; device < devices_; ++device)
      if (takes_part(level, device))
        root[root_of(device)] =
            root_of(first.try_emplace(levels_[level].group_of[device], device).first->second);
    for (const auto& [pair, way] : levels_[level].direct)
      root[root_of(pair.first.at())] = root_of(pair.second.at());
  }
  for (std::size_t device = 0; device < devices_; ++device)
    if (root_of(device) != root_of(0)) return false;
  return true;
}

/// Of a group all devices or none take part in a level.
bool WrittenLevels::groups_agree(std::size_t level) const {
  std::map<std::int32_t, bool> part_of;
  for (std::size_t device = 0; device < devices_; ++device) {
    const bool part = takes_part(level, device);
    if (part_of.try_emplace(levels_[level].group_of[device], part).first->second != part)
      return false;
  }
  return true;
}

/// All devices of a level climb over as many links, and descend over as many.
bool WrittenLevels::even_ways(std::size_t level) const {
  std::size_t up = kNone;
  std::size_t down = kNone;
  for (std::size_t device = 0; device < devices_; ++device) {
    if (!takes_part(level, device)) continue;
    if (up == kNone) std::tie(up, down) = lengths(level, device);
    if (std::pair(up, down) != lengths(level, device)) return false;
  }
  return true;
}

std::pair<std::size_t, std::size_t> WrittenLevels::lengths(std::size_t level,
                                                           std::size_t device) const {
  return {levels_[level].climb[device].size(), levels_[level].descend[device].size()};
}

/// The inner level at which the devices of every unit meet each other, where there is one.
std::size_t WrittenLevels::meeting_level_of_units(std::size_t level) const {
  for (std::size_t inner = 0; inner < level; ++inner) {
    bool meets = levels_[inner].lanes.empty() && levels_[inner].direct.empty();
    for (const std::vector<DeviceId>& unit : levels_[level].lanes.members)
      for (const DeviceId device : unit)
        meets = meets && takes_part(inner, device.at()) &&
                levels_[inner].group_of[device.at()] == levels_[inner].group_of[unit.front().at()];
    if (meets) return inner;
  }
  return kNone;
}

}  // namespace pipecast
