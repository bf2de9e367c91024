#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "sim/read/text_file.hpp"
#include "sim/read/xml_levels.hpp"

namespace pipecast {
namespace {

using Links = std::vector<LinkId>;

enum class Role { Device, Up, Down, Door, Other };

/// What a point's name says: `NAME level.group.lane up`.
struct Place {
  Role role = Role::Other;
  std::size_t level = 0;
  std::int32_t group = 0;
  std::int32_t lane = 0;
};

std::optional<std::int32_t> number_of(std::string_view text, std::int64_t limit) {
  const auto number = parse_integer(text);
  if (!number || *number < 0 || *number >= limit) return std::nullopt;
  return static_cast<std::int32_t>(*number);
}

/// The text behind the last `separator`, which is cut off together with it.
std::string_view take_last(std::string_view& text, char separator) {
  const std::size_t at = text.rfind(separator);
  if (at == std::string_view::npos) return std::exchange(text, {});
  const std::string_view last = text.substr(at + 1);
  text = text.substr(0, at);
  return last;
}

Place place_of(const ZonePoint& point, std::size_t levels) {
  if (point.device >= 0) return {Role::Device};
  std::string_view rest = point.name;
  const std::string_view word = take_last(rest, ' ');
  if (word == "door") return {Role::Door};
  if (word != "up" && word != "down") return {};
  std::string_view numbers = take_last(rest, ' ');
  constexpr std::int64_t kMost = std::int64_t{1} << 30U;
  const auto lane = number_of(take_last(numbers, '.'), static_cast<std::int64_t>(kMaxXmlPoints));
  const auto group = number_of(take_last(numbers, '.'), kMost);
  const auto level = number_of(numbers, static_cast<std::int64_t>(levels));
  if (!lane || !group || !level) return {};
  return {word == "up" ? Role::Up : Role::Down, static_cast<std::size_t>(*level), *group, *lane};
}

const std::string* property(const XmlNode& zone, std::string_view id) {
  for (const XmlNode& child : zone.children) {
    const std::string* name = child.name == "prop" ? child.find("id") : nullptr;
    if (name != nullptr && *name == id) return child.find("value");
  }
  return nullptr;
}

/// The element of a host or router; the zone itself when there is none.
const XmlNode& element_of(const XmlNode& zone, std::string_view id) {
  for (const XmlNode& child : zone.children) {
    const std::string* name =
        child.name == "host" || child.name == "router" ? child.find("id") : nullptr;
    if (name != nullptr && *name == id) return child;
  }
  return zone;
}

/// A way to or from a meeting point.
struct Reached {
  std::size_t point = 0;
  Links links;
};

class LevelsReader {
 public:
  LevelsReader(XmlBuilder& build, const XmlNode& zone)
      : build_(build), zone_(zone), devices_(build.platform.devices.size()) {}

  LevelRouting read() {
    if (build_.graph.zones.size() != 1 ||
        build_.graph.zones.front().routing != ZoneRouting::Shortest) {
      build_.source.fault(zone_, "a zone with levels has routing Dijkstra and no zone in it");
      return {};
    }
    take_out_tolls();
    add_levels();
    find_places();
    if (!build_.source.faults.empty()) return {};
    index_edges();
    for (std::size_t device = 0; device < devices_ && !build_.source.faults.full(); ++device)
      read_device(device);
    if (!build_.source.faults.empty()) return {};
    for (std::size_t level = 0; level < routing_.levels.size(); ++level) finish_level(level);
    for (std::size_t level = routing_.levels.size(); level-- > 0;)
      if (property(zone_, fmt::format("units {}", level)) != nullptr)
        routing_.levels.erase(routing_.levels.begin() + static_cast<std::ptrdiff_t>(level));
    return std::move(routing_);
  }

 private:
  void fault_at(std::size_t point, std::string message) {
    build_.source.fault(element_of(zone_, points()[point].name), std::move(message));
  }
  const std::vector<ZonePoint>& points() const { return build_.graph.points; }
  std::vector<ZoneEdge>& edges() { return build_.graph.zones.front().edges; }

