#include "sim/cost/derive.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace pipecast {
namespace {

constexpr double kWeightBytes = 2;
constexpr double kOptimizerBytes = 12;
/// Bytes per parameter of a device's share: the norm of the gradient (4), its clipping (8), Adam on
/// 32-bit state (16 read, 12 written), and the copy to the 16-bit weight (6).
constexpr double kUpdateTraffic = 46;
/// Of the whole gradient, before the next step: set to zero.
constexpr double kZeroTraffic = 4;

/// Layers that cost the same, computed once.
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

LayerKind kind_of(const TrainingPlan& plan, int layer) {
  return is_expert_layer(plan.model, layer) ? LayerKind::Experts : LayerKind::Dense;
}

/// Of the layers of a stage, the first `recompute_layers`; all when it is negative.
bool is_recomputed(const ParallelLayout& layout, int layer_in_stage) {
  switch (layout.recompute) {
    case Recompute::None:
      return false;
    case Recompute::Selective:
    case Recompute::Alternate:
      return true;
    case Recompute::Full:
      return layout.recompute_layers < 0 || layer_in_stage < layout.recompute_layers;
  }
  return false;
}

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
  return Seconds{memory_seconds(
      device, kUpdateTraffic * (dense + experts) + kZeroTraffic * (held.dense + held.experts))};
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

std::vector<StageLayers> balanced_stages(const TrainingPlan& plan, const DeviceModel& device,
                                         const ClusterLinks& links) {
  const LayerPrices prices = price(plan, device, links);
  const auto all = [](const UnitSeconds& unit) {
    return unit.forward.total() + unit.input.total() + unit.weight.total() + unit.recompute.total();
  };
  std::vector<double> layer_s;
  for (int i = 0; i < plan.model.layers; ++i)
    layer_s.push_back(all(prices.of(kind_of(plan, i), is_recomputed(plan.layout, 0))));
  return balanced_split(layer_s, all(prices.embedding),
                        all(prices.head) + plan.model.mtp_layers * all(prices.mtp),
                        plan.model.mtp_layers, plan.layout.stages());
}

double training_flops(const UnitSeconds& seconds) {
  return seconds.forward.flops + seconds.input.flops + seconds.weight.flops;
}

void add_totals(const TrainingPlan& plan, const DeviceModel& device, Derivation& result) {
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
  result.peak_flops = device.peak[0];
}

void add_warnings(const TrainingPlan& plan, const DeviceModel& device, const ClusterLinks& links,
                  Derivation& result) {
  int misses = 0;
  for (const StageDerivation& stage : result.stages)
    misses =
        std::max(misses, stage.seconds.forward.table_misses + stage.seconds.input.table_misses +
                             stage.seconds.weight.table_misses);
  if (misses > 0)
    result.warnings.push_back(fmt::format(
        "{}: {} matrix products of the largest stage have no measured shape near them; the "
        "device's curve is used",
        device.accelerator, misses));
  for (const std::string& note : device.notes)
    result.warnings.push_back(device.accelerator + ": " + note);
  const auto unknown = [&](const GroupLink& link, std::string_view name) {
    if (!link.known())
      result.warnings.push_back(fmt::format(
          "no link is known inside the {} group; its communication costs nothing", name));
  };
  unknown(links.tensor, "tensor");
  unknown(links.context, "context");
  unknown(links.expert, "expert");
  unknown(links.data, "data");
  if (plan.precision == Precision::Fp8Blockwise || plan.precision == Precision::Mxfp8 ||
      plan.precision == Precision::Nvfp4)
    result.warnings.push_back(
        "the time of scaling and casting is bytes over memory bandwidth, not measured");
}

}  // namespace

Result<Derivation> derive(const TrainingPlan& plan, const DeviceModel& device,
                          const ClusterLinks& links) {
  if (!(device.peak_of(matrix_class(plan.precision)) > 0))
    return fail(infeasible(device.accelerator + " has no peak for this precision",
                           "use bf16, or an accelerator that has it"));
  if (plan.layout.recompute == Recompute::Alternate && plan.model.has_experts())
    return fail(infeasible("alternate recompute is not known for experts' grouped products",
                           "use none, selective or full"));
  const LayerPrices prices = price(plan, device, links);
  const ParameterCounts counts = parameter_counts(plan.model);
  Derivation result;
  result.workload.stages = static_cast<int>(plan.stages.size());
  // Without a pipeline there are no messages whose end the host waits for.
  if (plan.layout.pipeline > 1) result.workload.overheads.operation = Seconds{device.operation_s};
  int first_layer = 0;
  for (const StageLayers& stage : plan.stages) {
    const StageParameters held = stage_parameters(plan, counts, stage, first_layer);
    StageDerivation derived;
    derived.seconds = stage_seconds(plan, prices, stage, first_layer);
    derived.parameters = held.dense;
    derived.expert_parameters = held.experts;
    derived.model_flops = training_flops(derived.seconds);
    derived.optimizer = update_seconds(plan, device, held);
    const UnitSeconds& unit = derived.seconds;
    result.workload.costs.push_back({Seconds{unit.forward.total()},
                                     Seconds{unit.recompute.total() + unit.input.total()},
                                     Seconds{unit.weight.total()}});
    result.workload.bytes.push_back(stage_bytes(plan, prices, stage, first_layer, held));
    const StageSync sync = stage_sync(plan, links, derived);
    const double layers = std::max(1, stage.encoder + stage.layers + stage.mtp);
    result.layer_gradient = std::max(result.layer_gradient, sync.gradients / layers);
    result.workload.sync.push_back(sync);
    result.stages.push_back(derived);
    first_layer += stage.layers;
  }
  add_totals(plan, device, result);
  add_warnings(plan, device, links, result);
  return result;
}

Result<TrainingPlan> with_stages(TrainingPlan plan, const DeviceModel& device,
                                 const ClusterLinks& links) {
  if (Diagnostics faults = check(plan.layout, plan.model); !faults.empty())
    return fail(std::move(faults));
  switch (plan.split.kind) {
    case SplitChoice::Kind::Balanced:
      plan.stages = balanced_stages(plan, device, links);
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
