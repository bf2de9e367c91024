#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/graph/deadlock.hpp"
#include "sim/graph/task_graph.hpp"

namespace pipecast::testing {

/// A task graph written down vertex by vertex, without a program behind it.
struct HandMade {
  Platform platform;
  TaskGraph graph;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;

  std::uint32_t compute(int rank, double seconds) {
    Task task;
    task.seconds = seconds;
    task.rank = rank;
    graph.tasks.push_back(task);
    return last();
  }

  std::uint32_t transfer(int from, int to, double bytes, double extra_s = 0) {
    Task task;
    task.kind = OpKind::SendForward;
    task.stream = Stream::Transfer;
    task.seconds = extra_s;
    task.bytes = bytes;
    task.rank = from;
    task.peer = to;
    task.route = static_cast<std::int32_t>(graph.routes.size());
    graph.routes.push_back(*route(platform, {from}, {to}));
    for (std::size_t known = 0; known + 1 < graph.routes.size(); ++known)
      if (graph.routes[known] == graph.routes.back()) task.route = static_cast<std::int32_t>(known);
    if (static_cast<std::size_t>(task.route) + 1 < graph.routes.size()) graph.routes.pop_back();
    graph.tasks.push_back(task);
    return last();
  }

  /// Edges must come in the order of their first task.
  void edge(std::uint32_t before, std::uint32_t after) { edges.emplace_back(before, after); }

  const TaskGraph& finish() {
    const auto devices = static_cast<int>(platform.devices.size());
    graph.ranks = devices;
    for (int device = 0; device < devices; ++device) graph.device_of_rank.push_back({device});
    graph.dependencies = DependencyGraph(boost::edges_are_sorted, edges.begin(), edges.end(),
                                         static_cast<std::uint32_t>(graph.tasks.size()),
                                         static_cast<std::uint32_t>(edges.size()));
    graph.order = topological_order(graph);
    return graph;
  }

 private:
  std::uint32_t last() const { return static_cast<std::uint32_t>(graph.tasks.size() - 1); }
};

/// Every device has one card, a link up and a link down, that all its messages pass.
inline Platform cards(int devices, Seconds latency, BytesPerSecond bandwidth, Sharing sharing) {
  Platform platform;
  platform.name = "cards";
  RoutingLevel level;
  level.name = "switch";
  for (int device = 0; device < devices; ++device) {
    const std::string name = std::to_string(device);
    platform.devices.push_back({"device" + name, "", Bytes{}, 1.0});
    platform.links.push_back({"up" + name, latency, bandwidth, sharing});
    platform.links.push_back({"down" + name, latency, bandwidth, sharing});
    level.group_of.push_back(0);
    level.climb.push_back({LinkId{2 * device}});
    level.descend.push_back({LinkId{2 * device + 1}});
  }
  platform.routing = LevelRouting{{level}};
  return platform;
}

}  // namespace pipecast::testing
