#pragma once
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/base/diagnostic.hpp"
#include "sim/graph/task.hpp"
#include "sim/graph/transfers.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/program.hpp"
#include "sim/model/workload.hpp"

namespace pipecast {

/// Edges of the task graph, built once: an edge u → v means that v starts when u has ended.
using DependencyGraph =
    boost::compressed_sparse_row_graph<boost::directedS, boost::no_property, boost::no_property,
                                       boost::no_property, std::uint32_t, std::uint32_t>;

/// A task that lasts what a share of an operation does. Who gives operations other seconds (jitter,
/// a study's variations) calls follow_operations().
struct DelayWithin {
  std::uint32_t delay = 0;
  std::uint32_t operation = 0;
  double share = 0;  ///< by which the delay grows when the operation grows by 1

  bool operator==(const DelayWithin&) const = default;
};

/// What both evaluators run. A task starts when all its predecessors have ended; nothing else
/// orders tasks, so a transfer policy is a set of edges. Task ids are construction order: rank by
/// rank in program order, then transfers in the order of their consumers.
struct TaskGraph {
  int ranks = 0;
  std::vector<Task> tasks;
  std::vector<Route> routes;             ///< the distinct routes transfers use
  std::vector<DeviceId> device_of_rank;  ///< [rank]
  std::vector<DelayWithin> delays;
  DependencyGraph dependencies;
  std::vector<std::uint32_t> order;  ///< a topological order: every edge goes forward in it
};

/// Program × Workload × Platform → TaskGraph. `device_of_rank` gives each pipeline rank its device.
/// Errors: sizes that do not agree, no route between two ranks, and a schedule that can never
/// finish (the blocked ranks and cells are listed). O(tasks + edges).
Result<TaskGraph> build_task_graph(const Program& program, const Workload& workload,
                                   const Platform& platform,
                                   std::span<const DeviceId> device_of_rank,
                                   TransferPolicy policy = TransferPolicy::Overlapped);

/// Delays within operations as long as the operations make them now; `before` are the graph's tasks
/// with the seconds they were built with. O(delays).
void follow_operations(TaskGraph& graph, std::span<const Task> before);

/// Seconds a transfer takes when nothing shares its links: extra latency + route latency + bytes ÷
/// bandwidth.
inline double unshared_seconds(const TaskGraph& graph, const Task& task) {
  if (task.route < 0) return task.seconds;
  const Route& way = graph.routes[static_cast<std::size_t>(task.route)];
  return task.seconds + way.latency.value + task.bytes / way.bandwidth.value;
}

}  // namespace pipecast
