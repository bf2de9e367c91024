#pragma once
#include <span>

#include "sim/graph/task_graph.hpp"
#include "sim/model/flow.hpp"

namespace pipecast {

/// Flows alone as a task graph: one transfer per flow, in the order of the list, and no computes.
/// Every device that sends or receives becomes a rank, in the order of device numbers.
/// Infeasible when a pair has no route. O(flows + dependencies).
Result<TaskGraph> build_flow_graph(std::span<const Flow> flows, const Platform& platform);

}  // namespace pipecast
