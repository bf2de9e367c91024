#include "sim/cost/memory.hpp"

#include <algorithm>

namespace pipecast {
namespace {

constexpr double kLogitBytes = 2;
constexpr double kSoftmaxBytes = 4;

/// Bytes per value of a microbatch's tokens: all of them, and those of one device.
struct Tokens {
  double whole;    ///< element bytes × tokens after context parallelism
  double partial;  ///< ÷ tensor when sequence parallel
  double sharded;  ///< ÷ tensor
};

Tokens tokens_of(const ParallelLayout& layout, const KernelChoice& kernels) {
  const double tokens = double{1} * layout.sequence * layout.microbatch_size / layout.context;
  const double bytes = tokens * kernels.element_bytes;
  return {bytes, layout.sequence_parallel ? bytes / layout.tensor : bytes, bytes / layout.tensor};
}

/// The most a backward of one layer needs beside what the forward kept: the gradient of its output,
/// and the gradients around its widest tensor, net of what is freed on the way.
double backward_working(const TransformerModel& model, const ParallelLayout& layout,
                        const KernelChoice& kernels, LayerKind kind) {
  const Tokens tokens = tokens_of(layout, kernels);
  const double hidden = model.hidden;
  const double gate = model.gated ? 2 : 1;
  const double output = tokens.partial * hidden;
  double widest = tokens.sharded * gate * model.feed_forward;
  if (kind == LayerKind::Experts) {
    const double copies =
        layout.sequence_parallel ? tokens.sharded * layout.expert_tensor : tokens.whole;
    const double routed = copies * model.experts.active;
    widest = routed * (hidden + gate * model.experts.width / layout.expert_tensor);
  }
  double attention = tokens.sharded * (model.value_width() + model.query_width() +
                                       2.0 * model.key_value_heads * model.head_width);
  if (!kernels.fused_attention) attention += 2 * tokens.sharded * model.heads * layout.sequence;
  return output + std::max(widest, attention);
}

/// Inputs gathered over the tensor group and the gradient of the gathered one.
double gathered(const TransformerModel& model, const ParallelLayout& layout,
                const KernelChoice& kernels) {
  if (layout.tensor == 1 || !layout.sequence_parallel) return 0;
  return 2 * tokens_of(layout, kernels).whole * model.hidden;
}

double largest_weight(const TransformerModel& model, const ParallelLayout& layout) {
  const double gate = model.gated ? 2 : 1;
  const double up = gate * model.hidden * model.feed_forward;
  const double attention =
      double{1} * model.hidden * std::max(model.query_width(), model.value_width());
  return std::max(up, attention) / layout.tensor;
}

/// One of each shape: the weights of a layer, one expert of each kind.
double distinct_weights(const ParameterCounts& counts, const ParallelLayout& layout,
                        const StageLayers& stage, bool dense, bool experts) {
  if (stage.layers == 0) return 0;
  double weights = counts.attention_per_layer;
  if (dense) weights += counts.dense_feed_forward_per_layer;
  weights /= layout.tensor;
  if (experts)
    weights +=
        counts.shared_experts_per_layer / layout.tensor + counts.expert / layout.expert_tensor;
  return weights;
}

void add_layer(MemoryParts& parts, const LayerActivation& layer) {
  parts[MemoryPart::Norms] += layer.norms.value;
  parts[MemoryPart::AttentionInputs] += layer.attention_inputs.value;
  parts[MemoryPart::AttentionCore] += layer.attention_core.value;
  parts[MemoryPart::AttentionOutput] += layer.attention_output.value;
  parts[MemoryPart::FeedForward] += layer.feed_forward.value;
  parts[MemoryPart::Experts] += layer.experts.value;
}

/// The layers of a stage, counted by kind.
struct LayerCounts {
  int dense = 0;
  int experts = 0;
};

LayerCounts kinds_of(const TransformerModel& model, const StageLayers& stage, int first_layer) {
  LayerCounts counts;
  for (int i = 0; i < stage.layers; ++i)
    ++(is_expert_layer(model, first_layer + i) ? counts.experts : counts.dense);
  counts.experts += model.has_experts() ? stage.mtp : 0;
  counts.dense += model.has_experts() ? 0 : stage.mtp;
  return counts;
}

struct StageContext {
  const TransformerModel& model;
  const ParallelLayout& layout;
  const KernelChoice& kernels;
  const MemoryRules& rules;
  StageLayers stage;
  LayerCounts kinds;
  bool first = false;  ///< of the pipeline
  bool last = false;
};

/// Layers that keep everything although the layout recomputes: Full with a number of layers.
int layers_kept(const ParallelLayout& layout, int layers) {
  if (layout.recompute != Recompute::Full || layout.recompute_layers < 0) return 0;
  return std::max(0, layers - layout.recompute_layers);
}

void add_kind(StageFootprint& footprint, const StageContext& context, LayerKind kind, int count,
              int kept) {
  if (count == 0) return;
  const auto& [model, layout, kernels, rules, stage, kinds, first, last] = context;
  const LayerActivation layer = layer_activation(model, layout, kernels, kind);
  const LayerActivation whole = layer_working_set(model, layout, kernels, kind);
  const int together =
      layout.recompute == Recompute::Full ? std::max(1, rules.layers_per_checkpoint) : 1;
  const int again = std::max(0, count - kept);
  for (int i = 0; i < count - again; ++i) add_layer(footprint.held, whole);
  for (int i = 0; i < again; i += together) add_layer(footprint.held, layer);
  if (rules.second_attention_output && layout.context > 1)
    footprint.held[MemoryPart::AttentionOutput] +=
        count * tokens_of(layout, kernels).sharded * model.value_width();
  const double remains = layer.held_for_weight_gradient().value;
  if (layout.recompute == Recompute::Full || layout.recompute == Recompute::Alternate)
    footprint.held_for_weight[MemoryPart::FeedForward] +=
        count * whole.held_for_weight_gradient().value;
  else
    footprint.held_for_weight[MemoryPart::FeedForward] += count * remains;
  double working = backward_working(model, layout, kernels, kind);
  if (layout.recompute != Recompute::None)
    working += std::max(0.0, std::min(together, count) * whole.held().value - layer.held().value);
  footprint.backward[MemoryPart::Working] =
      std::max(footprint.backward[MemoryPart::Working], working);
}

void add_encoder(StageFootprint& footprint, const StageContext& context) {
  if (context.stage.encoder == 0) return;
  const TransformerModel inner = encoder_model(context.model);
  ParallelLayout layout = context.layout;
  layout.sequence = context.model.encoder.tokens;
  layout.context = 1;
  const LayerActivation layer = layer_activation(inner, layout, context.kernels, LayerKind::Dense);
  for (int i = 0; i < context.stage.encoder; ++i) add_layer(footprint.held, layer);
  footprint.held_for_weight[MemoryPart::FeedForward] +=
      context.stage.encoder * layer.held_for_weight_gradient().value;
  double& working = footprint.backward[MemoryPart::Working];
  working = std::max(working, backward_working(inner, layout, context.kernels, LayerKind::Dense));
}

/// Logits from the forward to the backward, the buffers of the head while its operations run.
void add_head(StageFootprint& footprint, const StageContext& context) {
  if (!context.stage.head) return;
  const auto& [model, layout, kernels, rules, stage, kinds, first, last] = context;
  const Tokens tokens = tokens_of(layout, kernels);
  const double values = tokens.sharded / kernels.element_bytes * model.vocabulary;
  const bool in_place = rules.loss == LossKernel::InPlace;
  MemoryParts& held = footprint.held;
  held[MemoryPart::Logits] += values * (in_place ? kLogitBytes : kSoftmaxBytes);
  held[MemoryPart::Norms] += 2 * tokens.partial * model.hidden;
  const double weight = rules.weight_bytes * model.vocabulary * model.hidden / layout.tensor;
  double& forward = footprint.forward[MemoryPart::Logits];
  forward = in_place ? 0 : values * (kLogitBytes + kSoftmaxBytes);
  // The head's weight gradient is written before the layers' backward begins.
  const double at_head =
      weight + 2 * tokens.whole * model.hidden + (in_place ? 0 : values * kLogitBytes);
  double& working = footprint.backward[MemoryPart::Working];
  working = std::max(working, at_head);
}

/// The embedding's weight gradient is dense, and comes when its microbatch holds nothing any more.
void add_embedding(StageFootprint& footprint, const StageContext& context) {
  if (!context.stage.embedding) return;
  const auto& [model, layout, kernels, rules, stage, kinds, first, last] = context;
  footprint.held[MemoryPart::Embedding] += embedding_activation(model, layout, kernels).value;
  const double weight = rules.weight_bytes * model.vocabulary * model.hidden / layout.tensor;
  double& working = footprint.backward[MemoryPart::Working];
  working = std::max(working, weight - footprint.held.total());
}

void add_static(StageFootprint& footprint, const StageContext& context,
                const DeviceParameters& parameters) {
  const ParallelLayout& layout = context.layout;
  const MemoryRules& rules = context.rules;
  const double replicas = double{1} * layout.data * layout.context;
  const double expert_replicas =
      std::max(1.0, replicas * layout.tensor / (double{1} * layout.expert * layout.expert_tensor));
  const auto bytes = [&](double per_parameter, int from_zero) {
    const bool cut = layout.zero >= from_zero;
    return per_parameter * (parameters.dense / (cut ? replicas : 1) +
                            parameters.experts / (cut ? expert_replicas : 1));
  };
  footprint.fixed[MemoryPart::Weights] = bytes(rules.weight_bytes, 3);
  footprint.fixed[MemoryPart::Gradients] = bytes(rules.gradient_bytes, 2);
  footprint.fixed[MemoryPart::Optimizer] = bytes(rules.optimizer_bytes, 1);
}

void add_buffers(StageFootprint& footprint, const StageContext& context,
                 const ParameterCounts& counts, const DeviceParameters& parameters) {
  const auto& [model, layout, kernels, rules, stage, kinds, first, last] = context;
  const double message = boundary_message(model, layout, kernels).value;
  footprint.fixed[MemoryPart::Transfers] = message * ((first ? 0 : 1) + (last ? 0 : 1));
  if (rules.keeps_boundaries)
    footprint.held[MemoryPart::Transfers] += message * ((first ? 0 : 1) + (last ? 0 : 1));
  double& gathers = footprint.fixed[MemoryPart::Gathers];
  const int layers = std::max(1, stage.layers + stage.mtp + stage.encoder);
  if (layout.zero >= 3)
    gathers +=
        rules.weight_bytes * std::min(2, layers) * (parameters.dense + parameters.experts) / layers;
  const double scratch = rules.weight_bytes;
  if (rules.scratch == GradientScratch::Persistent)
    gathers +=
        scratch * distinct_weights(counts, layout, stage, kinds.dense > 0, kinds.experts > 0);
  else if (stage.layers > 0 && !stage.head)
    footprint.backward[MemoryPart::Gathers] += scratch * largest_weight(model, layout);
  const double inputs = gathered(model, layout, kernels);
  footprint.forward[MemoryPart::Gathers] += inputs / 2;
  if (!stage.head) footprint.backward[MemoryPart::Gathers] += inputs;
}

void offload(StageFootprint& footprint, const MemoryRules& rules) {
  if (rules.offload <= 0) return;
  const double share = std::min(rules.offload, 1.0);
  footprint.offloaded = {share * footprint.held.total()};
  // One microbatch on its way out and one on its way back are in both places.
  footprint.fixed[MemoryPart::Transfers] += 2 * footprint.offloaded.value;
}

}  // namespace

DeviceParameters device_parameters(const TransformerModel& model, const ParallelLayout& layout,
                                   const StageLayers& stage, const LayersBefore& before) {
  const ParameterCounts counts = parameter_counts(model);
  const LayerCounts kinds = kinds_of(model, stage, before.layers);
  const double tensor = layout.tensor;
  DeviceParameters device;
  const int layers = stage.layers + stage.mtp;
  device.dense =
      layers * (counts.attention_per_layer / tensor + counts.norms_per_layer) +
      kinds.dense * counts.dense_feed_forward_per_layer / tensor +
      kinds.experts * (counts.router_per_layer + counts.shared_experts_per_layer / tensor);
  if (model.has_experts())
    device.experts = kinds.experts * counts.expert * model.experts.count /
                     (double{1} * layout.expert * layout.expert_tensor);
  if (stage.mtp > 0) device.dense += stage.mtp * 2.0 * model.hidden * model.hidden / tensor;
  device.dense += stage.encoder * counts.encoder_per_layer / tensor;
  if (stage.encoder > 0 && before.encoder == 0) device.dense += counts.encoder_tokens / tensor;
  if (stage.encoder > 0 && before.encoder + stage.encoder == model.encoder.layers)
    device.dense += counts.encoder_connector / tensor;
  if (stage.embedding) device.dense += counts.embedding / tensor;
  if (stage.head)
    device.dense +=
        counts.final_norm + (stage.embedding && model.tied_embeddings
                                 ? 0
                                 : double{1} * model.hidden * model.vocabulary / tensor);
  return device;
}

std::vector<StageFootprint> stage_footprints(const TransformerModel& model,
                                             const ParallelLayout& layout,
                                             std::span<const StageLayers> stages,
                                             const KernelChoice& kernels,
                                             const MemoryRules& rules) {
  const ParameterCounts counts = parameter_counts(model);
  std::vector<StageFootprint> footprints;
  LayersBefore before;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const StageContext context{model,     layout,
                               kernels,   rules,
                               stages[i], kinds_of(model, stages[i], before.layers),
                               i == 0,    i + 1 == stages.size()};
    StageFootprint footprint;
    const DeviceParameters parameters = device_parameters(model, layout, stages[i], before);
    const int kept = layers_kept(layout, stages[i].layers + stages[i].mtp);
    add_kind(footprint, context, LayerKind::Dense, context.kinds.dense,
             std::min(kept, context.kinds.dense));
    add_kind(footprint, context, LayerKind::Experts, context.kinds.experts,
             std::max(0, kept - context.kinds.dense));
    add_encoder(footprint, context);
    add_head(footprint, context);
    add_embedding(footprint, context);
    add_static(footprint, context, parameters);
    add_buffers(footprint, context, counts, parameters);
    offload(footprint, rules);
    footprints.push_back(footprint);
    before += stages[i];
  }
  return footprints;
}

