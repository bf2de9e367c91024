#include "sim/study/even_stages.hpp"

#include <numeric>

#include "sim/graph/task_graph.hpp"
#include "sim/run/longest_path.hpp"

namespace pipecast {
namespace {

StageCost mean_cost(const Workload& workload) {
  StageCost sum;
  for (const StageCost& cost : workload.costs) {
    sum.forward += cost.forward;
    sum.backward_input += cost.backward_input;
    sum.backward_weight += cost.backward_weight;
  }
  const auto count = static_cast<double>(workload.costs.size());
  return {sum.forward / count, sum.backward_input / count, sum.backward_weight / count};
}

}  // namespace

double bubble_of_even_stages(const Program& program, const Workload& workload) {
  Workload even;
  even.stages = workload.stages;
  even.microbatches = workload.microbatches;
  even.costs.assign(static_cast<std::size_t>(workload.stages), mean_cost(workload));
  even.bytes.assign(static_cast<std::size_t>(workload.stages), {});
  even.backward_is_split = workload.backward_is_split;
  even.cuts = workload.cuts;
  const int ranks = program.shape.ranks;
  std::vector<DeviceId> devices;
  for (int rank = 0; rank < ranks; ++rank) devices.push_back({rank});
  const Result<TaskGraph> graph = build_task_graph(
      program, even, constant_delay_platform(ranks, {}), devices, TransferPolicy::Overlapped);
  if (!graph) return 0;  // the run itself has told why
  const double makespan_s = makespan(longest_path(*graph)).value;
  double busy_s = 0;
  for (const Task& task : graph->tasks)
    if (is_work(task)) busy_s += task.seconds;
  return makespan_s > 0 ? 1 - busy_s / (ranks * makespan_s) : 0;
}

}  // namespace pipecast
