#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "platforms/building.hpp"

namespace pipecast {
namespace {

/// The devices on the way from each device to `target`, as a tree of next hops.
std::vector<int> next_hops(const MeshShape& shape, int target) {
  const int devices = static_cast<int>(shape.size());
  std::vector<int> next(shape.size(), -1);
  std::vector<int> hops(shape.size(), std::numeric_limits<int>::max());
  std::vector<int> width(shape.size(), 0);
  hops[static_cast<std::size_t>(target)] = 0;
  width[static_cast<std::size_t>(target)] = std::numeric_limits<int>::max();
  for (int distance = 0; distance < devices; ++distance)
    for (std::size_t device = 0; device < shape.size(); ++device)
      for (std::size_t via = 0; via < shape.size(); ++via) {
        if (hops[via] != distance || shape[device][via] == 0 || hops[device] <= distance) continue;
        const int narrowest = std::min(width[via], shape[device][via]);
        if (hops[device] == distance + 1 && narrowest <= width[device]) continue;
        hops[device] = distance + 1;
        width[device] = narrowest;
        next[device] = static_cast<int>(via);
      }
  return next;
}

using LinkTable = std::vector<std::vector<LinkId>>;

/// The wires of one node, [from][to]; parallel wires are one link.
LinkTable node_wires(Platform& platform, int first, const MeshShape& shape, const Wire& wire) {
  const std::size_t size = shape.size();
  LinkTable links(size, std::vector<LinkId>(size));
  const auto name_of = [&](std::size_t slot) {
    return platform.devices[static_cast<std::size_t>(first) + slot].name;
  };
  for (std::size_t low = 0; low < size; ++low)
    for (std::size_t high = low + 1; high < size; ++high) {
      if (shape[low][high] == 0) continue;
      const Wire bundle{wire.line_rate * shape[low][high], wire.achieved, wire.latency};
      const Duplex pair =
          add_duplex(platform, fmt::format("{}-{} mesh", name_of(low), name_of(high)), bundle);
      links[low][high] = pair.up;
      links[high][low] = pair.down;
    }
  return links;
}

std::vector<LinkId> walk(const std::vector<int>& next, const LinkTable& links, int from, int to) {
  std::vector<LinkId> way;
  for (auto at = static_cast<std::size_t>(from); at != static_cast<std::size_t>(to);) {
    if (next[at] < 0) return {};
    const auto hop = static_cast<std::size_t>(next[at]);
    way.push_back(links[at][hop]);
    at = hop;
  }
  return way;
}

}  // namespace

MeshShape full_mesh(int devices) {
  MeshShape shape(static_cast<std::size_t>(devices),
                  std::vector<int>(static_cast<std::size_t>(devices), 1));
  for (std::size_t device = 0; device < shape.size(); ++device) shape[device][device] = 0;
  return shape;
}

MeshShape cube_mesh() {
  return {{0, 1, 1, 2, 2, 0, 0, 0}, {1, 0, 2, 1, 0, 2, 0, 0}, {1, 2, 0, 2, 0, 0, 1, 0},
          {2, 1, 2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 1, 1, 2}, {0, 2, 0, 0, 1, 0, 2, 1},
          {0, 0, 1, 0, 1, 2, 0, 2}, {0, 0, 0, 1, 2, 1, 2, 0}};
}

MeshShape ring_mesh(int devices) {
  const auto size = static_cast<std::size_t>(devices);
  MeshShape shape(size, std::vector<int>(size, 0));
  for (std::size_t device = 0; device < size; ++device) {
    const std::size_t next = (device + 1) % size;
    if (next == device) continue;
    shape[device][next] = 1;
    shape[next][device] = 1;
  }
  return shape;
}

MeshPlan mesh_plan(MeshShape shape) {
  MeshPlan plan;
  for (int target = 0; target < static_cast<int>(shape.size()); ++target)
    plan.next.push_back(next_hops(shape, target));
  plan.shape = std::move(shape);
  return plan;
}

void add_mesh(Platform& platform, RoutingLevel& level, int node, const MeshPlan& plan,
              const Wire& wire) {
  const int size = static_cast<int>(plan.shape.size());
  const auto links = node_wires(platform, node * size, plan.shape, wire);
  for (int from = 0; from < size; ++from)
    for (int to = 0; to < size; ++to) {
      std::vector<LinkId> way = walk(plan.next[static_cast<std::size_t>(to)], links, from, to);
      if (!way.empty())
        level.direct[{DeviceId{node * size + from}, DeviceId{node * size + to}}] = std::move(way);
    }
}

}  // namespace pipecast
