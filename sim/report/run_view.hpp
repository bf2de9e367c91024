#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sim/graph/task.hpp"
#include "sim/model/memory_parts.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/program.hpp"
#include "sim/model/timeline.hpp"
#include "sim/model/workload.hpp"
#include "sim/report/delays.hpp"
#include "sim/report/step_estimate.hpp"
#include "sim/report/summary.hpp"

namespace pipecast {

struct TaskGraph;
struct FabricTraffic;

/// A time that no order can beat under the schedule's memory limit and the expected message time.
struct StepBound {
  double at_least_s = 0;
  bool of_makespan = false;  ///< false: of the largest rank span

  /// How far the run is above the bound, relative to it.
  double gap(const Summary& summary) const {
    return (of_makespan ? summary.makespan_s : summary.max_rank_span_s) / at_least_s - 1;
  }
};

/// One finished run as reports and exporters see it. Refers to values that must outlive it.
struct RunView {
  std::string scenario;
  std::string engine;    ///< "simgrid" or "longest-path"
  std::string schedule;  ///< registry name or CSV file name
  const Program& program;
  const Workload& workload;
  const Platform& platform;
  const TaskGraph& graph;  ///< edges: include sim/graph/task_graph.hpp to walk them
  std::span<const Task> tasks;
  std::span<const Route> routes;
  std::span<const DeviceId> device_of_rank;
  const Timeline& timeline;
  const Summary& summary;
  std::span<const std::string> warnings;
  std::optional<StepBound> lower_bound = {};  ///< of schedules that search
  const Delays* delays = nullptr;             ///< of imperfect machines; null: none
  int replicas = 1;                           ///< of the pipeline, in the layout
  int replicas_simulated = 1;                 ///< 1 of several: one stands for all
  const FabricTraffic* traffic = nullptr;     ///< of all replicas by level; null: not counted
  std::string_view scenario_text = {};        ///< what the user wrote and changed; empty: not known
  const StepEstimate* estimate = nullptr;     ///< where the costs come from a model
  std::span<const RankFootprint> footprints = {};  ///< [rank] the same; empty: not known
};

}  // namespace pipecast
