#pragma once
#include <cstdint>
#include <vector>

#include "sim/base/diagnostic.hpp"
#include "sim/graph/task_graph.hpp"

namespace pipecast {

/// Tasks in an order in which every edge goes forward; shorter than the task list when there is a
/// cycle. Ties are broken by task id. O(tasks + edges).
std::vector<std::uint32_t> topological_order(const TaskGraph& graph);

/// For a graph with a cycle: which ranks are blocked, at which cell, waiting for which cell of
/// which rank, and the circle that can never resolve.
Diagnostics describe_deadlock(const TaskGraph& graph, const Program& program);

}  // namespace pipecast
