#pragma once
#include "sim/base/quantity.hpp"
#include "sim/cost/layout.hpp"
#include "sim/cost/transformer.hpp"

namespace pipecast {

/// Which kernels a framework runs, as far as they decide what is kept for the backward.
struct KernelChoice {
  bool fused_attention = true;  ///< the score matrix is never stored (FlashAttention and its kind)
  bool dropout = false;  ///< one-byte masks after the two output projections, and inside the scores
  bool fused_activation =
      true;  ///< a gated activation keeps its inputs and its product, nothing between
  double element_bytes = 2;  ///< of activations

  bool operator==(const KernelChoice&) const = default;
};

/// Bytes one device keeps of one decoder layer for one microbatch, by what they belong to.
struct LayerActivation {
  Bytes norms;
  Bytes attention_inputs;  ///< of the projections into the attention core
  Bytes attention_core;    ///< queries, keys, values, the score matrix where it is stored
  Bytes attention_output;  ///< input of the output projection, its dropout mask
  Bytes feed_forward;      ///< inputs and intermediates of dense or shared feed-forward layers
  Bytes experts;           ///< routed copies of tokens and the intermediates of experts
  Bytes linear_gradients;  ///< not kept by a forward: gradients of linear outputs that W needs
                           ///< after I
  Bytes linear_inputs;     ///< the part of the above that W needs

  /// What the forward keeps: s·b·h·(34 + 5·a·s/h) for GPT without parallelism, with the divisions
  /// of Korthikanti et al. 2022, section 4, under tensor and sequence parallelism.
  Bytes held() const {
    return norms + attention_inputs + attention_core + attention_output + feed_forward + experts;
  }
  /// What is still held between I and W: inputs of the linear layers and gradients of their outputs
  /// (about 32·s·b·h of 34 for GPT; Qi et al. 2024, section 2).
  Bytes held_for_weight_gradient() const { return linear_inputs + linear_gradients; }

  bool operator==(const LayerActivation&) const = default;
};

enum class LayerKind : std::uint8_t { Dense, Experts };

/// Bytes of one layer under `layout` (its recompute setting included: Selective drops the stored
/// score matrix, Full keeps the layer's input only, Alternate every first of two products).
LayerActivation layer_activation(const TransformerModel& model, const ParallelLayout& layout,
                                 const KernelChoice& kernels, LayerKind kind);

/// The same with nothing recomputed: the working set that a fully recomputed layer needs during its
/// backward.
LayerActivation layer_working_set(const TransformerModel& model, const ParallelLayout& layout,
                                  const KernelChoice& kernels, LayerKind kind);

/// Activation one stage passes to the next: element bytes × tokens of the device × hidden, cut over
/// the tensor group when sequence parallel.
Bytes boundary_message(const TransformerModel& model, const ParallelLayout& layout,
                       const KernelChoice& kernels);

/// Kept by the embedding of the first stage (a dropout mask) per microbatch.
Bytes embedding_activation(const TransformerModel& model, const ParallelLayout& layout,
                           const KernelChoice& kernels);

/// Kept by final norm, head and loss per microbatch: the inputs of norm and head in 16 bits and the
/// logits in 32 bits, 4·s·b·V/t.
Bytes head_activation(const TransformerModel& model, const ParallelLayout& layout,
                      const KernelChoice& kernels);

/// Key/value cache of one token over all layers of the model: 2·L·g·d·bytes, or the latent of MLA.
Bytes key_value_bytes_per_token(const TransformerModel& model, double element_bytes);

}  // namespace pipecast
