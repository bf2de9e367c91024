#include "sim/run/longest_path.hpp"

#include <algorithm>

namespace pipecast {

Timeline longest_path(const TaskGraph& graph) {
  Timeline timeline;
  timeline.intervals.resize(graph.tasks.size());
  for (const std::uint32_t task : graph.order) {
    Interval& interval = timeline.intervals[task];
    interval.end_s = interval.start_s + unshared_seconds(graph, graph.tasks[task]);
    for (auto [next, end] = boost::adjacent_vertices(task, graph.dependencies); next != end;
         ++next) {
      double& start = timeline.intervals[*next].start_s;
      start = std::max(start, interval.end_s);
    }
  }
  return timeline;
}

}  // namespace pipecast