  /// Renumbers the links that stay.
  void take_out_tolls() {
    std::vector<Link> kept;
    std::vector<std::int32_t> number_of;
    for (Link& link : build_.platform.links) {
      const bool toll = link.name.ends_with(kTollEnd) && link.sharing == Sharing::FatPipe &&
                        link.latency.value == 0;
      number_of.push_back(toll ? -1 : static_cast<std::int32_t>(kept.size()));
      if (!toll) kept.push_back(std::move(link));
    }
    build_.platform.links = std::move(kept);
    for (ZoneEdge& edge : edges()) {
      Links links;
      for (const LinkId link : edge.links)
        if (number_of[link.at()] >= 0) links.push_back({number_of[link.at()]});
      edge.links = std::move(links);
    }
  }

  void add_levels() {
    for (std::size_t level = 0;; ++level) {
      const std::string* name = property(zone_, fmt::format("level {}", level));
      if (name == nullptr) break;
      if (level == kMostLevels) {
        build_.source.fault(zone_, fmt::format("more than {} levels", kMostLevels));
        break;
      }
      routing_.levels.push_back({*name, std::vector<std::int32_t>(devices_, -1),
                                 std::vector<Links>(devices_), std::vector<Links>(devices_)});
      unit_level_.push_back(std::nullopt);
      const std::string* units = property(zone_, fmt::format("lanes {}", level));
      if (units == nullptr) continue;
      const auto inner = number_of(*units, static_cast<std::int64_t>(level));
      if (!inner)
        build_.source.fault(zone_, fmt::format("lanes {} must name an inner level, not '{}'", level,
                                               shown(*units)));
      unit_level_.back() = static_cast<std::size_t>(inner.value_or(0));
    }
    descends_.assign(routing_.levels.size(), false);
    lane_of_.assign(routing_.levels.size(), std::vector<std::int32_t>(devices_, 0));
  }

  void find_places() {
    std::map<std::string_view, std::size_t> device_of;
    for (std::size_t point = 0; point < points().size(); ++point)
      if (points()[point].device >= 0) device_of[points()[point].name] = point;
    door_of_.assign(points().size(), kNone);
    for (std::size_t point = 0; point < points().size(); ++point) {
      places_.push_back(place_of(points()[point], routing_.levels.size()));
      if (places_.back().role == Role::Other)
        fault_at(point, fmt::format("router '{}' is neither a meeting point of a level nor a door",
                                    shown(points()[point].name)));
      if (places_.back().role != Role::Door) continue;
      std::string_view name = points()[point].name;
      take_last(name, ' ');
      const auto device = device_of.find(name);
      if (device == device_of.end())
        fault_at(point, fmt::format("there is no host '{}' for this door", shown(name)));
      else
        door_of_[device->second] = point;
    }
  }

  void index_edges() {
    out_.resize(points().size());
    in_.resize(points().size());
    for (std::size_t edge = 0; edge < edges().size(); ++edge) {
      out_[static_cast<std::size_t>(edges()[edge].from.point)].push_back(edge);
      in_[static_cast<std::size_t>(edges()[edge].to.point)].push_back(edge);
    }
  }

  /// Meeting points above a point, or of those that lead down to it, with the links between. A
  /// file may tell of a circle of them: a way has at most as many as there are levels.
  std::vector<Reached> meetings_of(std::size_t start, Role role) {
    std::vector<Reached> found;
    std::vector<Reached> open{{start, {}}};
    const std::size_t most = 4 * routing_.levels.size() * routing_.levels.size() + 4;
    while (!open.empty() && found.size() <= most) {
      const Reached at = std::move(open.back());
      open.pop_back();
      for (const std::size_t edge : role == Role::Up ? out_[at.point] : in_[at.point]) {
        const ZoneEdge& step = edges()[edge];
        const auto next =
            static_cast<std::size_t>(role == Role::Up ? step.to.point : step.from.point);
        if (places_[next].role != role) continue;
        Links links = role == Role::Up ? at.links : step.links;
        const Links& more = role == Role::Up ? step.links : at.links;
        links.insert(links.end(), more.begin(), more.end());
        found.push_back({next, links});
        open.push_back(std::move(found.back()));
        found.back() = open.back();
      }
    }
    return found;
  }

