#pragma once
#include <vector>

#include "sim/report/run_view.hpp"
#include "sim/report/step_estimate.hpp"

namespace pipecast {

/// From the ideal step to the predicted one: the first part is the compute time of the busiest
/// rank, the others what delays that rank, in the order warm-up, steady, cool-down, the runtime's
/// pauses, waiting for transfers; together they are the makespan. Ties go to the lowest rank. Where
/// the costs come from a model, its own parts, which are finer.
struct Waterfall {
  Rank rank;
  std::vector<WaterfallPart> parts;
};
Waterfall waterfall(const RunView& run);

}  // namespace pipecast
