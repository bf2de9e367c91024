#pragma once
#include <span>
#include <vector>

#include "sim/graph/task_graph.hpp"
#include "sim/model/platform.hpp"

namespace pipecast::testing {

/// A graph and the platform it was built for.
struct Placed {
  Platform platform;
  TaskGraph graph;
};

/// Graphs that know nothing of each other, each on devices and links of its own, as one graph: many
/// small simulations for the price of one process, or the replicas of a pipeline. Tasks of part k
/// follow those of part k−1 in their old order.
Placed side_by_side(std::span<const Placed> parts);

}  // namespace pipecast::testing
