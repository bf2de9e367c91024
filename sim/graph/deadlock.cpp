#include "sim/graph/deadlock.hpp"

#include <algorithm>
#include <string>

#include "sim/base/large_vector.hpp"
#include "sim/graph/head_of_line.hpp"

namespace pipecast {
namespace {

constexpr std::uint32_t kNone = 0xffffffffU;

std::vector<std::uint32_t> in_degrees(const TaskGraph& graph) {
  std::vector<std::uint32_t> degrees(graph.tasks.size(), 0);
  for (std::uint32_t task = 0; task < degrees.size(); ++task)
    for (auto [next, end] = boost::adjacent_vertices(task, graph.dependencies); next != end; ++next)
      ++degrees[*next];
  return degrees;
}

std::string task_text(const Task& task, const Program& program) {
  if (task.position >= 0)
    return cell_text(program.ranks[static_cast<std::size_t>(task.rank)],
                     static_cast<std::size_t>(task.position));
  if (task.kind == OpKind::Gap) return "a pause";
  Op op;
  op.kind = task.kind;
  op.stage = {task.stage};
  op.microbatch = {task.microbatch};
  return op_text(op);
}

std::string rank_text(const Task& task) {
  const std::string rank = "rank " + std::to_string(task.rank);
  return is_transfer(task) ? rank + " to rank " + std::to_string(task.peer) : rank;
}

/// For each unfinished task one unfinished predecessor, preferring one on another rank.
std::vector<std::uint32_t> blockers(const TaskGraph& graph, const std::vector<char>& done) {
  std::vector<std::uint32_t> blocker(graph.tasks.size(), kNone);
  for (std::uint32_t task = 0; task < graph.tasks.size(); ++task) {
    if (done[task] != 0) continue;
    for (auto [next, end] = boost::adjacent_vertices(task, graph.dependencies); next != end; ++next)
      if (blocker[*next] == kNone || graph.tasks[task].rank != graph.tasks[*next].rank)
        blocker[*next] = task;
  }
  return blocker;
}

std::string circle_text(const TaskGraph& graph, const Program& program,
                        const std::vector<std::uint32_t>& blocker, std::uint32_t start) {
  std::vector<char> met(graph.tasks.size(), 0);
  std::uint32_t task = start;
  while (met[task] == 0) {
    met[task] = 1;
    task = blocker[task];
  }
  const std::uint32_t first = task;
  std::string text;
  std::size_t shown = 0;
  do {
    if (++shown > 24) return text + " …";
    text += task_text(graph.tasks[task], program) + " (" + rank_text(graph.tasks[task]) +
            ") waits for ";
    task = blocker[task];
  } while (task != first);
  return text + task_text(graph.tasks[first], program);
}

/// For each rank the first of its messages that stands behind another one that never completes.
void describe_queues(const TaskGraph& graph, const std::vector<char>& done, Diagnostics& faults) {
  std::vector<char> rank_reported(static_cast<std::size_t>(graph.ranks), 0);
  for (std::uint32_t front = 0; front < graph.tasks.size(); ++front) {
    const Task& first = graph.tasks[front];
    if (done[front] != 0 || !is_transfer(first)) continue;
    for (auto [next, end] = boost::adjacent_vertices(front, graph.dependencies); next != end;
         ++next) {
      const Task& second = graph.tasks[*next];
      if (done[*next] != 0 || !is_transfer(second) || faults.size() >= kMaxReported) continue;
      const std::int32_t rank = shared_rank(first, second);
      char& reported = rank_reported[static_cast<std::size_t>(rank)];
      if (reported == 0)
        faults.push_back(infeasible("deadlock: on rank " + std::to_string(rank) + " " +
                                    transfer_text(second, rank) + " stands behind " +
                                    transfer_text(first, rank) + ", which never completes"));
      reported = 1;
    }
  }
}

}  // namespace

std::vector<std::uint32_t> topological_order(const TaskGraph& graph) {
  std::vector<std::uint32_t> degrees = in_degrees(graph);
  std::vector<std::uint32_t> order;
  reserve_large(order, degrees.size());
  for (std::uint32_t task = 0; task < degrees.size(); ++task)
    if (degrees[task] == 0) order.push_back(task);
  for (std::size_t i = 0; i < order.size(); ++i)
    for (auto [next, end] = boost::adjacent_vertices(order[i], graph.dependencies); next != end;
         ++next)
      if (--degrees[*next] == 0) order.push_back(*next);
  return order;
}

Diagnostics describe_deadlock(const TaskGraph& graph, const Program& program) {
  std::vector<char> done(graph.tasks.size(), 0);
  for (const std::uint32_t task : graph.order) done[task] = 1;
  const std::vector<std::uint32_t> blocker = blockers(graph, done);
  Diagnostics faults;
  std::vector<char> rank_reported(static_cast<std::size_t>(graph.ranks), 0);
  std::uint32_t start = kNone;
  for (std::uint32_t task = 0; task < graph.tasks.size(); ++task) {
    const Task& blocked = graph.tasks[task];
    char& reported = rank_reported[static_cast<std::size_t>(blocked.rank)];
    if (done[task] != 0 || blocked.position < 0 || reported != 0) continue;
    reported = 1;
    if (start == kNone) start = task;
    const Task& cause = graph.tasks[blocker[task]];
    faults.push_back(infeasible("deadlock: rank " + std::to_string(blocked.rank) +
                                " is blocked at " + task_text(blocked, program) +
                                ", which waits for " + task_text(cause, program) + " of rank " +
                                std::to_string(cause.rank)));
    if (faults.size() == kMaxReported) break;
  }
  describe_queues(graph, done, faults);
  if (start != kNone)
    faults.push_back(
        infeasible("deadlock: the circle is " + circle_text(graph, program, blocker, start)));
  return faults;
}

}  // namespace pipecast
