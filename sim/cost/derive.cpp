#include "sim/cost/derive.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/cost/price_list.hpp"

namespace pipecast {
namespace {

constexpr double kWeightBytes = 2;
constexpr double kOptimizerBytes = 12;
/// Adam on 32-bit state: reads gradient, weight and two moments, writes three of them and the
/// 16-bit weight.
constexpr double kUpdateTraffic = 30;

struct StageParameters {
  double dense = 0;
  double experts = 0;
};

StageParameters layer_parameters(const TrainingPlan& plan, const ParameterCounts& counts,
                                 LayerKind kind) {
  const double tensor = plan.layout.tensor;
  StageParameters held;
  held.dense = counts.attention_per_layer / tensor + counts.norms_per_layer;
  if (kind == LayerKind::Dense) {
    held.dense += counts.dense_feed_forward_per_layer / tensor;
    return held;
  }
  held.dense += counts.shared_experts_per_layer / tensor + counts.router_per_layer;
  held.experts = counts.expert * plan.model.experts.count /
                 (double{1} * plan.layout.expert * plan.layout.expert_tensor);
  return held;
}

StageParameters stage_parameters(const TrainingPlan& plan, const ParameterCounts& counts,
                                 const StageLayers& stage, int first_layer) {
  const double tensor = plan.layout.tensor;
  StageParameters held;
  for (int i = 0; i < stage.layers; ++i) {
    const StageParameters layer = layer_parameters(plan, counts, kind_of(plan, first_layer + i));
    held.dense += layer.dense;
    held.experts += layer.experts;
  }
  if (stage.embedding) held.dense += counts.embedding / tensor;
  if (stage.head) {
    // A tied head is a second copy of the table, unless first and last stage are one.
    const bool copy = plan.model.tied_embeddings && !stage.embedding;
    held.dense +=
        (copy ? double{1} * plan.model.hidden * plan.model.vocabulary : counts.head) / tensor +
        counts.final_norm;
  }
  const LayerKind last = plan.model.has_experts() ? LayerKind::Experts : LayerKind::Dense;
  const StageParameters module = layer_parameters(plan, counts, last);
  held.dense += stage.mtp * (module.dense + 2.0 * plan.model.hidden * plan.model.hidden / tensor);
  held.experts += stage.mtp * module.experts;
  return held;
}

UnitSeconds stage_seconds(const TrainingPlan& plan, const LayerPrices& prices,
                          const StageLayers& stage, int first_layer) {
  UnitSeconds sum;
  for (int i = 0; i < stage.layers; ++i)
    sum += prices.of(kind_of(plan, first_layer + i), is_recomputed(plan.layout, i));
  if (stage.embedding) sum += prices.embedding;
  if (stage.head) sum += prices.head;
  if (stage.mtp > 0) sum += double(stage.mtp) * prices.mtp;
  return sum;
}

/// Devices that hold the same weights: ZeRO shards over them.
double dense_copies(const ParallelLayout& layout) {
  return double{1} * layout.data * layout.context;
}
double expert_copies(const ParallelLayout& layout) {
  return std::max(1.0, double{1} * layout.tensor * layout.context * layout.data /
                           (double{1} * layout.expert * layout.expert_tensor));
}

StageBytes stage_bytes(const TrainingPlan& plan, const LayerPrices& prices,
                       const StageLayers& stage, int first_layer, const StageParameters& held) {
  StageBytes bytes;
  Bytes for_weights;
  for (int i = 0; i < stage.layers; ++i) {
    const LayerKind kind = kind_of(plan, first_layer + i);
    const LayerActivation& layer = prices.held_by(kind, is_recomputed(plan.layout, i));
    bytes.held_by_forward += layer.held();
    for_weights += layer.held_for_weight_gradient();
  }
  if (stage.embedding)
    bytes.held_by_forward += embedding_activation(plan.model, plan.layout, plan.kernels);
  if (stage.head) bytes.held_by_forward += head_activation(plan.model, plan.layout, plan.kernels);
  bytes.released_by_backward_input =
      Bytes{std::max(0.0, bytes.held_by_forward.value - for_weights.value)};
  const double whole = boundary_message(plan.model, plan.layout, plan.kernels).value;
  // Without sequence parallelism Megatron scatters the message over the tensor group all the same.
  bytes.message_forward = Bytes{plan.layout.sequence_parallel ? whole : whole / plan.layout.tensor};
  bytes.message_backward = bytes.message_forward;
  const auto kept = [&](double bytes_each, int from_stage) {
    const bool cut = plan.layout.zero >= from_stage;
    return Bytes{bytes_each * (held.dense / (cut ? dense_copies(plan.layout) : 1) +
                               held.experts / (cut ? expert_copies(plan.layout) : 1))};
  };
  bytes.optimizer = kept(kOptimizerBytes, 1);
  bytes.gradients = kept(plan.gradient_bytes, 2);
  bytes.parameters = kept(kWeightBytes, 3);
  return bytes;
}

Seconds update_seconds(const TrainingPlan& plan, const DeviceModel& device,
                       const StageParameters& held) {
  const bool sharded = plan.layout.zero > 0;
  const double dense = held.dense / (sharded ? dense_copies(plan.layout) : 1);
  const double experts = held.experts / (sharded ? expert_copies(plan.layout) : 1);
  return Seconds{memory_seconds(device, kUpdateTraffic * (dense + experts))};
}

StageSync stage_sync(const TrainingPlan& plan, const ClusterLinks& links,
                     const StageDerivation& held) {
  StageSync sync;
  sync.optimizer = held.optimizer;
  if (plan.layout.zero == 3) return sync;
  const double dense = links.data.known() ? held.parameters : 0;
  const double experts = links.expert_data.known() ? held.expert_parameters : 0;
  sync.gradients = Bytes{plan.gradient_bytes * (dense + experts)};
  sync.expert_gradients = Bytes{plan.gradient_bytes * experts};
  if (plan.layout.zero == 0) return sync;
  sync.parameters = Bytes{kWeightBytes * (dense + experts)};
  sync.expert_parameters = Bytes{kWeightBytes * experts};
  return sync;
}

double training_flops(const UnitSeconds& seconds) {
  return seconds.forward.flops + seconds.input.flops + seconds.weight.flops;
}

void add_totals(const TrainingPlan& plan, const PlanMachine& machine, Derivation& result) {
  const ParallelLayout& layout = plan.layout;
  result.tokens = double{1} * layout.global_batch * layout.sequence;
  result.model_flops =
      result.tokens * model_flops_per_token(plan.model, layout.sequence, plan.causal_credit);
  double once = 0;
  double again = 0;
  for (const StageDerivation& stage : result.stages) {
    once += training_flops(stage.seconds);
    again += stage.seconds.recompute.flops;
  }
  result.hardware_flops = once > 0 ? result.model_flops * (1 + again / once) : 0;
  for (const PlanDevice& device : machine.devices)
    result.peak_flops += device.model.peak[0] * device.count;
}

/// Largest number of a stage's products without a measured shape near them.
int table_misses(const UnitSeconds& seconds) {
  return std::max(
      {seconds.forward.table_misses, seconds.input.table_misses, seconds.weight.table_misses});
}

void add_device_warnings(const PlanDevice& device, int misses, std::vector<std::string>& warnings) {
  if (misses > 0)
    warnings.push_back(fmt::format(
        "{}: {} matrix products of the largest stage have no measured shape near them; the "
        "device's curve is used",
        device.model.accelerator, misses));
  for (const std::string& note : device.model.notes)
    warnings.push_back(device.model.accelerator + ": " + note);
}

void add_warnings(const TrainingPlan& plan, const ClusterLinks& links,
                  std::vector<std::string>& warnings) {
  const auto unknown = [&](const GroupLink& link, std::string_view name) {
    if (!link.known())
      warnings.push_back(fmt::format(
          "no link is known inside the {} group; its communication costs nothing", name));
  };
  unknown(links.tensor, "tensor");
  unknown(links.context, "context");
  unknown(links.expert, "expert");
  unknown(links.data, "data");
  if (plan.precision == Precision::Fp8Blockwise || plan.precision == Precision::Mxfp8 ||
      plan.precision == Precision::Nvfp4)
    warnings.push_back(
        "the time of scaling and casting is bytes over memory bandwidth, not measured");
}

Diagnostics missing_peaks(const TrainingPlan& plan, const PlanMachine& machine) {
  Diagnostics faults;
  for (const PlanDevice& device : machine.devices)
    if (!(device.model.peak_of(matrix_class(plan.precision)) > 0))
      faults.push_back(infeasible(device.model.accelerator + " has no peak for this precision",
                                  "use bf16, or an accelerator that has it"));
  return faults;
}

StageCost cost_of(const UnitSeconds& unit) {
  return {Seconds{unit.forward.total()}, Seconds{unit.recompute.total() + unit.input.total()},
          Seconds{unit.weight.total()}};
}

/// What a stage takes on every accelerator of a mixed machine.
void add_other_devices(const TrainingPlan& plan, const PlanMachine& machine, PriceList& list,
                       const StageLayers& stage, int rank, int first_layer,
                       const StageParameters& held, Workload& workload) {
  for (std::size_t i = 0; i < workload.on.size(); ++i) {
    const PlanDevice& device = machine.devices[i];
    const LayerPrices& prices = list.of_rank_on(rank, device).prices;
    workload.on[i].costs.push_back(cost_of(stage_seconds(plan, prices, stage, first_layer)));
    workload.on[i].optimizer.push_back(update_seconds(plan, device.model, held));
  }
}

/// Without a pipeline there are no messages whose end the host waits for.
void start_workload(const TrainingPlan& plan, const PlanMachine& machine, Workload& workload) {
  workload.stages = static_cast<int>(plan.stages.size());
  const bool waits = plan.layout.pipeline > 1;
  const auto operation = [&](const PlanDevice& device) {
    return waits ? Seconds{device.model.operation_s} : Seconds{};
  };
  if (!machine.mixed()) {
    workload.overheads.operation = operation(machine.devices[0]);
    return;
  }
  for (const PlanDevice& device : machine.devices)
    workload.on.push_back({device.model.accelerator, {}, operation(device), {}});
}

/// Totals, warnings, and each stage's overhead on the rank that holds it.
void finish(const TrainingPlan& plan, const PlanMachine& machine, const Placement& placement,
            const std::vector<int>& misses, Derivation& result) {
  add_totals(plan, machine, result);
  for (std::size_t i = 0; i < machine.devices.size(); ++i)
    add_device_warnings(machine.devices[i], misses[i], result.warnings);
  add_warnings(plan, machine.devices[0].links, result.warnings);
  if (!machine.mixed()) return;
  std::vector<std::string> accelerators;
  for (int rank = 0; rank < plan.layout.pipeline; ++rank)
    accelerators.push_back(machine.device(rank).model.accelerator);
  result.workload = settled(result.workload, placement, accelerators);
}

}  // namespace

Result<Derivation> derive(const TrainingPlan& plan, const PlanMachine& machine,
                          const Placement& placement) {
  if (Diagnostics faults = missing_peaks(plan, machine); !faults.empty())
    return fail(std::move(faults));
  PriceList list(plan, machine);
  const ParameterCounts counts = parameter_counts(plan.model);
  Derivation result;
  start_workload(plan, machine, result.workload);
  std::vector<int> misses(machine.devices.size(), 0);
  int first_layer = 0;
  for (std::size_t i = 0; i < plan.stages.size(); ++i) {
    const StageLayers& stage = plan.stages[i];
    const int rank = placement.rank_of[i].value;
    const PlanDevice& device = machine.device(rank);
    const LayerPrices& prices = list.of_rank(rank).prices;
    const StageParameters held = stage_parameters(plan, counts, stage, first_layer);
    StageDerivation derived;
    derived.seconds = stage_seconds(plan, prices, stage, first_layer);
    derived.parameters = held.dense;
    derived.expert_parameters = held.experts;
    derived.model_flops = training_flops(derived.seconds);
    derived.optimizer = update_seconds(plan, device.model, held);
    result.workload.costs.push_back(cost_of(derived.seconds));
    add_other_devices(plan, machine, list, stage, rank, first_layer, held, result.workload);
    result.workload.bytes.push_back(stage_bytes(plan, prices, stage, first_layer, held));
    const StageSync sync = stage_sync(plan, machine.links_of(rank), derived);
    const double layers = std::max(1, stage.encoder + stage.layers + stage.mtp);
    result.layer_gradient = std::max(result.layer_gradient, sync.gradients / layers);
    result.workload.sync.push_back(sync);
    int& most = misses[static_cast<std::size_t>(&device - machine.devices.data())];
    most = std::max(most, table_misses(derived.seconds));
    result.stages.push_back(derived);
    first_layer += stage.layers;
  }
  finish(plan, machine, placement, misses, result);
  return result;
}

}  // namespace pipecast