  void read_device(std::size_t device) {
    const std::size_t point = point_of(device);
    if (door_of_[point] == kNone)
      return fault_at(point, fmt::format("host '{}' has no door", shown(points()[point].name)));
    for (Reached& up : meetings_of(point, Role::Up)) take_climb(device, point, std::move(up));
    for (Reached& down : meetings_of(door_of_[point], Role::Down))
      take_descent(device, point, std::move(down));
    for (std::size_t level = 0; level < routing_.levels.size(); ++level)
      if (routing_.levels[level].group_of[device] >= 0 && !descends_[level])
        fault_at(point, fmt::format("no way leads down to host '{}' at level {}",
                                    shown(points()[point].name), level));
    descends_.assign(routing_.levels.size(), false);
    check_door(device, point);
    take_wires(device, point);
  }

  void take_climb(std::size_t device, std::size_t point, Reached up) {
    const Place& place = places_[up.point];
    RoutingLevel& level = routing_.levels[place.level];
    const bool known = level.group_of[device] >= 0;
    if (known && (level.group_of[device] != place.group || level.climb[device] != up.links ||
                  lane_of_[place.level][device] != place.lane))
      return fault_at(point, fmt::format("host '{}' has two ways up at level {}",
                                         shown(points()[point].name), place.level));
    level.group_of[device] = place.group;
    lane_of_[place.level][device] = place.lane;
    level.climb[device] = std::move(up.links);
  }

  void take_descent(std::size_t device, std::size_t point, Reached down) {
    const Place& place = places_[down.point];
    RoutingLevel& level = routing_.levels[place.level];
    const bool fits = level.group_of[device] == place.group &&
                      lane_of_[place.level][device] == place.lane &&
                      (!descends_[place.level] || level.descend[device] == down.links);
    if (!fits)
      return fault_at(point, fmt::format("host '{}' is reached from a meeting point of level {} "
                                         "that it does not climb to, or in two ways",
                                         shown(points()[point].name), place.level));
    descends_[place.level] = true;
    level.descend[device] = std::move(down.links);
  }

  /// What is forwarded leaves by the device's own ways.
  void check_door(std::size_t device, std::size_t point) {
    std::vector<bool> forwards(routing_.levels.size(), false);
    bool fits = true;
    for (const Reached& up : meetings_of(door_of_[point], Role::Up)) {
      const Place& place = places_[up.point];
      const RoutingLevel& level = routing_.levels[place.level];
      forwards[place.level] = true;
      fits = fits && level.group_of[device] == place.group && level.climb[device] == up.links &&
             lane_of_[place.level][device] == place.lane;
    }
    for (std::size_t level = 0; level < routing_.levels.size(); ++level)
      if (unit_level_[level] && routing_.levels[level].group_of[device] >= 0)
        fits = fits && forwards[level];
    if (!fits)
      fault_at(door_of_[point], fmt::format("the door of '{}' does not climb as the host does",
                                            shown(points()[point].name)));
  }

  void take_wires(std::size_t device, std::size_t point) {
    for (const std::size_t edge : in_[door_of_[point]]) {
      const auto from = static_cast<std::size_t>(edges()[edge].from.point);
      if (places_[from].role == Role::Device)
        routing_.levels.front().direct[{DeviceId{points()[from].device},
                                        DeviceId{static_cast<std::int32_t>(device)}}] =
            edges()[edge].links;
    }
    for (const std::size_t edge : in_[point])
      if (static_cast<std::size_t>(edges()[edge].from.point) != door_of_[point])
        fault_at(point, fmt::format("host '{}' is entered by another way than its door",
                                    shown(points()[point].name)));
  }

  /// Devices that meet nobody at a level get groups of their own; those with wires, one group.
  void finish_level(std::size_t number) {
    RoutingLevel& level = routing_.levels[number];
    std::int32_t next = 0;
    for (const std::int32_t group : level.group_of) next = std::max(next, group + 1);
    for (const auto& [pair, links] : level.direct) {
      std::int32_t& own = level.group_of[pair.first.at()];
      if (own < 0) own = next++;
      std::int32_t& other = level.group_of[pair.second.at()];
      if (other < 0) other = own;
      if (other != own)
        build_.source.fault(zone_, fmt::format("the wires of level {} join two groups", number));
    }
    for (std::int32_t& group : level.group_of)
      if (group < 0) group = next++;
    if (unit_level_[number]) add_lanes(level, *unit_level_[number], number);
  }

