#pragma once
#include <string>
#include <vector>

#include "sim/cost/layer_time.hpp"
#include "sim/cost/plan_machine.hpp"
#include "sim/model/workload.hpp"

namespace pipecast {

/// What one stage costs a device, beside its seconds and bytes in the workload.
struct StageDerivation {
  UnitSeconds seconds;    ///< of one microbatch
  double parameters = 0;  ///< of a device, without experts
  double expert_parameters = 0;
  double model_flops = 0;  ///< of a device, forward and backward, nothing recomputed
  Seconds optimizer;       ///< update of the device's share

  bool operator==(const StageDerivation&) const = default;
};

/// A training plan on a machine, ready for a schedule.
struct Derivation {
  Workload workload;  ///< per stage; its bytes are what a device keeps under the ZeRO stage
  std::vector<StageDerivation> stages;
  double model_flops = 0;     ///< of a step, all devices (model_flops_per_token × tokens)
  double hardware_flops = 0;  ///< … with what is computed again
  double tokens = 0;          ///< of a step
  Bytes layer_gradient;       ///< largest gradient of a stage ÷ its layers: reduced at once
  double peak_flops = 0;      ///< of all devices, 16 bits: what utilization is measured against
  std::vector<std::string> warnings;

  bool operator==(const Derivation&) const = default;
};

/// Stage by stage: forward, input gradient (with what is recomputed before it) and weight gradient
/// seconds; messages (2·s·b·h ÷ context ÷ tensor: each device of a tensor group sends its part);
/// activations (activation.hpp); parameters, gradients and 12 optimizer bytes per parameter; what
/// is exchanged with replicas (Workload::sync), layer by layer, and the update. Weights that ZeRO 3
/// gathers, and their gradients, are inside the operations; where no link is known, nothing is
/// exchanged. Pure,
/// reads nothing; O(stages + measured shapes). Precondition: check(layout, model) and check(stages,
/// model, layout) are empty.
///
/// On a mixed machine each stage is priced on the device of the rank that holds it, and once more
/// on every other accelerator (Workload::on), for copies and replicas of the stage elsewhere.
Result<Derivation> derive(const TrainingPlan& plan, const PlanMachine& machine,
                          const Placement& placement);

/// The plan with its layers cut into stages as `split` says; balanced, so that the slowest stage is
/// as fast as whole layers allow. Errors: the layout does not fit the model, the layers do not
/// divide, the layout string is wrong.
Result<TrainingPlan> with_stages(TrainingPlan plan, const PlanMachine& machine,
                                 const Placement& placement);

}  // namespace pipecast
