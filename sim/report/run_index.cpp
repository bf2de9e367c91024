#include "sim/report/run_index.hpp"

namespace pipecast {
namespace {

/// Keeps in `last` whichever of the two messages arrived later.
void keep_later(std::int32_t& last, std::int32_t message, const Timeline& timeline) {
  const auto end_s = [&](std::int32_t id) {
    return timeline.intervals[static_cast<std::size_t>(id)].end_s;
  };
  if (last == kNoTask || end_s(message) > end_s(last) ||
      (end_s(message) == end_s(last) && message < last))
    last = message;
}

}  // namespace

RunIndex index_run(const TaskGraph& graph, const Timeline& timeline) {
  RunIndex index;
  index.makespan_s = makespan(timeline).value;
  index.compute = group_tasks(
      graph,
      [](const Task& task) {
        return task.stream == Stream::Compute && (is_work(task) || task.seconds > 0);
      },
      [](const Task& task) { return task.rank; });
  index.last_message.assign(graph.tasks.size(), kNoTask);
  for (const std::uint32_t id : graph.order) {
    const Task& task = graph.tasks[id];
    if (is_work(task)) continue;
    const std::int32_t message =
        task.stream == Stream::Compute ? index.last_message[id] : static_cast<std::int32_t>(id);
    if (message == kNoTask) continue;
    for (auto [next, end] = boost::adjacent_vertices(id, graph.dependencies); next != end; ++next)
      if (graph.tasks[*next].stream == Stream::Compute)
        keep_later(index.last_message[*next], message, timeline);
  }
  return index;
}

}  // namespace pipecast
