#include <map>

#include "sim/cost/derive.hpp"
#include "sim/cost/price_list.hpp"

namespace pipecast {
namespace {

ModelSeconds model_seconds(const TrainingPlan& plan, const LayerPrices& prices) {
  const auto all = [](const UnitSeconds& unit) {
    return unit.forward.total() + unit.input.total() + unit.weight.total() + unit.recompute.total();
  };
  ModelSeconds seconds;
  for (int i = 0; i < plan.model.layers; ++i)
    seconds.layers.push_back(all(prices.of(kind_of(plan, i), is_recomputed(plan.layout, 0))));
  seconds.embedding = all(prices.embedding);
  seconds.head = all(prices.head) + plan.model.mtp_layers * all(prices.mtp);
  return seconds;
}

std::vector<StageLayers> balanced_stages(const TrainingPlan& plan, const PlanMachine& machine,
                                         const Placement& placement) {
  PriceList list(plan, machine);
  std::map<const PriceList::Entry*, ModelSeconds> priced;
  std::vector<const ModelSeconds*> on_stage;
  for (int stage = 0; stage < plan.layout.stages(); ++stage) {
    const auto& entry = list.of_rank(placement.rank_of[static_cast<std::size_t>(stage)].value);
    const auto known = priced.find(&entry);
    on_stage.push_back(
        known != priced.end()
            ? &known->second
            : &priced.emplace(&entry, model_seconds(plan, entry.prices)).first->second);
  }
  return balanced_split(on_stage, plan.model.mtp_layers);
}

}  // namespace

Result<TrainingPlan> with_stages(TrainingPlan plan, const PlanMachine& machine,
                                 const Placement& placement) {
  if (Diagnostics faults = check(plan.layout, plan.model); !faults.empty())
    return fail(std::move(faults));
  switch (plan.split.kind) {
    case SplitChoice::Kind::Balanced:
      plan.stages = balanced_stages(plan, machine, placement);
      break;
    case SplitChoice::Kind::Even: {
      Result<std::vector<StageLayers>> stages =
          split_layers(plan.model, plan.layout, plan.split.rule);
      if (!stages) return fail(std::move(stages.error()));
      plan.stages = std::move(*stages);
      break;
    }
    case SplitChoice::Kind::Layout: {
      Result<std::vector<StageLayers>> stages = parse_layout_string(plan.split.layout);
      if (!stages) return fail(std::move(stages.error()));
      plan.stages = std::move(*stages);
      break;
    }
  }
  if (Diagnostics faults = check(plan.stages, plan.model, plan.layout); !faults.empty())
    return fail(std::move(faults));
  return plan;
}

}  // namespace pipecast
