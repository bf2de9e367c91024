#include "sim/cost/activation.hpp"

#include <algorithm>

namespace pipecast {
namespace {

/// Sizes that recur: bytes of one value per token, on the whole tensor group and on one device of
/// it.
struct Frame {
  double whole;    ///< element bytes × tokens of the device
  double sharded;  ///< the same ÷ tensor: what tensor parallelism always cuts
  double partial;  ///< ÷ tensor only when sequence parallel: inputs of blocks, norms, masks
  double mask;     ///< one byte per token, cut like `partial`
};

Frame frame_of(const ParallelLayout& layout, const KernelChoice& kernels) {
  const double tokens = double{1} * layout.sequence * layout.microbatch_size / layout.context;
  const double tensor = layout.tensor;
  const double cut = layout.sequence_parallel ? tensor : 1;
  const double bytes = tokens * kernels.element_bytes;
  return {bytes, bytes / tensor, bytes / cut, tokens / cut};
}

/// softmax output, its dropout mask and the dropped-out product: (2e + 1)·a·s²·b, or 1·e when
/// nothing is dropped.
double score_bytes(const TransformerModel& model, const ParallelLayout& layout,
                   const KernelChoice& kernels) {
  if (kernels.fused_attention) {
    // The log-sum-exp of every row, 4 bytes.
    return 4.0 * model.heads / layout.tensor * layout.sequence * layout.microbatch_size /
           layout.context;
  }
  const double entries = double{1} * model.heads / layout.tensor * layout.sequence *
                         layout.sequence * layout.microbatch_size / layout.context;
  return entries * (kernels.dropout ? 2 * kernels.element_bytes + 1 : kernels.element_bytes);
}

void add_attention(LayerActivation& layer, const TransformerModel& model,
                   const ParallelLayout& layout, const KernelChoice& kernels) {
  const Frame frame = frame_of(layout, kernels);
  const double hidden = model.hidden;
  const double outputs =
      model.query_width() +
      (model.has_latent_attention()
           ? double{1} * model.query_width() + model.value_width()
           : 2.0 * std::max(model.key_value_heads, layout.tensor) * model.head_width);
  double inputs = frame.partial * hidden;
  if (model.has_latent_attention()) {
    // The latents are inputs of the up-projections; every device of the tensor group has them
    // whole.
    const LatentAttention& latent = model.latent;
    inputs += frame.whole *
              (2.0 * latent.query_rank + 2.0 * latent.key_value_rank + latent.rope_head_width);
  }
  layer.attention_inputs = {inputs};
  layer.attention_core = {frame.sharded * outputs + score_bytes(model, layout, kernels)};
  const double projection_input = frame.sharded * model.value_width();
  layer.attention_output = {projection_input + (kernels.dropout ? frame.mask * hidden : 0)};
  layer.linear_inputs += Bytes{inputs + projection_input};
  layer.linear_gradients += Bytes{frame.sharded * outputs + frame.partial * hidden};
}

/// Values per token that a feed-forward of `width` keeps between its two matrix products.
double inner_values(const TransformerModel& model, double width) {
  return model.gated ? 3 * width : 2 * width;
}

void add_dense(LayerActivation& layer, const TransformerModel& model, const ParallelLayout& layout,
               const KernelChoice& kernels, double width) {
  const Frame frame = frame_of(layout, kernels);
  const double input = frame.partial * model.hidden;
  layer.feed_forward += Bytes{input + frame.sharded * inner_values(model, width) +
                              (kernels.dropout ? frame.mask * model.hidden : 0)};
  layer.linear_inputs += Bytes{input + frame.sharded * width};
  layer.linear_gradients +=
      Bytes{frame.sharded * (model.gated ? 2 : 1) * width + frame.partial * model.hidden};
}

/// Each device works on as many routed copies as it sends: tokens × top-k, balanced over the expert
/// group.
void add_experts(LayerActivation& layer, const TransformerModel& model,
                 const ParallelLayout& layout, const KernelChoice& kernels) {
  const Frame frame = frame_of(layout, kernels);
  const double copies = model.experts.capacity_factor > 0
                            ? model.experts.active * model.experts.capacity_factor
                            : model.experts.active;
  const double cut =
      layout.sequence_parallel ? double{1} * layout.tensor / layout.expert_tensor : 1;
  const double routed = frame.whole * copies / cut;
  const double inner = routed / layout.expert_tensor * model.experts.width;
  const double logits = 4 * frame.mask * model.experts.count;  // router probabilities in 32 bits
  const double input = routed * model.hidden;
  layer.experts = {input + inner * (model.gated ? 3 : 2) + input + logits +
                   frame.partial * model.hidden};
  layer.linear_inputs += Bytes{input + inner + frame.partial * model.hidden};
  layer.linear_gradients += Bytes{inner * (model.gated ? 2 : 1) + input};
}

}  // namespace

LayerActivation layer_working_set(const TransformerModel& model, const ParallelLayout& layout,
                                  const KernelChoice& kernels, LayerKind kind) {
  const Frame frame = frame_of(layout, kernels);
  LayerActivation layer;
  layer.norms = {2 * frame.partial * model.hidden};
  add_attention(layer, model, layout, kernels);
  if (kind == LayerKind::Dense) {
    add_dense(layer, model, layout, kernels, model.feed_forward);
    return layer;
  }
  if (model.experts.shared > 0)
    add_dense(layer, model, layout, kernels,
              double{1} * model.experts.width * model.experts.shared);
  add_experts(layer, model, layout, kernels);
  return layer;
}

namespace {

/// The layer's input, what the attention core gives, and the results of every first of two
/// products: queries, values, the gate (or the only inner values), the last.
LayerActivation alternate_activation(const TransformerModel& model, const ParallelLayout& layout,
                                     const KernelChoice& kernels) {
  const Frame frame = frame_of(layout, kernels);
  LayerActivation layer;
  layer.norms = {frame.partial * model.hidden};
  const double values = double{1} * std::max(model.key_value_heads, layout.tensor);
  layer.attention_core = {frame.sharded * (model.query_width() + values * model.head_width) +
                          score_bytes(model, layout, kernels)};
  layer.attention_output = {frame.sharded * model.value_width()};
  layer.feed_forward = {frame.sharded * model.feed_forward + frame.partial * model.hidden};
  return layer;
}

}  // namespace

LayerActivation layer_activation(const TransformerModel& model, const ParallelLayout& layout,
                                 const KernelChoice& kernels, LayerKind kind) {
  switch (layout.recompute) {
    case Recompute::None:
      return layer_working_set(model, layout, kernels, kind);
    case Recompute::Selective: {
      // Computing the core again needs queries, keys and values, but never the stored scores.
      KernelChoice without_scores = kernels;
      without_scores.fused_attention = true;
      LayerActivation layer = layer_working_set(model, layout, without_scores, kind);
      if (!kernels.fused_attention)
        layer.attention_core -= Bytes{score_bytes(model, layout, without_scores)};
      return layer;
    }
    case Recompute::Alternate:
      return alternate_activation(model, layout, kernels);
    case Recompute::Full: {
      LayerActivation layer;
      layer.norms = {frame_of(layout, kernels).partial * model.hidden};
      return layer;
    }
  }
  return {};
}

Bytes boundary_message(const TransformerModel& model, const ParallelLayout& layout,
                       const KernelChoice& kernels) {
  return {frame_of(layout, kernels).partial * model.hidden};
}

Bytes embedding_activation(const TransformerModel& model, const ParallelLayout& layout,
                           const KernelChoice& kernels) {
  return {kernels.dropout ? frame_of(layout, kernels).mask * model.hidden : 0};
}

Bytes head_activation(const TransformerModel& model, const ParallelLayout& layout,
                      const KernelChoice& kernels) {
  const Frame frame = frame_of(layout, kernels);
  const double logits = 4 * frame.sharded / kernels.element_bytes * model.vocabulary;
  return {2 * frame.partial * model.hidden + logits};
}

Bytes key_value_bytes_per_token(const TransformerModel& model, double element_bytes) {
  const double values = model.has_latent_attention()
                            ? double{1} * model.latent.key_value_rank + model.latent.rope_head_width
                            : 2.0 * model.key_value_heads * model.head_width;
  return {values * model.layers * element_bytes};
}

}  // namespace pipecast
