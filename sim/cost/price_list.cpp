#include "sim/cost/price_list.hpp"

namespace pipecast {
namespace {

LayerPrices price(const TrainingPlan& plan, const DeviceModel& device, const ClusterLinks& links) {
  LayerPrices prices;
  for (const LayerKind kind : {LayerKind::Dense, LayerKind::Experts}) {
    if (kind == LayerKind::Experts && !plan.model.has_experts()) continue;
    for (const bool recomputed : {false, true}) {
      const auto row = static_cast<std::size_t>(kind);
      const auto column = static_cast<std::size_t>(recomputed);
      prices.seconds[row][column] = layer_seconds(plan, device, links, kind, recomputed);
      prices.held[row][column] =
          recomputed ? layer_activation(plan.model, plan.layout, plan.kernels, kind)
                     : layer_working_set(plan.model, plan.layout, plan.kernels, kind);
    }
  }
  prices.embedding = embedding_seconds(plan, device, links);
  prices.head = head_seconds(plan, device, links);
  if (plan.model.mtp_layers > 0) prices.mtp = mtp_seconds(plan, device, links);
  return prices;
}

}  // namespace

LayerKind kind_of(const TrainingPlan& plan, int layer) {
  return is_expert_layer(plan.model, layer) ? LayerKind::Experts : LayerKind::Dense;
}

bool is_recomputed(const ParallelLayout& layout, int layer_in_stage) {
  switch (layout.recompute) {
    case Recompute::None:
      return false;
    case Recompute::Selective:
      return true;
    case Recompute::Full:
      return layout.recompute_layers < 0 || layer_in_stage < layout.recompute_layers;
  }
  return false;
}

const PriceList::Entry& PriceList::of(const PlanDevice& device, const ClusterLinks& links) {
  for (const Entry& entry : entries_)
    if (entry.device == &device && *entry.links == links) return entry;
  entries_.push_back({&device, &links, price(plan_, device.model, links)});
  return entries_.back();
}

}  // namespace pipecast
