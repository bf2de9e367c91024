#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "sim/cost/activation.hpp"
#include "sim/cost/device_model.hpp"
#include "sim/cost/layout.hpp"
#include "sim/cost/transformer.hpp"

namespace pipecast {

/// How attention sees the whole sequence when context parallelism cuts it.
enum class ContextExchange : std::uint8_t {
  Ring,     ///< keys and values go round, behind the attention of the step before
  Ulysses,  ///< heads for sequence, and back: two all-to-alls, nothing behind them
  Gather,   ///< keys and values are gathered first
};

/// Whether a communication runs beside computation or makes it wait.
enum class Exposure : std::uint8_t {
  Exposed,
  Overlapped,  ///< only what is longer than the computation beside it is waited for
};

/// Whether the host waits for a kernel before it starts the next one.
enum class Launch : std::uint8_t {
  Asynchronous,
  Blocking,  ///< CUDA_LAUNCH_BLOCKING=1
};

/// What a framework does with the traffic inside a stage and at the end of a step.
struct CommunicationRules {
  Exposure tensor = Exposure::Exposed;   ///< user buffers, asynchronous tensor parallelism
  Exposure expert = Exposure::Exposed;   ///< the other half of a pair hides the exchange
  Exposure data = Exposure::Overlapped;  ///< gradients of a layer go while the next is computed
  ContextExchange context = ContextExchange::Ring;

  bool operator==(const CommunicationRules&) const = default;
};

/// How whole layers are given to stages.
struct SplitChoice {
  enum class Kind : std::uint8_t {
    Even,      ///< as split_layers() does, with `rule`
    Balanced,  ///< the slowest stage as fast as possible
    Layout,    ///< Megatron's layout string
  };
  Kind kind = Kind::Even;
  SplitRule rule;
  std::string layout;

  bool operator==(const SplitChoice&) const = default;
};

/// Everything the cost of a training step depends on, besides the machine and the schedule.
struct TrainingPlan {
  TransformerModel model;
  ParallelLayout layout;
  KernelChoice kernels;
  Precision precision = Precision::Bf16;
  CommunicationRules communication;
  SplitChoice split;
  std::vector<StageLayers> stages;                  ///< what `split` came to: see with_stages()
  CausalCredit causal_credit = CausalCredit::Full;  ///< how utilization counts attention
  double gradient_bytes = 4;                        ///< per parameter, accumulated and reduced
  double accumulation_bytes = 0;  ///< per parameter and microbatch: what kernels beside the product
                                  ///< move to add a gradient to the accumulated one; 0: it adds
  double offload = 0;  ///< share of the activations that the host keeps between F and B, 0 to 1
  Launch launch = Launch::Asynchronous;
  bool fused_kernels = true;  ///< norms, dropouts and residuals in one kernel each
  AttentionKernel attention = AttentionKernel::Best;
  bool small_gathers = false;     ///< the tensor group gathers 8-bit operands, not 16-bit ones
  bool weight_casts = false;      ///< weights are cast to 8 bits in each forward, not once a step
  bool dispatch_once = false;     ///< a token crosses to a node once, whatever experts it has there
                                  ///< (DeepEP, HybridEP)
  bool fused_experts = false;     ///< sorting is part of the dispatch, activation and cast of
                                  ///< experts part of their products
  bool fused_loss = true;         ///< softmax of the loss in one kernel per direction
  bool fused_projections = true;  ///< queries, keys, values in one product; a gate's halves
  bool eager = false;             ///< norms, rotation, gate and loss as a framework's single
                                  ///< operations, with their 32-bit intermediates
  bool recompute_communication = true;  ///< a recomputed layer repeats its collectives
  bool recompute_last_product = true;   ///< nothing needs its output; PyTorch's checkpoints stop
                                        ///< before it, Megatron's do not
  bool update_barrier = true;  ///< the update waits for all ranks (norm of the gradient); without
                               ///< it (Qi et al. 2024, section 4) a rank's next step follows its
                               ///< last operation, and a step takes the longest span of a rank

  bool operator==(const TrainingPlan&) const = default;
};

}  // namespace pipecast