void judge(RankFootprint& rank, const MemoryRules& rules, Bytes capacity) {
  const double allowance = rules.fragmentation * rank.peak.value + rules.outside.value;
  rank.needed = {rank.peak.value + allowance};
  rank.at_peak[MemoryPart::Fragmentation] = allowance;
  rank.part_peaks[MemoryPart::Fragmentation] = allowance;
  rank.capacity = capacity;
  rank.fits = capacity.value <= 0 || rank.needed.value <= capacity.value;
}

RankFootprint rank_footprint(std::span<const StageFootprint> stages,
                             std::span<const double> in_flight, const MemoryRules& rules,
                             Bytes capacity) {
  RankFootprint rank;
  const MemoryParts* busiest = nullptr;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const StageFootprint& stage = stages[i];
    const double held = stage.held.total();
    const double here = held > 0 ? 1 - stage.offloaded.value / held : 1;
    rank.at_peak.add(stage.fixed);
    rank.at_peak.add(stage.held, in_flight[i] * here);
    for (const MemoryParts* running : {&stage.forward, &stage.backward})
      if (busiest == nullptr || running->total() > busiest->total()) busiest = running;
  }
  if (busiest != nullptr) rank.at_peak.add(*busiest);
  rank.at_peak[MemoryPart::Workspace] += rules.workspace.value;
  rank.part_peaks = rank.at_peak;
  rank.peak = {rank.at_peak.total()};
  judge(rank, rules, capacity);
  return rank;
}

}  // namespace pipecast
