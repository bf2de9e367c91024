#pragma once
#include "sim/cost/layer_time.hpp"

namespace pipecast {

/// Adds operations to the passes of a layer, each with its seconds on the device.
class UnitBuilder {
 public:
  UnitBuilder(const TrainingPlan& plan, const DeviceModel& device, const ClusterLinks& links);

  /// Tokens of a microbatch that the device works on, and the same where sequence parallelism
  /// cuts them over the tensor group.
  double tokens() const { return tokens_; }
  double cut_tokens() const { return cut_tokens_; }

  /// A linear layer: all three products, with the casts an 8- or 4-bit precision needs.
  void linear(double m, double k, double n, double groups = 1);
  /// The same in 16 bits whatever the precision (head, router).
  void linear_16(double m, double k, double n);
  /// A kernel that streams bytes: in the forward and in the input gradient.
  void stream(double forward_bytes, double input_bytes);
  /// Tokens put into another order, forward and back.
  void permutation(double bytes);
  /// The attention core, fused or as products and softmax; also what recomputing it costs.
  void attention();
  /// A pair of collectives around a block of linear layers: gather before, scatter after.
  void tensor_block();
  void context_exchange();
  void expert_exchange(double bytes);
  void shards(double parameters, const GroupLink& link);

  PassSeconds core() const { return core_; }
  /// Launch gaps added, exposure settled.
  UnitSeconds finish();

 private:
  void product(PassSeconds& pass, const GemmShape& shape, GemmPass which, MatrixClass matrices);
  void cast(PassSeconds& pass, double values);
  /// Adds a gradient of `parameters` values to the accumulated one, unless the product does it.
  void accumulate(double parameters);
  void flash(double flops);
  void unfused(double flops);
  void unfused_scores(double entries, double values);
  void add_memory(PassSeconds& pass, double bytes);
  void settle(PassSeconds& pass) const;

  const TrainingPlan& plan_;
  const DeviceModel& device_;
  const ClusterLinks& links_;
  double tokens_;
  double cut_tokens_;
  UnitSeconds unit_;
  PassSeconds core_;  ///< forward of the attention core
};

}  // namespace pipecast
