#include "sim/report/critical_path.hpp"

#include <algorithm>
#include <cstddef>

#include "sim/report/run_index.hpp"

namespace pipecast {

std::vector<std::uint32_t> critical_path(const TaskGraph& graph, const Timeline& timeline) {
  if (graph.tasks.empty()) return {};
  const auto end_of = [&](std::size_t task) { return timeline.intervals[task].end_s; };
  std::vector<std::int32_t> before(graph.tasks.size(), kNoTask);
  std::size_t last = 0;
  for (std::uint32_t task = 0; task < graph.tasks.size(); ++task) {
    if (end_of(task) > end_of(last)) last = task;
    for (auto [next, end] = boost::adjacent_vertices(task, graph.dependencies); next != end;
         ++next) {
      std::int32_t& latest = before[*next];
      if (latest == kNoTask || end_of(task) > end_of(static_cast<std::size_t>(latest)))
        latest = static_cast<std::int32_t>(task);
    }
  }
  std::vector<std::uint32_t> path;
  for (auto task = static_cast<std::int32_t>(last); task != kNoTask;
       task = before[static_cast<std::size_t>(task)])
    path.push_back(static_cast<std::uint32_t>(task));
  std::reverse(path.begin(), path.end());
  return path;
}

}  // namespace pipecast
