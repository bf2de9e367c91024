#pragma once
#include "sim/cost/cluster_links.hpp"
#include "sim/cost/device_model.hpp"
#include "sim/cost/training_plan.hpp"

namespace pipecast {

/// What a pass exchanges inside one group: PassSeconds has the exposed part of its seconds.
struct GroupUse {
  double bytes = 0;     ///< of all collectives, as nccl-tests counts each
  double alone_s = 0;   ///< when nothing else is on the links
  double behind_s = 0;  ///< computation that it may run beside: all but the exposed part where
                        ///< there is one

  GroupUse& operator+=(const GroupUse& other);
  bool operator==(const GroupUse&) const = default;
};

/// Seconds of one pass by what they are spent on, and the work in it.
struct PassSeconds {
  double matmul_s = 0;     ///< products of linear layers
  double attention_s = 0;  ///< the attention core
  double memory_s = 0;     ///< norms, activations, residuals, casts, softmax of the loss
  double launch_s = 0;     ///< gaps between kernels, waiting for the host
  double tensor_s = 0;     ///< exposed communication of the tensor group
  double context_s = 0;    ///< … of the context group
  double expert_s = 0;     ///< … of the expert group
  double shard_s = 0;      ///< … gathering sharded weights, scattering their gradients
  double host_s = 0;       ///< … copying activations to the host or back
  double flops = 0;        ///< arithmetic in matmul_s and attention_s
  double kernels = 0;
  GroupUse tensor;
  GroupUse context;
  GroupUse expert;
  int table_misses = 0;  ///< products for which no measured shape was near

  double total() const {
    return matmul_s + attention_s + memory_s + launch_s + tensor_s + context_s + expert_s +
           shard_s + host_s;
  }
  PassSeconds& operator+=(const PassSeconds& other);
  friend PassSeconds operator*(double factor, const PassSeconds& pass);
  friend PassSeconds operator+(PassSeconds a, const PassSeconds& b) { return a += b; }
  bool operator==(const PassSeconds&) const = default;
};

/// Forward, gradient of the input, gradient of the weights, and what is computed again before the
/// backward.
struct UnitSeconds {
  PassSeconds forward;
  PassSeconds input;
  PassSeconds weight;
  PassSeconds recompute;

  UnitSeconds& operator+=(const UnitSeconds& other);
  friend UnitSeconds operator*(double factor, const UnitSeconds& unit);
  bool operator==(const UnitSeconds&) const = default;
};

/// One decoder layer on one device, one microbatch. 24·s·b·h² + 4·s²·b·h FLOPs forward for GPT
/// (÷ tensor), the same for the input gradient with attention twice, the matrices once for the
/// weight gradient; attention is halved where a fused kernel skips the masked half. Recompute as
/// the layout asks for a layer that is recomputed (`recomputed`), else nothing.
UnitSeconds layer_seconds(const TrainingPlan& plan, const DeviceModel& device,
                          const ClusterLinks& links, LayerKind kind, bool recomputed);

/// Embedding look-up; final norm, head and loss over a vocabulary cut over the tensor group; one
/// multi-token prediction module (a layer of the last kind, its projection, and the shared head).
UnitSeconds embedding_seconds(const TrainingPlan& plan, const DeviceModel& device,
                              const ClusterLinks& links);
UnitSeconds head_seconds(const TrainingPlan& plan, const DeviceModel& device,
                         const ClusterLinks& links);
UnitSeconds mtp_seconds(const TrainingPlan& plan, const DeviceModel& device,
                        const ClusterLinks& links);

}  // namespace pipecast
