#pragma once
#include "sim/model/program.hpp"
#include "sim/read/scenario_model.hpp"
#include "sim/report/step_estimate.hpp"
#include "sim/report/summary.hpp"
#include "sim/study/step_ends.hpp"

namespace pipecast {

/// Throughput of a run whose costs come from a model, and the waterfall from the ideal (all devices
/// at their 16-bit peak on the model's FLOPs) to the predicted step. Work parts are means over the
/// ranks, then what the busiest rank has more, what it waits, and the ends of the step that no
/// operation hides (StepEnds). Parts may be negative where the ideal is not a bound: 8-bit
/// products, masked halves that a kernel skips but utilization counts. O(stages + ranks).
StepEstimate estimate_step(const ModelRun& model, const Program& program, const Summary& summary,
                           const StepEnds& ends);

}  // namespace pipecast
