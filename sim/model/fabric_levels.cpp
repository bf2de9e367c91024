#include "sim/model/fabric_levels.hpp"

#include <algorithm>
#include <set>
#include <span>
#include <string_view>

namespace pipecast {
namespace {

/// Gives links to levels from the inside out; the first one keeps a link.
class LevelSorter {
 public:
  explicit LevelSorter(const Platform& platform) : platform_(platform) {
    result_.level_of.assign(platform.links.size(), -1);
  }

  void begin(std::string name) { result_.levels.push_back({std::move(name), {}, 0}); }

  void add(std::span<const LinkId> links) {
    for (const LinkId link : links) {
      if (link.value < 0) continue;  // the end of a grid without a wire round it
      std::int32_t& level = result_.level_of[link.at()];
      if (level < 0) level = static_cast<std::int32_t>(result_.levels.size()) - 1;
    }
  }

  void add_levels(std::span<const RoutingLevel> levels) {
    for (const RoutingLevel& level : levels) {
      begin(level.name);
      for (const std::vector<LinkId>& links : level.climb) add(links);
      for (const std::vector<LinkId>& links : level.descend) add(links);
      for (const auto& [pair, links] : level.direct) add(links);
    }
  }

  /// Without the levels that got no link of their own.
  FabricLevels finish() {
    std::vector<std::set<std::string>> kinds(result_.levels.size());
    for (std::size_t link = 0; link < platform_.links.size(); ++link) {
      if (result_.level_of[link] < 0) continue;
      const auto level = static_cast<std::size_t>(result_.level_of[link]);
      ++result_.levels[level].count;
      kinds[level].insert(link_kind(platform_.links[link]));
    }
    std::vector<std::int32_t> number;
    std::vector<FabricLevel> used;
    for (std::size_t level = 0; level < result_.levels.size(); ++level) {
      number.push_back(static_cast<std::int32_t>(used.size()));
      if (result_.levels[level].count == 0) continue;
      used.push_back(std::move(result_.levels[level]));
      used.back().links = joined(kinds[level]);
    }
    for (std::int32_t& level : result_.level_of)
      if (level >= 0) level = number[static_cast<std::size_t>(level)];
    result_.levels = std::move(used);
    return std::move(result_);
  }

 private:
  /// Links of a file have names of their own: more than a few say nothing.
  static std::string joined(const std::set<std::string>& kinds) {
    constexpr std::size_t kMostKinds = 4;
    if (kinds.size() > kMostKinds) return "links";
    std::string text;
    for (const std::string& kind : kinds) text += (text.empty() ? "" : ", ") + kind;
    return text;
  }

  const Platform& platform_;
  FabricLevels result_;
};

void sort_links(LevelSorter& sorter, const UniformRouting& routing) {
  sorter.begin("network");
  sorter.add(routing.links);
}

void sort_links(LevelSorter& sorter, const ExplicitRouting& routing) {
  sorter.begin("network");
  for (const auto& [pair, links] : routing.routes) sorter.add(links);
}

void sort_links(LevelSorter& sorter, const LevelRouting& routing) {
  sorter.add_levels(routing.levels);
}

void sort_links(LevelSorter& sorter, const TorusRouting& routing) {
  sorter.begin("torus");
  sorter.add(routing.forward);
  sorter.add(routing.backward);
  sorter.add_levels(routing.outside);
}

}  // namespace

FabricLevels fabric_levels(const Platform& platform) {
  LevelSorter sorter(platform);
  std::visit([&](const auto& routing) { sort_links(sorter, routing); }, platform.routing);
  return sorter.finish();
}

std::string link_kind(const Link& link) {
  std::string name = link.name;
  for (const std::string_view end : {" up", " down"})
    if (name.ends_with(end)) name.resize(name.size() - end.size());
  const std::size_t space = name.rfind(' ');
  return space == std::string::npos ? name : name.substr(space + 1);
}

}  // namespace pipecast
