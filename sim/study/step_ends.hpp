#pragma once
#include "sim/graph/task_graph.hpp"
#include "sim/model/timeline.hpp"

namespace pipecast {

/// What of a run lies outside its operations: before the first of any rank, and after the last, on
/// the rank that ends last.
struct StepEnds {
  double first_gather_s = 0;  ///< parameters that the first operation waits for
  double reduction_s = 0;     ///< gradients that no operation hides
  double update_s = 0;
  double last_gather_s = 0;  ///< updated parameters, where they are gathered at once

  double total() const { return first_gather_s + reduction_s + update_s + last_gather_s; }
  bool operator==(const StepEnds&) const = default;
};

/// O(tasks). Precondition: the timeline is one of the graph's.
StepEnds step_ends(const TaskGraph& graph, const Timeline& timeline);

}  // namespace pipecast
