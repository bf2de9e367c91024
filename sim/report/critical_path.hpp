#pragma once
#include <cstdint>
#include <vector>

#include "sim/graph/task_graph.hpp"
#include "sim/model/timeline.hpp"

namespace pipecast {

/// The tasks that decide how long the step takes, first to last: from the task that ends last back
/// to one that waits for nothing, each time the predecessor that ended last. Ties go to the smaller
/// id. Where every task starts as soon as it may, shortening a task that is not among them does not
/// shorten the step. O(tasks + edges).
std::vector<std::uint32_t> critical_path(const TaskGraph& graph, const Timeline& timeline);

}  // namespace pipecast
