#include "sim/cost/layer_time.hpp"

#include <algorithm>

#include "sim/cost/unit_builder.hpp"

namespace pipecast {
namespace {

constexpr double kElement = 2;

void add_latent_attention(UnitBuilder& unit, const TrainingPlan& plan) {
  const TransformerModel& model = plan.model;
  const LatentAttention& latent = model.latent;
  const double tensor = plan.layout.tensor;
  const double tokens = unit.tokens();
  if (latent.query_rank > 0) {
    unit.linear(tokens, model.hidden, latent.query_rank);
    unit.stream(2 * kElement * tokens * latent.query_rank,
                3 * kElement * tokens * latent.query_rank);
    unit.linear(tokens, latent.query_rank, model.query_width() / tensor);
  } else {
    unit.linear(tokens, model.hidden, model.query_width() / tensor);
  }
  const double down = latent.key_value_rank + latent.rope_head_width;
  const double up = double{1} * model.heads * (latent.nope_head_width + latent.value_head_width);
  unit.linear(tokens, model.hidden, down);
  unit.stream(2 * kElement * tokens * down, 3 * kElement * tokens * down);
  unit.linear(tokens, latent.key_value_rank, up / tensor);
  // Keys and queries are put together from their rotated and plain parts.
  const double parts = 2 * kElement * tokens * 2 * model.query_width() / tensor;
  unit.stream(parts, parts);
}

void add_attention(UnitBuilder& unit, const TrainingPlan& plan) {
  const TransformerModel& model = plan.model;
  const double tensor = plan.layout.tensor;
  const double tokens = unit.tokens();
  if (model.has_latent_attention()) {
    add_latent_attention(unit, plan);
  } else {
    const double key_value =
        2.0 * std::max<double>(model.key_value_heads, tensor) * model.head_width;
    unit.linear(tokens, model.hidden, (model.query_width() + key_value) / tensor);
    const double rotated = (model.query_width() + key_value / 2) / tensor;
    if (model.position == Position::Rope || model.query_key_norm)
      unit.stream(2 * kElement * tokens * rotated, 2 * kElement * tokens * rotated);
  }
  unit.attention();
  unit.context_exchange();
  unit.linear(tokens, model.value_width() / tensor, model.hidden);
  unit.tensor_block();
}

/// Bytes per value of the inner width that the activation function streams: one input (or two, when
/// gated) and one output; backward the same and a gradient for each.
void add_activation(UnitBuilder& unit, const TrainingPlan& plan, double values) {
  const double forward = plan.model.gated ? 3 : 2;
  const double backward = plan.model.gated ? 5 : 3;
  unit.stream(forward * kElement * values, backward * kElement * values);
}

void add_dense(UnitBuilder& unit, const TrainingPlan& plan, double width) {
  const double tokens = unit.tokens();
  const double local = width / plan.layout.tensor;
  unit.linear(tokens, plan.model.hidden, (plan.model.gated ? 2 : 1) * local);
  add_activation(unit, plan, tokens * local);
  unit.linear(tokens, local, plan.model.hidden);
  unit.tensor_block();
}

void add_experts(UnitBuilder& unit, const TrainingPlan& plan) {
  const TransformerModel& model = plan.model;
  const ParallelLayout& layout = plan.layout;
  const double own = unit.tokens() / layout.tensor;  // experts see the sequence cut
  const double capacity = model.experts.capacity_factor > 0 ? model.experts.capacity_factor : 1;
  const double copies = own * model.experts.active * capacity * layout.expert_tensor;
  const double groups = std::max(1.0, double{1} * model.experts.count / layout.expert);
  const double width = double{1} * model.experts.width / layout.expert_tensor;
  const double hidden = model.hidden;
  unit.linear_16(own, hidden, model.experts.count);
  unit.stream(6 * 4 * own * model.experts.count, 6 * 4 * own * model.experts.count);
  unit.expert_exchange(kElement * copies * hidden);
  // Tokens are sorted by expert before, and put back after.
  const double sorted = 2 * kElement * copies * hidden;
  unit.permutation(sorted);
  unit.linear(copies / groups, hidden, (model.gated ? 2 : 1) * width, groups);
  add_activation(unit, plan, copies * width);
  unit.linear(copies / groups, width, hidden, groups);
  unit.permutation(sorted);
}

/// Norms, residuals and dropouts of both blocks.
void add_pointwise(UnitBuilder& unit, const TrainingPlan& plan) {
  const double values = unit.cut_tokens() * plan.model.hidden;
  for (int block = 0; block < 2; ++block) {
    unit.stream(2 * kElement * values, 3 * kElement * values);
    const double mask = plan.kernels.dropout ? 1 : 0;
    unit.stream((3 * kElement + mask) * values, (2 * kElement + mask) * values);
    if (!plan.fused_kernels)
      // Bias, dropout and residual each read and write on their own.
      unit.stream(2 * 2 * kElement * values, 2 * 2 * kElement * values);
  }
}

double layer_parameters(const TrainingPlan& plan, LayerKind kind) {
  const ParameterCounts counts = parameter_counts(plan.model);
  const double tensor = plan.layout.tensor;
  if (kind == LayerKind::Dense)
    return (counts.attention_per_layer + counts.dense_feed_forward_per_layer) / tensor;
  return (counts.attention_per_layer + counts.shared_experts_per_layer) / tensor;
}

}  // namespace

PassSeconds& PassSeconds::operator+=(const PassSeconds& other) {
  matmul_s += other.matmul_s;
  attention_s += other.attention_s;
  memory_s += other.memory_s;
  launch_s += other.launch_s;
  tensor_s += other.tensor_s;
  context_s += other.context_s;
  expert_s += other.expert_s;
  shard_s += other.shard_s;
  flops += other.flops;
  kernels += other.kernels;
  table_misses += other.table_misses;
  return *this;
}

PassSeconds operator*(double factor, const PassSeconds& pass) {
  PassSeconds scaled = pass;
  for (double PassSeconds::*part :
       {&PassSeconds::matmul_s, &PassSeconds::attention_s, &PassSeconds::memory_s,
        &PassSeconds::launch_s, &PassSeconds::tensor_s, &PassSeconds::context_s,
        &PassSeconds::expert_s, &PassSeconds::shard_s, &PassSeconds::flops, &PassSeconds::kernels})
    scaled.*part *= factor;
  return scaled;
}

UnitSeconds& UnitSeconds::operator+=(const UnitSeconds& other) {
  forward += other.forward;
  input += other.input;
  weight += other.weight;
  recompute += other.recompute;
  return *this;
}

UnitSeconds operator*(double factor, const UnitSeconds& unit) {
  return {factor * unit.forward, factor * unit.input, factor * unit.weight,
          factor * unit.recompute};
}

UnitSeconds layer_seconds(const TrainingPlan& plan, const DeviceModel& device,
                          const ClusterLinks& links, LayerKind kind, bool recomputed) {
  UnitBuilder unit(plan, device, links);
  add_pointwise(unit, plan);
  add_attention(unit, plan);
  if (kind == LayerKind::Dense) add_dense(unit, plan, plan.model.feed_forward);
  if (kind == LayerKind::Experts) {
    add_experts(unit, plan);
    if (plan.model.experts.shared > 0)
      add_dense(unit, plan, double{1} * plan.model.experts.width * plan.model.experts.shared);
  }
  unit.shards(layer_parameters(plan, kind), links.data);
  UnitSeconds result = unit.finish();
  if (!recomputed) return result;
  switch (plan.layout.recompute) {
    case Recompute::None:
      break;
    case Recompute::Selective:
      // A fused kernel recomputes the scores by itself, in its backward.
      if (!plan.kernels.fused_attention) result.recompute = unit.core();
      break;
    case Recompute::Full:
      result.recompute = result.forward;
      result.recompute.shard_s = 0;
      if (!plan.recompute_communication) result.recompute.tensor_s = 0;
      break;
  }
  return result;
}

UnitSeconds embedding_seconds(const TrainingPlan& plan, const DeviceModel& device,
                              const ClusterLinks& links) {
  UnitBuilder unit(plan, device, links);
  const double values = unit.tokens() * plan.model.hidden;
  unit.stream(2 * kElement * values, 0);
  UnitSeconds result = unit.finish();
  const double whole = kElement * values;
  if (plan.layout.tensor > 1) result.forward.tensor_s += gather_seconds(links.tensor, whole);
  // Gradients are added into the table where the tokens point.
  result.weight.memory_s += memory_seconds(device, 3 * kElement * values);
  const double table = double{1} * plan.model.hidden * plan.model.vocabulary / plan.layout.tensor;
  result.weight.memory_s += memory_seconds(device, plan.accumulation_bytes * table);
  return result;
}

UnitSeconds head_seconds(const TrainingPlan& plan, const DeviceModel& device,
                         const ClusterLinks& links) {
  UnitBuilder unit(plan, device, links);
  const double values = unit.cut_tokens() * plan.model.hidden;
  const double vocabulary = double{1} * plan.model.vocabulary / plan.layout.tensor;
  const double logits = unit.tokens() * vocabulary;
  unit.stream(2 * kElement * values, 3 * kElement * values);
  unit.linear_16(unit.tokens(), plan.model.hidden, vocabulary);
  // Logits to 32 bits, maximum, exponential and sum; backward: scale, subtract, to 16 bits.
  unit.stream((kElement + 4 + 4 + 4 + 4) * logits, (4 + kElement) * logits);
  unit.tensor_block();
  return unit.finish();
}

UnitSeconds mtp_seconds(const TrainingPlan& plan, const DeviceModel& device,
                        const ClusterLinks& links) {
  const LayerKind kind = plan.model.has_experts() ? LayerKind::Experts : LayerKind::Dense;
  UnitSeconds result = layer_seconds(plan, device, links, kind, false);
  UnitBuilder unit(plan, device, links);
  const double values = unit.cut_tokens() * plan.model.hidden;
  unit.stream(4 * kElement * values, 6 * kElement * values);
  unit.linear(unit.tokens(), 2.0 * plan.model.hidden,
              double{1} * plan.model.hidden / plan.layout.tensor);
  result += unit.finish();
  result += head_seconds(plan, device, links);
  return result;
}

}  // namespace pipecast
