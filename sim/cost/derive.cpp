#include "sim/cost/derive.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/cost/memory.hpp"
#include "sim/cost/price_list.hpp"

namespace pipecast {
namespace {

constexpr double kWeightBytes = 2;
constexpr double kOptimizerBytes = 12;
/// Bytes per parameter of a device's share: the norm of the gradient (4), its clipping (8), Adam on
/// 32-bit state (16 read, 12 written), and the copy to the 16-bit weight (6).
constexpr double kUpdateTraffic = 46;
/// Of the whole gradient, before the next step: set to zero.
constexpr double kZeroTraffic = 4;

bool ends_encoder(const TrainingPlan& plan, const StageLayers& stage, const LayersBefore& before) {
  return stage.encoder > 0 && before.encoder + stage.encoder == plan.model.encoder.layers;
}

/// Without sequence parallelism Megatron scatters a message over the tensor group all the same.
/// Stages of the encoder pass on its tokens, the last of them what the decoder takes.
Bytes message_after(const TrainingPlan& plan, const LayerPrices& prices, const StageLayers& stage,
                    const LayersBefore& before) {
  double whole = boundary_message(plan.model, plan.layout, plan.kernels).value;
  if (stage.encoder > 0 && !stage.embedding) {
    whole = prices.encoder.message.value;
    if (ends_encoder(plan, stage, before))
      whole *= double{1} * plan.model.hidden / plan.model.encoder.hidden / plan.model.encoder.merge;
  }
  return Bytes{plan.layout.sequence_parallel ? whole : whole / plan.layout.tensor};
}

UnitSeconds stage_seconds(const TrainingPlan& plan, const LayerPrices& prices,
                          const StageLayers& stage, const LayersBefore& before) {
  UnitSeconds sum;
  for (int i = 0; i < stage.layers; ++i)
    sum += prices.of(kind_of(plan, before.layers + i), is_recomputed(plan.layout, i));
  if (stage.encoder > 0) sum += double(stage.encoder) * prices.encoder.layer;
  if (stage.encoder > 0 && before.encoder == 0) sum += prices.encoder.tokens;
  if (ends_encoder(plan, stage, before)) sum += prices.encoder.connector;
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
                       const StageLayers& stage, const LayersBefore& before,
                       const DeviceParameters& held) {
  StageBytes bytes;
  bytes.held_by_forward = double(stage.encoder) * prices.encoder.held.held();
  Bytes for_weights = double(stage.encoder) * prices.encoder.held.held_for_weight_gradient();
  for (int i = 0; i < stage.layers; ++i) {
    const LayerKind kind = kind_of(plan, before.layers + i);
    const LayerActivation& layer = prices.held_by(kind, is_recomputed(plan.layout, i));
    bytes.held_by_forward += layer.held();
    for_weights += layer.held_for_weight_gradient();
  }
  if (stage.embedding)
    bytes.held_by_forward += embedding_activation(plan.model, plan.layout, plan.kernels);
  if (stage.head) bytes.held_by_forward += head_activation(plan.model, plan.layout, plan.kernels);
  bytes.released_by_backward_input =
      Bytes{std::max(0.0, bytes.held_by_forward.value - for_weights.value)};
  bytes.message_forward = message_after(plan, prices, stage, before);
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
                       const DeviceParameters& held) {
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

PassExchange pass_exchange(const GroupUse& use, double exposed_s) {
  return {Bytes{use.bytes}, Seconds{use.alone_s}, Seconds{std::min(exposed_s, use.alone_s)},
          Seconds{use.behind_s}};
}

/// One group's part of a stage: what is computed again is before the input gradient.
GroupExchange group_exchange(ParallelDimension group, Collective collective,
                             const UnitSeconds& seconds, GroupUse PassSeconds::*use,
                             double PassSeconds::*exposed_s) {
  const PassSeconds before_input = seconds.recompute + seconds.input;
  return {group, collective, pass_exchange(seconds.forward.*use, seconds.forward.*exposed_s),
          pass_exchange(before_input.*use, before_input.*exposed_s),
          pass_exchange(seconds.weight.*use, seconds.weight.*exposed_s)};
}

/// All-reduce counts as the scatter and the gather that it is made of.
std::vector<GroupExchange> group_exchanges(const TrainingPlan& plan, const ClusterLinks& links,
                                           const UnitSeconds& seconds) {
  std::vector<GroupExchange> result;
  const auto add = [&](const GroupLink& link, const GroupExchange& exchange) {
    if (link.size > 1 && link.known()) result.push_back(exchange);
  };
  const bool ulysses = plan.communication.context == ContextExchange::Ulysses;
  add(links.tensor, group_exchange(ParallelDimension::Tensor, Collective::AllGather, seconds,
                                   &PassSeconds::tensor, &PassSeconds::tensor_s));
  add(links.context, group_exchange(ParallelDimension::Context,
                                    ulysses ? Collective::AllToAll : Collective::AllGather, seconds,
                                    &PassSeconds::context, &PassSeconds::context_s));
  add(links.expert, group_exchange(ParallelDimension::Expert, Collective::AllToAll, seconds,
                                   &PassSeconds::expert, &PassSeconds::expert_s));
  return result;
}

double training_flops(const UnitSeconds& seconds) {
  return seconds.forward.flops + seconds.input.flops + seconds.weight.flops;
}

void add_totals(const TrainingPlan& plan, const PlanMachine& machine, Derivation& result) {
  const ParallelLayout& layout = plan.layout;
  result.tokens = double{1} * layout.global_batch * layout.sequence;
  result.model_flops =
      result.tokens * model_flops_per_token(plan.model, layout.sequence, plan.causal_credit);
  const double units =
      double{1} * layout.global_batch / layout.microbatch_size * layout.tensor * layout.context;
  for (const StageDerivation& stage : result.stages)
    result.hardware_flops +=
        units * (training_flops(stage.seconds) + stage.seconds.recompute.flops);
  for (const PlanDevice& device : machine.devices)
    result.peak_flops += device.model.peak[0] * device.count;
}

/// Largest number of a stage's products without a measured shape near them.
int table_misses(const UnitSeconds& seconds) {
  return std::max(
      {seconds.forward.table_misses, seconds.input.table_misses, seconds.weight.table_misses});
}

void add_device_warnings(const TrainingPlan& plan, const PlanDevice& device, int misses,
                         std::vector<std::string>& warnings) {
  if (misses > 0)
    warnings.push_back(fmt::format(
        "{}: {} matrix products of the largest stage have no measured shape near them; the "
        "device's curve is used",
        device.model.accelerator, misses));
  const MatrixClass used = matrix_class(plan.precision);
  for (const std::string& note : device.model.notes)
    if (!(note.starts_with("8-bit") && used != MatrixClass::Eight) &&
        !(note.starts_with("4-bit") && used != MatrixClass::Four))
      warnings.push_back(device.model.accelerator + ": " + note);
  if (plan.launch == Launch::Blocking && !(device.model.blocking_launch_s > 0))
    warnings.push_back(device.model.accelerator +
                       ": what a blocking launch costs is not known; it costs nothing");
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

Diagnostics missing_figures(const TrainingPlan& plan, const PlanMachine& machine) {
  Diagnostics faults;
  for (const PlanDevice& device : machine.devices)
    if (!(device.model.peak_of(matrix_class(plan.precision)) > 0))
      faults.push_back(infeasible(device.model.accelerator + " has no peak for this precision",
                                  "use bf16, or an accelerator that has it"));
  for (const PlanDevice& device : machine.devices)
    if (plan.offload > 0 && !(device.model.host_link > 0))
      faults.push_back(infeasible("the bandwidth between " + device.model.accelerator +
                                      " and its host is not known, activations cannot be offloaded",
                                  "set workload.offload to 0"));
  return faults;
}

/// Copies of one microbatch run beside the operation that makes or needs them; what is longer than
/// it is waited for. `held` is all that the forward leaves.
void add_offload(const TrainingPlan& plan, const DeviceModel& device, Bytes held,
                 UnitSeconds& unit) {
  if (plan.offload <= 0) return;
  const double copy_s = plan.offload * held.value / device.host_link;
  const double backward_s = unit.recompute.total() + unit.input.total() + unit.weight.total();
  unit.forward.host_s = std::max(0.0, copy_s - unit.forward.total());
  unit.input.host_s = std::max(0.0, copy_s - backward_s);
}

/// What the device itself still holds.
void keep_rest(const TrainingPlan& plan, StageBytes& bytes) {
  bytes.held_by_forward = bytes.held_by_forward * (1 - plan.offload);
  bytes.released_by_backward_input = bytes.released_by_backward_input * (1 - plan.offload);
}

StageCost cost_of(const UnitSeconds& unit) {
  return {Seconds{unit.forward.total()}, Seconds{unit.recompute.total() + unit.input.total()},
          Seconds{unit.weight.total()}};
}

/// What a stage takes on every accelerator of a mixed machine.
void add_other_devices(const TrainingPlan& plan, const PlanMachine& machine, PriceList& list,
                       const StageLayers& stage, int rank, const LayersBefore& before,
                       const DeviceParameters& held, Bytes activations, Workload& workload) {
  for (std::size_t i = 0; i < workload.on.size(); ++i) {
    const PlanDevice& device = machine.devices[i];
    const LayerPrices& prices = list.of_rank_on(rank, device).prices;
    UnitSeconds seconds = stage_seconds(plan, prices, stage, before);
    add_offload(plan, device.model, activations, seconds);
    workload.on[i].costs.push_back(cost_of(seconds));
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
    add_device_warnings(plan, machine.devices[i], misses[i], result.warnings);
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
  if (Diagnostics faults = missing_figures(plan, machine); !faults.empty())
    return fail(std::move(faults));
  if (plan.layout.recompute == Recompute::Alternate && plan.model.has_experts())
    return fail(infeasible("alternate recompute is not known for experts' grouped products",
                           "use none, selective or full"));
  PriceList list(plan, machine);
  Derivation result;
  start_workload(plan, machine, result.workload);
  std::vector<int> misses(machine.devices.size(), 0);
  LayersBefore before;
  for (std::size_t i = 0; i < plan.stages.size(); ++i) {
    const StageLayers& stage = plan.stages[i];
    const int rank = placement.rank_of[i].value;
    const PlanDevice& device = machine.device(rank);
    const LayerPrices& prices = list.of_rank(rank).prices;
    const DeviceParameters held = device_parameters(plan.model, plan.layout, stage, before);
    StageBytes bytes = stage_bytes(plan, prices, stage, before, held);
    StageDerivation derived;
    derived.seconds = stage_seconds(plan, prices, stage, before);
    add_offload(plan, device.model, bytes.held_by_forward, derived.seconds);
    derived.parameters = held.dense;
    derived.expert_parameters = held.experts;
    derived.model_flops = training_flops(derived.seconds);
    derived.optimizer = update_seconds(plan, device.model, held);
    result.workload.costs.push_back(cost_of(derived.seconds));
    result.workload.inside.push_back(
        group_exchanges(plan, machine.links_of(rank), derived.seconds));
    add_other_devices(plan, machine, list, stage, rank, before, held, bytes.held_by_forward,
                      result.workload);
    keep_rest(plan, bytes);
    // A gradient has the size of what came in.
    bytes.message_backward = result.workload.bytes.empty()
                                 ? bytes.message_forward
                                 : result.workload.bytes.back().message_forward;
    result.workload.bytes.push_back(bytes);
    const StageSync sync = stage_sync(plan, machine.links_of(rank), derived);
    const double layers = std::max(1, stage.encoder + stage.layers + stage.mtp);
    result.layer_gradient = std::max(result.layer_gradient, sync.gradients / layers);
    result.workload.sync.push_back(sync);
    int& most = misses[static_cast<std::size_t>(&device - machine.devices.data())];
    most = std::max(most, table_misses(derived.seconds));
    result.stages.push_back(derived);
    before += stage;
  }
  finish(plan, machine, placement, misses, result);
  return result;
}

}  // namespace pipecast
