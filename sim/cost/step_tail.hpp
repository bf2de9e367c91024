#pragma once
#include "sim/base/quantity.hpp"
#include "sim/cost/cluster_links.hpp"
#include "sim/cost/derive.hpp"
#include "sim/cost/training_plan.hpp"

namespace pipecast {

/// The end of a step on the slowest rank in closed form, for those who screen thousands of layouts
/// and cannot build every replica: what of the gradient reduction is not hidden behind the last
/// backward passes, the update, and the gathering of updated parameters. A ring through the group
/// at the achieved rate of its links, alone on them; a run has the same traffic as flows that
/// share.
struct StepTail {
  Seconds gradients;
  Seconds optimizer;
  Seconds parameters;

  Seconds total() const { return gradients + optimizer + parameters; }
  bool operator==(const StepTail&) const = default;
};

/// O(stages).
StepTail step_tail(const TrainingPlan& plan, const Derivation& derivation,
                   const PlanMachine& machine);

}  // namespace pipecast
