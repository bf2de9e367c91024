#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "sim/read/platform_xml.hpp"
#include "sim/read/xml_level_plan.hpp"
#include "sim/read/xml_levels.hpp"
#include "sim/read/xml_text.hpp"

namespace pipecast {
namespace {

using Links = std::vector<LinkId>;

constexpr std::size_t kNone = WrittenLevels::kNone;

/// A group of a level, and of a level with lanes one lane of it.
struct Meeting {
  std::size_t level = 0;
  std::int32_t group = 0;
  std::int32_t lane = 0;
  std::vector<std::size_t> members;
};

/// Links between two meeting points, for ways that differ in what is inside of the first only.
struct Chain {
  std::size_t outer = kNone;  ///< meeting
  Links links;
};

enum class Direction { Up, Down };

/// What a way of an outer level has beyond the one of an inner level; nothing when it does not go
/// by the same links.
std::optional<Links> beyond(const Links& inner, const Links& outer, Direction direction) {
  if (inner.empty() || outer.size() <= inner.size()) return std::nullopt;
  const auto extra = static_cast<std::ptrdiff_t>(outer.size() - inner.size());
  if (direction == Direction::Up) {
    if (!std::equal(inner.begin(), inner.end(), outer.begin())) return std::nullopt;
    return Links(outer.end() - extra, outer.end());
  }
  if (!std::equal(inner.begin(), inner.end(), outer.begin() + extra)) return std::nullopt;
  return Links(outer.begin(), outer.begin() + extra);
}

class LevelsWriter {
 public:
  LevelsWriter(const Platform& platform, const std::vector<RoutingLevel>& levels)
      : platform_(platform), devices_(platform.devices.size()), plan_(levels, devices_) {}

  Result<std::string> write(const std::string& speed) {
    if (const auto wrong = fault()) return fail(refusal(*wrong));
    plan_.add_units();
    find_meetings();
    set_tolls();
    for (std::size_t level = 0; level < plan_.levels().size(); ++level)
      for (const Direction direction : {Direction::Up, Direction::Down}) add_ways(level, direction);
    add_direct_ways();
    for (std::size_t meeting = 0; meeting < meetings_.size(); ++meeting)
      add_route(name(meeting, Direction::Up), name(meeting, Direction::Down), {},
                toll_name(meeting), tolls_[meetings_[meeting].level]);
    for (std::size_t device = 0; device < devices_; ++device)
      add_route(door(device), platform_.devices[device].name, {}, platform_.devices[device].name,
                door_toll_);
    return whole(speed);
  }

 private:
  const Links& links(std::size_t level, std::size_t device, Direction direction) const {
    return direction == Direction::Up ? plan_.levels()[level].climb[device]
                                      : plan_.levels()[level].descend[device];
  }
  Diagnostic refusal(const std::string& why) const {
    return infeasible(
        fmt::format("platform {} cannot be written as a SimGrid file: {}", platform_.name, why));
  }

  std::optional<std::string> fault() const {
    if (devices_ > kMaxXmlDevices)
      return fmt::format("it has {} devices, at most {} are written", devices_, kMaxXmlDevices);
    for (const Link& link : platform_.links)
      if (link.name.ends_with(kTollEnd))
        return fmt::format("link '{}' has a name that ends in '{}'", link.name, kTollEnd);
    return plan_.fault();
  }

  void find_meetings() {
    for (std::size_t level = 0; level < plan_.levels().size(); ++level) {
      std::map<std::pair<std::int32_t, std::int32_t>, std::size_t> known;
      meeting_of_.emplace_back(devices_, kNone);
      for (std::size_t device = 0; device < devices_; ++device) {
        if (!plan_.takes_part(level, device)) continue;
        const RelayLanes& lanes = plan_.levels()[level].lanes;
        const std::pair key{plan_.levels()[level].group_of[device],
                            lanes.empty() ? 0 : lanes.lane_of[device]};
        const auto [found, is_new] = known.try_emplace(key, meetings_.size());
        if (is_new) meetings_.push_back({level, key.first, key.second, {}});
        meeting_of_[level][device] = found->second;
        meetings_[found->second].members.push_back(device);
      }
    }
  }

