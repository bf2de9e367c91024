#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/graph/task.hpp"
#include "sim/graph/transfers.hpp"

namespace pipecast {

/// The edges that `policy` adds to a graph under construction, which already has program order and
/// producer → transfer → consumer. `lowered` spells the transfers out and has the compute cells of
/// the tasks in the same order. A meeting of many edges gets a Gap task of no length, so the number
/// of edges stays linear whatever a list looks like. O(operations + tasks). Edges may repeat.
void order_transfers(const Program& lowered, TransferPolicy policy, std::vector<Task>& tasks,
                     std::vector<std::pair<std::uint32_t, std::uint32_t>>& edges);

}  // namespace pipecast
