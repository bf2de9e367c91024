#include "sim/graph/link_images.hpp"

#include <algorithm>
#include <numeric>

namespace pipecast {

std::uint64_t mixed(std::uint64_t number) {
  number += 0x9e3779b97f4a7c15U;
  number = (number ^ (number >> 30U)) * 0xbf58476d1ce4e5b9U;
  number = (number ^ (number >> 27U)) * 0x94d049bb133111ebU;
  return number ^ (number >> 31U);
}

LinkImages::LinkImages(const TaskGraph& graph, const Platform& platform,
                       const std::vector<std::uint32_t>& image_of, std::size_t images)
    : graph_(graph),
      platform_(platform),
      image_of_(image_of),
      first_(images, 0xffffffffU),
      parent_(platform.links.size()),
      carries_(platform.links.size(), 0) {
  std::iota(parent_.begin(), parent_.end(), 0);
  for (std::uint32_t task = 0; task < graph.tasks.size(); ++task) {
    std::uint32_t& first = first_[image_of[task]];
    if (first == 0xffffffffU) first = task;
  }
}

std::int32_t LinkImages::root(std::int32_t link) {
  while (parent_[static_cast<std::size_t>(link)] != link) {
    std::int32_t& parent = parent_[static_cast<std::size_t>(link)];
    parent = parent_[static_cast<std::size_t>(parent)];
    link = parent;
  }
  return link;
}

bool LinkImages::unite() {
  for (std::uint32_t id = 0; id < graph_.tasks.size(); ++id) {
    const Task& task = graph_.tasks[id];
    if (task.route < 0) continue;
    const Route& way = graph_.routes[static_cast<std::size_t>(task.route)];
    const Task& image = graph_.tasks[first_[image_of_[id]]];
    const Route& image_way = graph_.routes[static_cast<std::size_t>(image.route)];
    if (way.links.size() != image_way.links.size() || way.latency != image_way.latency ||
        way.bandwidth != image_way.bandwidth)
      return false;
    for (std::size_t hop = 0; hop < way.links.size(); ++hop) {
      const Link& link = platform_.links[way.links[hop].at()];
      const Link& other = platform_.links[image_way.links[hop].at()];
      if (link.sharing != other.sharing || link.bandwidth != other.bandwidth) return false;
      if (link.sharing == Sharing::FatPipe) continue;  // nothing to share out
      const std::int32_t a = root(way.links[hop].value);
      const std::int32_t b = root(image_way.links[hop].value);
      parent_[static_cast<std::size_t>(std::max(a, b))] = std::min(a, b);
      carries_[way.links[hop].at()] += mixed(image_of_[id]);
    }
  }
  return true;
}

bool LinkImages::carry_the_same() const {
  for (std::size_t link = 0; link < parent_.size(); ++link) {
    std::size_t root = link;
    while (parent_[root] != static_cast<std::int32_t>(root))
      root = static_cast<std::size_t>(parent_[root]);
    if (carries_[link] != carries_[root]) return false;
  }
  return true;
}

bool LinkImages::fold(TaskGraph& folded, Platform& platform) {
  if (!unite() || !carry_the_same()) return false;
  for (std::uint32_t id = 0; id < graph_.tasks.size(); ++id) {
    if (graph_.tasks[id].route < 0) continue;
    for (const LinkId link : graph_.routes[static_cast<std::size_t>(graph_.tasks[id].route)].links)
      if (parent_[link.at()] == link.value) ++crossings_[link.value][image_of_[id]];
  }
  for (const auto& [link, flows] : crossings_) {
    int& divisor = divisor_[link];
    for (const auto& [image, times] : flows) divisor = std::gcd(divisor, times);
  }
  std::map<std::pair<std::int32_t, std::vector<LinkId>>, std::int32_t> known;
  for (std::uint32_t image = 0; image < folded.tasks.size(); ++image) {
    Task& task = folded.tasks[image];
    if (task.route < 0) continue;
    Route way = folded_route(graph_.routes[static_cast<std::size_t>(task.route)], image, platform);
    const auto [entry, is_new] =
        known.try_emplace({task.route, way.links}, static_cast<std::int32_t>(folded.routes.size()));
    if (is_new) {
      if (task.peer >= 0) way.to = graph_.device_of_rank[static_cast<std::size_t>(task.peer)];
      folded.routes.push_back(std::move(way));
    }
    task.route = entry->second;
  }
  return true;
}

Route LinkImages::folded_route(const Route& way, std::uint32_t image, Platform& platform) {
  Route result = way;
  result.links.clear();
  std::vector<std::int32_t> met;
  for (const LinkId link : way.links) {
    if (platform_.links[link.at()].sharing == Sharing::FatPipe) {
      result.links.push_back(link);
      continue;
    }
    const std::int32_t home = root(link.value);
    if (std::find(met.begin(), met.end(), home) != met.end()) continue;
    met.push_back(home);
    const int times = crossings_.at(home).at(image) / divisor_.at(home);
    result.links.insert(result.links.end(), static_cast<std::size_t>(times),
                        standing_for(home, platform));
  }
  return result;
}

LinkId LinkImages::standing_for(std::int32_t root, Platform& platform) {
  const int divisor = divisor_.at(root);
  if (divisor == 1) return {root};
  const auto [entry, is_new] =
      made_.try_emplace(root, LinkId{static_cast<std::int32_t>(platform.links.size())});
  if (is_new) {
    Link link = platform.links[static_cast<std::size_t>(root)];
    link.name += " (1/" + std::to_string(divisor) + ")";
    link.bandwidth = link.bandwidth / divisor;
    link.latency = {};
    platform.links.push_back(link);
  }
  return entry->second;
}

}  // namespace pipecast
