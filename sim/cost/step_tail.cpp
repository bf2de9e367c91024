#include "sim/cost/step_tail.hpp"

#include <algorithm>

namespace pipecast {
namespace {

/// Once through the group of the dense part, and through that of the experts' part.
Seconds once(const ClusterLinks& links, Bytes whole, Bytes experts) {
  return {gather_seconds(links.data, (whole - experts).value) +
          gather_seconds(links.expert_data, experts.value)};
}

}  // namespace

StepTail step_tail(const TrainingPlan& plan, const Derivation& derivation,
                   const PlanMachine& machine) {
  StepTail worst;
  const std::vector<StageSync>& sync = derivation.workload.sync;
  const auto ranks = static_cast<std::size_t>(plan.layout.pipeline);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    StepTail tail;
    const ClusterLinks& links = machine.links_of(static_cast<int>(rank));
    double last_backward = 0;
    for (std::size_t stage = rank; stage < sync.size(); stage += ranks) {
      const StageCost& cost = derivation.workload.costs[stage];
      tail.optimizer += sync[stage].optimizer;
      last_backward += (cost.backward_input + cost.backward_weight).value;
      // Without shards an all-reduce: scattered, then gathered.
      tail.gradients += (plan.layout.zero > 0 ? 1.0 : 2.0) *
                        once(links, sync[stage].gradients, sync[stage].expert_gradients);
      tail.parameters += once(links, sync[stage].parameters, sync[stage].expert_parameters);
    }
    if (plan.communication.data == Exposure::Overlapped) {
      // The last layer's share has nothing left to hide behind.
      const double layers = std::max(1.0, double{1} * plan.model.layers / plan.layout.pipeline);
      const double share = tail.gradients.value / layers;
      tail.gradients = Seconds{std::max(share, tail.gradients.value - last_backward)};
      tail.parameters = Seconds{tail.parameters.value / layers};
    }
    if (tail.total() > worst.total()) worst = tail;
  }
  return worst;
}

}  // namespace pipecast
