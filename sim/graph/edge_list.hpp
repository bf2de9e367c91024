#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/graph/task_graph.hpp"

namespace pipecast {

/// first must end before second starts; both are task ids.
using Edge = std::pair<std::uint32_t, std::uint32_t>;

/// The edges as the graph of `tasks` tasks. Counting sort by source, stable: Boost's own
/// constructor sorts by comparison. O(tasks + edges).
DependencyGraph dependency_graph(std::size_t tasks, const std::vector<Edge>& edges);

}  // namespace pipecast
