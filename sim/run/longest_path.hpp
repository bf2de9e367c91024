#pragma once
#include "sim/graph/task_graph.hpp"
#include "sim/model/timeline.hpp"

namespace pipecast {

/// Earliest start of every task when links are never shared.
///
/// start(t) = max over predecessors p of end(p); end(t) = start(t) + seconds(t), for a transfer
/// + route latency + bytes ÷ bandwidth of the narrowest link. O(tasks + edges).
/// Where links are not shared this equals simgrid_run(), task by task: see tests/agree.
Timeline longest_path(const TaskGraph& graph);

}  // namespace pipecast