  /// A level's ways are dearer than those of inner levels, and two devices' doors dearer than any
  /// way through one.
  void set_tolls() {
    std::size_t dearest = 0;
    std::size_t dearest_relayed = 0;
    std::size_t cheapest = kNone;
    for (std::size_t level = 0; level < plan_.levels().size(); ++level) {
      for (const auto& [pair, way] : plan_.levels()[level].direct) {
        dearest = std::max(dearest, way.size());
        cheapest = std::min(cheapest, way.size());
      }
      const bool forwards = plan_.has_lanes(level);
      const std::size_t below = forwards ? dearest : std::max(dearest, dearest_relayed);
      const std::size_t bare = plan_.way_length(level);
      tolls_.push_back(bare > below ? 1 : below + 1 - bare);
      if (bare > 0) {
        const std::size_t whole = bare + tolls_.back();
        cheapest = std::min(cheapest, whole);
        if (forwards)
          dearest_relayed =
              std::max(dearest_relayed, whole + dearest_up_to_[plan_.unit_level(level)]);
        dearest = std::max(dearest, whole);
      }
      dearest_up_to_.push_back(dearest);
    }
    const std::size_t most = std::max(dearest, dearest_relayed);
    if (cheapest != kNone && most + 1 > 2 * cheapest) door_toll_ = most + 1 - 2 * cheapest;
  }

  /// What all members' ways to one outer meeting have in common beyond this one.
  Chain chain(std::size_t meeting, std::size_t outer_level, Direction direction) const {
    const Meeting& inner = meetings_[meeting];
    Chain common;
    for (const std::size_t device : inner.members) {
      const std::size_t outer = meeting_of_[outer_level][device];
      auto more = outer == kNone ? std::nullopt
                                 : beyond(links(inner.level, device, direction),
                                          links(outer_level, device, direction), direction);
      if (!more) return {};
      if (common.outer == kNone)
        common = {outer, std::move(*more)};
      else if (common.outer != outer || common.links != *more)
        return {};
    }
    return common;
  }

  /// The ways of a level: from the next inner meeting where they go by one, else from the device.
  void add_ways(std::size_t level, Direction direction) {
    std::vector<std::size_t> inner_of(devices_, kNone);
    std::vector<Chain> chains;
    for (std::size_t meeting = 0; meeting < meetings_.size(); ++meeting) {
      if (meetings_[meeting].level >= level) break;
      chains.push_back(chain(meeting, level, direction));
      if (chains.back().outer == kNone) continue;
      for (const std::size_t device : meetings_[meeting].members) inner_of[device] = meeting;
    }
    const std::set<std::size_t> used(inner_of.begin(), inner_of.end());
    for (const std::size_t meeting : used)
      if (meeting != kNone) add_between(meeting, chains[meeting], direction);
    for (std::size_t device = 0; device < devices_; ++device)
      if (meeting_of_[level][device] != kNone)
        add_way_of(device, level, direction, inner_of[device]);
  }

  void add_between(std::size_t inner, const Chain& chain, Direction direction) {
    if (direction == Direction::Up)
      add_route(name(inner, direction), name(chain.outer, direction), chain.links);
    else
      add_route(name(chain.outer, direction), name(inner, direction), chain.links);
  }

  void add_way_of(std::size_t device, std::size_t level, Direction direction, std::size_t inner) {
    const std::size_t meeting = meeting_of_[level][device];
    const Links& way = links(level, device, direction);
    const std::size_t toll = way.empty() ? 1 : 0;
    if (direction == Direction::Down) {
      if (inner == kNone)
        add_route(name(meeting, direction), door(device), way, toll_name(meeting), toll);
      return;
    }
    if (inner == kNone)
      add_route(platform_.devices[device].name, name(meeting, direction), way, toll_name(meeting),
                toll);
    const bool door_gets_there = inner != kNone && plan_.has_lanes(meetings_[inner].level);
    if (plan_.has_lanes(level) && !door_gets_there)
      add_route(door(device), name(meeting, direction), way, toll_name(meeting), toll);
  }

  void add_direct_ways() {
    if (plan_.levels().empty()) return;
    for (const auto& [pair, way] : plan_.levels().front().direct)
      add_route(platform_.devices[pair.first.at()].name, door(pair.second.at()), way);
  }

