#include "tests/support/side_by_side.hpp"

#include <string>
#include <utility>

namespace pipecast::testing {
namespace {

using Edge = std::pair<std::uint32_t, std::uint32_t>;

/// How far the ids of a part move.
struct Offsets {
  std::int32_t device = 0;
  std::int32_t link = 0;
  std::int32_t rank = 0;
  std::int32_t route = 0;
  std::uint32_t task = 0;
};

void append_platform(Platform& whole, const Platform& part, const std::string& prefix) {
  for (Device device : part.devices) {
    device.name = prefix + device.name;
    whole.devices.push_back(std::move(device));
  }
  for (Link link : part.links) {
    link.name = prefix + link.name;
    whole.links.push_back(std::move(link));
  }
}

void append_routes(Placed& whole, const TaskGraph& part, const Offsets& offsets) {
  auto& written = std::get<ExplicitRouting>(whole.platform.routing).routes;
  for (Route route : part.routes) {
    route.from.value += offsets.device;
    route.to.value += offsets.device;
    for (LinkId& link : route.links) link.value += offsets.link;
    written[{route.from, route.to}] = route.links;
    whole.graph.routes.push_back(std::move(route));
  }
}

void append_tasks(TaskGraph& whole, const TaskGraph& part, const Offsets& offsets,
                  std::vector<Edge>& edges) {
  for (Task task : part.tasks) {
    task.rank += offsets.rank;
    if (task.peer >= 0) task.peer += offsets.rank;
    if (task.route >= 0) task.route += offsets.route;
    whole.tasks.push_back(task);
  }
  for (DeviceId device : part.device_of_rank)
    whole.device_of_rank.push_back({device.value + offsets.device});
  for (std::uint32_t task = 0; task < part.tasks.size(); ++task)
    for (auto [next, end] = boost::adjacent_vertices(task, part.dependencies); next != end; ++next)
      edges.emplace_back(task + offsets.task, *next + offsets.task);
  for (const std::uint32_t task : part.order) whole.order.push_back(task + offsets.task);
  whole.ranks += part.ranks;
}

}  // namespace

Placed side_by_side(std::span<const Placed> parts) {
  Placed whole;
  whole.platform.name = "side by side";
  whole.platform.routing = ExplicitRouting{};
  std::vector<Edge> edges;
  for (std::size_t index = 0; index < parts.size(); ++index) {
    const Offsets offsets{static_cast<std::int32_t>(whole.platform.devices.size()),
                          static_cast<std::int32_t>(whole.platform.links.size()), whole.graph.ranks,
                          static_cast<std::int32_t>(whole.graph.routes.size()),
                          static_cast<std::uint32_t>(whole.graph.tasks.size())};
    append_platform(whole.platform, parts[index].platform, std::to_string(index) + "/");
    append_routes(whole, parts[index].graph, offsets);
    append_tasks(whole.graph, parts[index].graph, offsets, edges);
  }
  whole.graph.dependencies = DependencyGraph(boost::edges_are_sorted, edges.begin(), edges.end(),
                                             static_cast<std::uint32_t>(whole.graph.tasks.size()),
                                             static_cast<std::uint32_t>(edges.size()));
  return whole;
}

}  // namespace pipecast::testing
