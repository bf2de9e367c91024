#pragma once
#include <span>
#include <vector>

#include "sim/base/quantity.hpp"
#include "sim/cost/layout.hpp"
#include "sim/cost/transformer.hpp"

namespace pipecast {

/// A device as serving sees it: what it reaches, not what its data sheet says.
struct ServingDevice {
  FlopsPerSecond compute;              ///< achieved on large matrices
  BytesPerSecond memory_bandwidth;     ///< achieved when streaming weights
  Bytes memory;                        ///< what the device reports; 0: not limited
  BytesPerSecond tensor_bandwidth{0};  ///< of the tensor group's all-reduce; 0: free
  Seconds tensor_latency;              ///< of one all-reduce
  BytesPerSecond stage_bandwidth{0};   ///< between stages; 0: free
  Seconds stage_latency;
  Seconds stage_overhead;  ///< of one pass over a stage: kernel launches, the runtime
  Bytes workspace{2.0 * 1024 * 1024 * 1024};  ///< not available for weights and cache

  bool operator==(const ServingDevice&) const = default;
};

/// What one pass of a microbatch carries: tokens being read (prefill) and sequences that each get
/// one more token (decode).
struct PassLoad {
  double prefill_tokens = 0;
  double prefill_pairs = 0;   ///< Σ over prompts of the query–key pairs a causal mask leaves
  int prompts = 0;            ///< that end here and give their first token
  int decoding = 0;           ///< sequences
  double context_tokens = 0;  ///< Σ of what they have cached

  double tokens() const { return prefill_tokens + decoding; }
  PassLoad& operator+=(const PassLoad& other);
  bool operator==(const PassLoad&) const = default;
};

PassLoad prefill_load(int prompt_tokens);
PassLoad decode_load(int context_tokens);

/// One stage of a served model on one device of its tensor group.
struct ServingStage {
  double weights = 0;         ///< elements read whatever the batch: attention, dense, router
  double active_weights = 0;  ///< … that one token multiplies with, experts included
  double expert_weights = 0;  ///< of one expert, summed over the layers of the stage
  int experts = 0;
  int active_experts = 0;
  double attention_width = 0;    ///< query + value width per device, summed over layers
  double cache_per_token = 0;    ///< bytes
  double all_reduces = 0;        ///< of tokens × hidden
  double head_weights = 0;       ///< multiplied only with the tokens that are sampled
  double embedding_weights = 0;  ///< kept, not streamed

  double kept_elements() const {
    return weights + expert_weights * experts + head_weights + embedding_weights;
  }
  bool operator==(const ServingStage&) const = default;
};

/// A model on a pipeline of tensor groups.
struct ServingPlan {
  TransformerModel model;
  ParallelLayout layout;  ///< tensor and pipeline; the rest is not used
  std::vector<ServingStage> stages;
  ServingDevice device;
  double weight_bytes = 2;
  double cache_bytes = 2;  ///< per element of keys and values

  bool operator==(const ServingPlan&) const = default;
};

/// Layers split evenly, the first stages one more where they do not divide. Infeasible when the
/// layout does not fit the model or the weights do not fit a device.
Result<ServingPlan> serving_plan(const TransformerModel& model, const ParallelLayout& layout,
                                 const ServingDevice& device, double weight_bytes,
                                 double cache_bytes);

/// Seconds of one pass over a stage: max(FLOPs ÷ compute, bytes ÷ memory bandwidth) + all-reduces +
/// overhead. FLOPs: 2 × weights × tokens + 2 × width × pairs; bytes: every weight once (of experts
/// those that some token is sent to, in the mean) and the cache of the decoding sequences. O(1).
Seconds pass_seconds(const ServingPlan& plan, std::size_t stage, const PassLoad& load);

/// Seconds from a stage to the next one for `tokens` hidden states; between the last and the first
/// stage only the token goes.
Seconds hop_seconds(const ServingPlan& plan, double tokens);

/// Tokens whose keys and values fit beside the weights, on the tightest device. 0 when memory is
/// not limited.
double cache_capacity_tokens(const ServingPlan& plan);

/// Decoding in a steady state: `groups` microbatches of `batch` sequences in flight, each with
/// `context` tokens cached.
struct DecodePoint {
  int batch = 0;
  int groups = 0;
  double step_s = 0;  ///< between two tokens of a sequence
  double tokens_per_s = 0;
  double utilization = 0;        ///< busy share of the busiest stage
  double model_flops_share = 0;  ///< of the achieved compute
  double cache_bytes = 0;        ///< on the tightest device
  bool fits = true;

  bool operator==(const DecodePoint&) const = default;
};

/// step = max(groups × slowest stage, one round through all stages and hops): below as many groups
/// as stages the pipeline waits for its own tokens. O(stages).
DecodePoint decode_point(const ServingPlan& plan, int batch, int groups, int context);

/// Largest batch per group that fits with `context` tokens each; 0: not even one. −1: no limit.
int largest_batch(const ServingPlan& plan, int groups, int context);

}  // namespace pipecast