  std::string name(std::size_t meeting, Direction direction) const {
    const Meeting& here = meetings_[meeting];
    return fmt::format("{} {}.{}.{} {}", plan_.levels()[here.level].name, here.level, here.group,
                       here.lane, direction == Direction::Up ? "up" : "down");
  }
  std::string toll_name(std::size_t meeting) const {
    const Meeting& here = meetings_[meeting];
    return fmt::format("{} {}.{}.{}", plan_.levels()[here.level].name, here.level, here.group,
                       here.lane);
  }
  std::string door(std::size_t device) const { return platform_.devices[device].name + " door"; }

  void add_route(const std::string& from, const std::string& to, const Links& way,
                 const std::string& toll_of = {}, std::size_t tolls = 0) {
    std::vector<std::string_view> names;
    for (const LinkId link : way) names.push_back(platform_.links[link.at()].name);
    const std::string toll = toll_of + std::string(kTollEnd);
    names.insert(names.end(), tolls, toll);
    elements_ += 1 + names.size();
    routes_ += xml_route(from, to, names);
  }

  std::string properties() {
    std::string text = xml_collectives(platform_);
    for (std::size_t level = 0; level < plan_.levels().size(); ++level) {
      text +=
          "    " + xml_property(fmt::format("level {}", level), plan_.levels()[level].name) + "\n";
      if (plan_.has_lanes(level))
        text +=
            "    " +
            xml_property(fmt::format("lanes {}", level), std::to_string(plan_.unit_level(level))) +
            "\n";
      if (plan_.only_units(level))
        text += "    " + xml_property(fmt::format("units {}", level), "only") + "\n";
    }
    return text;
  }

  Result<std::string> whole(const std::string& speed) {
    std::string xml = xml_head(platform_, "Dijkstra", properties());
    std::string tolls;
    const auto add_toll = [&](const std::string& of) {
      tolls += xml_link({of + std::string(kTollEnd), {0}, {1e30}, Sharing::FatPipe});
    };
    for (std::size_t device = 0; device < devices_; ++device) {
      xml += xml_host(platform_.devices[device], speed);
      add_toll(platform_.devices[device].name);
    }
    const auto router = [&](const std::string& id) {
      xml += fmt::format("    <router id=\"{}\"/>\n", xml_escaped(id));
    };
    for (std::size_t device = 0; device < devices_; ++device) router(door(device));
    for (std::size_t meeting = 0; meeting < meetings_.size(); ++meeting) {
      router(name(meeting, Direction::Up));
      router(name(meeting, Direction::Down));
      add_toll(toll_name(meeting));
    }
    for (const Link& link : platform_.links) xml += xml_link(link);
    elements_ +=
        5 * devices_ + 3 * meetings_.size() + platform_.links.size() + 2 * plan_.levels().size();
    xml += tolls + routes_ + std::string(xml_tail());
    if (elements_ > kMaxXmlNodes || xml.size() > kMaxXmlBytes)
      return fail(
          refusal(fmt::format("it would have {} elements and {} MiB, more than the {} and "
                              "{} that are read back",
                              elements_, xml.size() >> 20U, kMaxXmlNodes, kMaxXmlBytes >> 20U)));
    return xml;
  }

  const Platform& platform_;
  std::size_t devices_;
  WrittenLevels plan_;
  std::vector<Meeting> meetings_;                     ///< inner levels first
  std::vector<std::vector<std::size_t>> meeting_of_;  ///< [level][device]
  std::vector<std::size_t> tolls_;                    ///< [level]
  std::vector<std::size_t> dearest_up_to_;            ///< [level]
  std::size_t door_toll_ = 1;
  std::size_t elements_ = 8;
  std::string routes_;
};

}  // namespace

Result<std::string> write_levels_xml(const Platform& platform, const std::string& speed) {
  const auto* routing = std::get_if<LevelRouting>(&platform.routing);
  if (routing == nullptr)
    return fail(infeasible(fmt::format(
        "platform {} has {} devices and no levels: at most {} are written to a SimGrid file",
        platform.name, platform.devices.size(), kMaxExplicitDevices)));
  return LevelsWriter(platform, routing->levels).write(speed);
}

}  // namespace pipecast
