#pragma once
#include "sim/base/diagnostic.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/timeline.hpp"

namespace pipecast {

/// The timeline with max–min fair sharing of links, by SimGrid.
///
/// Runs in a forked child, because SimGrid's engine is one per process and cannot be reset. Call it
/// before the process has threads. A child that dies is a diagnostic, not a crash.
/// Precondition: `graph` came from build_task_graph() on the same platform.
Result<Timeline> simgrid_run(const TaskGraph& graph, const Platform& platform);

}  // namespace pipecast
