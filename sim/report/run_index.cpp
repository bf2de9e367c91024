#include "sim/report/run_index.hpp"

namespace pipecast {

RunIndex index_run(const TaskGraph& graph, const Timeline& timeline) {
  RunIndex index;
  index.makespan_s = makespan(timeline).value;
  index.compute = group_tasks(
      graph, [](const Task& task) { return task.stream == Stream::Compute; },
      [](const Task& task) { return task.rank; });
  index.last_message.assign(graph.tasks.size(), kNoTask);
  for (std::uint32_t message = 0; message < graph.tasks.size(); ++message) {
    if (graph.tasks[message].stream == Stream::Compute) continue;
    for (auto [next, end] = boost::adjacent_vertices(message, graph.dependencies); next != end;
         ++next) {
      if (!is_work(graph.tasks[*next])) continue;
      std::int32_t& last = index.last_message[*next];
      if (last == kNoTask || timeline.intervals[message].end_s >
                                 timeline.intervals[static_cast<std::size_t>(last)].end_s)
        last = static_cast<std::int32_t>(message);
    }
  }
  return index;
}

}  // namespace pipecast
