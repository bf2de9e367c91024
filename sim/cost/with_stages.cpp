#include <algorithm>
#include <map>

#include "sim/cost/derive.hpp"
#include "sim/cost/price_list.hpp"
#include "sim/cost/ulysses.hpp"

namespace pipecast {
namespace {

/// The encoder's layers stand before the decoder's, its ends with its first and last; the embedding
/// is then paid with the decoder's first layer.
ModelSeconds model_seconds(const TrainingPlan& plan, const LayerPrices& prices) {
  const auto all = [](const UnitSeconds& unit) {
    return unit.forward.total() + unit.input.total() + unit.weight.total() + unit.recompute.total();
  };
  ModelSeconds seconds;
  const auto encoder = static_cast<std::size_t>(plan.model.encoder.layers);
  seconds.layers.assign(encoder, all(prices.encoder.layer));
  if (encoder > 0) {
    seconds.layers.front() += all(prices.encoder.tokens);
    seconds.layers.back() += all(prices.encoder.connector);
  }
  for (int i = 0; i < plan.model.layers; ++i)
    seconds.layers.push_back(all(prices.of(kind_of(plan, i), is_recomputed(plan.layout, 0))));
  if (encoder > 0)
    seconds.layers[encoder] += all(prices.embedding);
  else
    seconds.embedding = all(prices.embedding);
  seconds.head = all(prices.head) + plan.model.mtp_layers * all(prices.mtp);
  return seconds;
}

/// Of a split of encoder and decoder layers in one row: which are which, and the embedding before
/// the decoder's first.
std::vector<StageLayers> with_encoder(std::vector<StageLayers> stages, int encoder_layers) {
  int left = encoder_layers;
  for (StageLayers& stage : stages) {
    stage.encoder = std::min(left, stage.layers);
    left -= stage.encoder;
    stage.layers -= stage.encoder;
  }
  if (encoder_layers == 0) return stages;
  stages.front().embedding = false;
  const auto decoder = std::find_if(stages.begin(), stages.end(),
                                    [](const StageLayers& stage) { return stage.layers > 0; });
  if (decoder != stages.end()) decoder->embedding = true;
  return stages;
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
  return with_encoder(balanced_split(on_stage, plan.model.mtp_layers), plan.model.encoder.layers);
}

}  // namespace

Result<TrainingPlan> with_stages(TrainingPlan plan, const PlanMachine& machine,
                                 const Placement& placement) {
  if (Diagnostics faults = check(plan.layout, plan.model); !faults.empty())
    return fail(std::move(faults));
  if (plan.communication.context == ContextExchange::Ulysses)
    if (Diagnostics faults = check_ulysses(plan.layout, plan.model); !faults.empty())
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