  void add_lanes(RoutingLevel& level, std::size_t unit_level, std::size_t number) {
    std::map<std::int32_t, std::int32_t> unit_of_group;
    std::int32_t lanes = 0;
    for (std::size_t device = 0; device < devices_; ++device) {
      const std::int32_t group = routing_.levels[unit_level].group_of[device];
      const auto next = static_cast<std::int32_t>(unit_of_group.size());
      level.lanes.unit_of.push_back(unit_of_group.try_emplace(group, next).first->second);
      level.lanes.lane_of.push_back(lane_of_[number][device]);
      lanes = std::max(lanes, lane_of_[number][device] + 1);
    }
    if (static_cast<std::size_t>(lanes) * unit_of_group.size() != devices_) {
      build_.source.fault(zone_, fmt::format("level {} has {} lanes and {} units, but {} hosts",
                                             number, lanes, unit_of_group.size(), devices_));
      return;
    }
    level.lanes.members.assign(
        unit_of_group.size(), std::vector<DeviceId>(static_cast<std::size_t>(lanes), DeviceId{-1}));
    for (std::size_t device = 0; device < devices_; ++device)
      level.lanes.members[static_cast<std::size_t>(level.lanes.unit_of[device])]
                         [static_cast<std::size_t>(level.lanes.lane_of[device])] = {
          static_cast<std::int32_t>(device)};
  }

  std::size_t point_of(std::size_t device) {
    if (point_of_.empty()) {
      point_of_.resize(devices_);
      for (std::size_t point = 0; point < points().size(); ++point)
        if (points()[point].device >= 0)
          point_of_[static_cast<std::size_t>(points()[point].device)] = point;
    }
    return point_of_[device];
  }

  static constexpr std::size_t kMostLevels = 32;
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  XmlBuilder& build_;
  const XmlNode& zone_;
  std::size_t devices_;
  LevelRouting routing_;
  std::vector<std::optional<std::size_t>> unit_level_;  ///< [level] with lanes: that of the units
  std::vector<std::vector<std::int32_t>> lane_of_;      ///< [level][device]
  std::vector<Place> places_;                           ///< [point]
  std::vector<std::size_t> door_of_;                    ///< [point]
  std::vector<std::size_t> point_of_;                   ///< [device]
  std::vector<std::vector<std::size_t>> out_;           ///< [point] edges
  std::vector<std::vector<std::size_t>> in_;            ///< [point] edges
  std::vector<bool> descends_;                          ///< [level] of the device being read
};

/// `latency achieved half-size in-switch|at-the-ends`
void read_tuning(XmlBuilder& build, const XmlNode& zone, std::string_view id,
                 CollectiveTuning& tuning) {
  const std::string* text = property(zone, id);
  if (text == nullptr) return;
  std::vector<std::string_view> words;
  for (std::string_view rest = *text; !rest.empty();) words.push_back(take_last(rest, ' '));
  std::vector<double> numbers;
  for (std::size_t word = 1; word < words.size(); ++word)
    if (const auto number = parse_number(words[word])) numbers.push_back(*number);
  const bool right = words.size() == 4 && numbers.size() == 3 &&
                     (words.front() == "in-switch" || words.front() == "at-the-ends");
  if (!right)
    return build.source.fault(
        zone, fmt::format("{} '{}' are not seconds, a fraction, bytes and in-switch or at-the-ends",
                          id, shown(*text)));
  tuning = {{numbers[2]}, numbers[1], {numbers[0]}, words.front() == "in-switch"};
}

}  // namespace

bool tells_levels(const XmlNode& zone) { return property(zone, "level 0") != nullptr; }

LevelRouting read_levels(XmlBuilder& build, const XmlNode& zone) {
  return LevelsReader(build, zone).read();
}

void read_collectives(XmlBuilder& build, const XmlNode& zone) {
  read_tuning(build, zone, "collectives inside", build.platform.collectives_inside);
  read_tuning(build, zone, "collectives across", build.platform.collectives_across);
}

}  // namespace pipecast
