#pragma once
#include <span>
#include <string>

#include "sim/graph/task.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/program.hpp"
#include "sim/model/timeline.hpp"
#include "sim/model/workload.hpp"
#include "sim/report/summary.hpp"

namespace pipecast {

struct TaskGraph;

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
};

}  // namespace pipecast
