#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/model/platform.hpp"

namespace pipecast {

/// Levels as they are written to a SimGrid file, see sim/read/xml_levels.hpp.
class WrittenLevels {
 public:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  WrittenLevels(std::vector<RoutingLevel> levels, std::size_t devices)
      : levels_(std::move(levels)), only_units_(levels_.size(), false), devices_(devices) {}

  /// Why they cannot be told by meeting points and doors; nothing when they can.
  std::optional<std::string> fault() const;

  /// Adds a level where devices forward for a part of the group in which they meet: the units, with
  /// the ways of that level, so that a device forwards for its own unit only.
  void add_units();

  const std::vector<RoutingLevel>& levels() const { return levels_; }
  bool only_units(std::size_t level) const { return only_units_[level]; }
  bool has_lanes(std::size_t level) const { return !levels_[level].lanes.empty(); }
  bool takes_part(std::size_t level, std::size_t device) const;
  /// Of a level with lanes: the inner level whose groups are its units, kNone when there is none.
  std::size_t unit_level(std::size_t level) const;
  /// Links of every way within a level, where a climb without any counts as one, and a descent too;
  /// 0 when nobody takes part.
  std::size_t way_length(std::size_t level) const;

 private:
  bool all_meet() const;
  bool groups_agree(std::size_t level) const;
  bool even_ways(std::size_t level) const;
  std::pair<std::size_t, std::size_t> lengths(std::size_t level, std::size_t device) const;
  std::size_t meeting_level_of_units(std::size_t level) const;

  std::vector<RoutingLevel> levels_;
  std::vector<bool> only_units_;  ///< [level]
  std::size_t devices_;
};

}  // namespace pipecast
