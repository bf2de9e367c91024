#pragma once
#include <span>
#include <vector>

#include "sim/cost/activation.hpp"
#include "sim/cost/layout.hpp"
#include "sim/cost/transformer.hpp"
#include "sim/model/memory_parts.hpp"

namespace pipecast {

/// How the loss keeps its logits from the forward to the backward.
enum class LossKernel : std::uint8_t {
  InPlace,   ///< the gradient overwrites the 16-bit logits (fused cross-entropy of TE, Liger)
  Softmax32  ///< the softmax is kept in 32 bits (Megatron's vocabulary-parallel loss)
};

/// Where the weight gradient of one layer goes before it is accumulated.
enum class GradientScratch : std::uint8_t {
  Transient,   ///< a buffer of the largest weight while a backward runs
  Persistent,  ///< one buffer per shape of weight, never freed (Transformer Engine since 2.8)
};

/// Bytes per parameter, kernels and allowances: what differs between frameworks.
struct MemoryRules {
  double weight_bytes = 2;
  double gradient_bytes = 4;    ///< accumulated in 32 bits
  double optimizer_bytes = 12;  ///< 32-bit copy and two moments
  LossKernel loss = LossKernel::InPlace;
  GradientScratch scratch = GradientScratch::Transient;
  bool keeps_boundaries =
      false;  ///< a stage's input and output live until the backward: DeepSpeed's
              ///< pipeline buffers; Megatron gives outputs back when sent
  bool second_attention_output = false;  ///< all-to-all context parallelism keeps both sides
  Bytes workspace{64.0 * 1024 * 1024};   ///< of matrix libraries, inside the allocator
  Bytes outside{1024.0 * 1024 * 1024};   ///< context and communicators, outside the allocator
  double fragmentation = 0.05;           ///< of what is allocated: reserved and not used
  int layers_per_checkpoint = 1;  ///< with full recomputation: layers that are computed again from
                                  ///< one kept input
  double offload = 0;  ///< share of the activations that the host keeps between F and B, 0 to 1

  bool operator==(const MemoryRules&) const = default;
};

/// Parameters that one device holds of a stage before ZeRO cuts them; experts apart, because their
/// replicas are fewer.
struct DeviceParameters {
  double dense = 0;
  double experts = 0;

  bool operator==(const DeviceParameters&) const = default;
};
/// Layers that earlier stages hold.
struct LayersBefore {
  int layers = 0;
  int encoder = 0;

  LayersBefore& operator+=(const StageLayers& stage) {
    layers += stage.layers;
    encoder += stage.encoder;
    return *this;
  }
  bool operator==(const LayersBefore&) const = default;
};

/// Of everything a stage holds, after tensor and expert parallelism cut it. The encoder's patch
/// embedding lies with its first layer, the way into the decoder with its last.
DeviceParameters device_parameters(const TransformerModel& model, const ParallelLayout& layout,
                                   const StageLayers& stage, const LayersBefore& before);

/// Memory of every stage on a device. Weights, gradients and optimizer: bytes per parameter, the
/// optimizer divided by data × context from ZeRO 1, gradients from 2, weights from 3 (then two
/// gathered layers are counted); experts are divided by the replicas of experts. Activations:
/// activation.hpp. Working memory of a backward: the gradient of the layer's output and of the
/// widest tensor in it (and the layer's own activations where they are computed again). Pure;
/// O(stages + layers).
std::vector<StageFootprint> stage_footprints(const TransformerModel& model,
                                             const ParallelLayout& layout,
                                             std::span<const StageLayers> stages,
                                             const KernelChoice& kernels, const MemoryRules& rules);

/// Stages of a rank at once, `in_flight[i]` microbatches of `stages[i]` alive and the operation
/// with the most working memory running: the closed form for schedules whose counts are known
/// (1F1B: min(ranks − rank, microbatches)). O(stages).
RankFootprint rank_footprint(std::span<const StageFootprint> stages,
                             std::span<const double> in_flight, const MemoryRules& rules,
                             Bytes capacity);

/// The allowances put on top of a peak, and whether it fits: needed = peak × (1 + fragmentation) +
/// outside.
void judge(RankFootprint& rank, const MemoryRules& rules, Bytes capacity);

}  // namespace pipecast
