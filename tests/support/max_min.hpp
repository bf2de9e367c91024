#pragma once
#include "sim/graph/task_graph.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/timeline.hpp"

namespace pipecast::testing {

/// What simgrid_run() promises, written down plainly: a task starts when its predecessors have
/// ended; a transfer waits its extra latency and its links' latencies, then its bytes flow; flows
/// divide shared links max–min fairly (progressive filling: raise all rates together, freeze those
/// that meet a full link or their fat pipe). O(events · flows · links): for small graphs.
Timeline max_min_reference(const TaskGraph& graph, const Platform& platform);

}  // namespace pipecast::testing
