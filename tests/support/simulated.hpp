#pragma once
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "schedules/schedule.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/run/longest_path.hpp"

namespace pipecast::testing {

/// A program run by the longest path on a platform with one delay between any two ranks.
struct Simulated {
  TaskGraph graph;
  Timeline timeline;
  double makespan_s = 0;
  double work_s = 0;           ///< compute of all ranks
  double busiest_s = 0;        ///< compute of the busiest rank
  double max_rank_span_s = 0;  ///< end of last − start of first operation, the largest of a rank
  std::vector<double> spans_s;
};

inline std::vector<DeviceId> devices_in_order(int ranks) {
  std::vector<DeviceId> devices;
  for (int rank = 0; rank < ranks; ++rank) devices.push_back({rank});
  return devices;
}

inline Simulated measured(TaskGraph graph) {
  Simulated result{.graph = std::move(graph), .timeline = {}, .spans_s = {}};
  result.timeline = longest_path(result.graph);
  result.makespan_s = makespan(result.timeline).value;
  const auto ranks = static_cast<std::size_t>(result.graph.ranks);
  std::vector<double> first(ranks, result.makespan_s), last(ranks, 0), busy(ranks, 0);
  for (std::size_t id = 0; id < result.graph.tasks.size(); ++id) {
    const Task& task = result.graph.tasks[id];
    if (!is_work(task)) continue;
    const auto rank = static_cast<std::size_t>(task.rank);
    first[rank] = std::min(first[rank], result.timeline.intervals[id].start_s);
    last[rank] = std::max(last[rank], result.timeline.intervals[id].end_s);
    busy[rank] += task.seconds;
  }
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    result.spans_s.push_back(std::max(0.0, last[rank] - first[rank]));
    result.work_s += busy[rank];
  }
  result.max_rank_span_s = *std::max_element(result.spans_s.begin(), result.spans_s.end());
  result.busiest_s = *std::max_element(busy.begin(), busy.end());
  return result;
}

inline Result<Simulated> simulated(const Program& program, const Workload& workload,
                                   Seconds delay = {}) {
  auto graph =
      build_task_graph(program, workload, constant_delay_platform(program.shape.ranks, delay),
                       devices_in_order(program.shape.ranks));
  if (!graph) return fail(graph.error());
  return measured(std::move(*graph));
}

/// The same cost for every stage.
inline Result<Simulated> simulated(const Program& program, StageCost cost, Seconds delay = {}) {
  Shape stages{program.placement.stages, 1, program.shape.microbatches};
  return simulated(program, uniform_workload(stages, cost), delay);
}

using Texts = std::map<std::string, std::string, std::less<>>;

/// A registered schedule by name, its parameters as text.
inline Result<Program> scheduled(std::string_view name, const Shape& shape, const Texts& params,
                                 const Workload& workload) {
  const std::vector<ScheduleInfo> schedules = builtin_schedules();
  const ScheduleInfo* schedule = find_schedule(schedules, name);
  if (schedule == nullptr) return fail(input_error("no schedule " + std::string(name)));
  auto values = parse_fields(schedule->fields, params);
  if (!values) return fail(values.error());
  return make_program(*schedule, {shape, *values, workload});
}

inline Result<Program> scheduled(std::string_view name, const Shape& shape,
                                 const Texts& params = {}) {
  return scheduled(name, shape, params, uniform_workload(shape, {{1.0}, {1.0}, {1.0}}));
}

}  // namespace pipecast::testing
