#pragma once
#include <array>
#include <deque>

#include "sim/cost/activation.hpp"
#include "sim/cost/layer_time.hpp"
#include "sim/cost/plan_machine.hpp"
#include "sim/cost/training_plan.hpp"

namespace pipecast {

/// What the parts of a model take on one device, and what they hold; layers that cost the same
/// once.
struct LayerPrices {
  std::array<std::array<UnitSeconds, 2>, 2> seconds;  ///< [kind][recomputed]
  std::array<std::array<LayerActivation, 2>, 2> held;
  UnitSeconds embedding;
  UnitSeconds head;
  UnitSeconds mtp;

  const UnitSeconds& of(LayerKind kind, bool recomputed) const {
    return seconds[static_cast<std::size_t>(kind)][recomputed ? 1 : 0];
  }
  const LayerActivation& held_by(LayerKind kind, bool recomputed) const {
    return held[static_cast<std::size_t>(kind)][recomputed ? 1 : 0];
  }
};

/// Dense or with experts.
LayerKind kind_of(const TrainingPlan& plan, int layer);
/// Of the layers of a stage, the first `recompute_layers`; all when it is negative.
bool is_recomputed(const ParallelLayout& layout, int layer_in_stage);

/// What layers cost on the devices of a machine, each pair of device and links priced once.
class PriceList {
 public:
  PriceList(const TrainingPlan& plan, const PlanMachine& machine)
      : plan_(plan), machine_(machine) {}

  struct Entry {
    const PlanDevice* device;
    const ClusterLinks* links;
    LayerPrices prices;
  };

  const Entry& of_rank(int rank) { return of(machine_.device(rank), machine_.links_of(rank)); }
  /// On an accelerator, as close to the rank as it is there.
  const Entry& of_rank_on(int rank, const PlanDevice& device) {
    return &machine_.device(rank) == &device ? of_rank(rank) : of(device, device.links);
  }

 private:
  const Entry& of(const PlanDevice& device, const ClusterLinks& links);

  const TrainingPlan& plan_;
  const PlanMachine& machine_;
  std::deque<Entry> entries_;  // references stay good
};

}  // namespace pipecast
