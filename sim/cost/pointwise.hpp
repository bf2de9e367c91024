#pragma once
#include "sim/cost/training_plan.hpp"
#include "sim/cost/unit_builder.hpp"

namespace pipecast {

/// Memory-bound kernels between the products, as bytes they stream. Fused, each is one kernel per
/// direction. Eager (TrainingPlan::eager), each is the chain of operations that PyTorch runs
/// without a compiler, with its 32-bit intermediates; counted from the operations themselves.

/// A norm over `values` inputs. Eager RMSNorm: to 32 bits, square, mean, scale, to 16 bits, weight.
/// LayerNorm is one kernel of the framework either way.
void add_norm(UnitBuilder& unit, const TrainingPlan& plan, double values);
/// Rotary positions of `values` of queries and keys. Eager: in 32-bit complex numbers.
void add_rotation(UnitBuilder& unit, const TrainingPlan& plan, double values);
/// The gate of a gated feed-forward as two operations.
void add_eager_gate(UnitBuilder& unit, double values);
/// Keys and values repeated for the heads that share them; the result copied into token order.
void add_eager_copies(UnitBuilder& unit, const TrainingPlan& plan);
/// Softmax and loss of `logits`: one kernel per direction; operation by operation as Megatron's
/// vocabulary-parallel loss (TrainingPlan::fused_loss false), or as PyTorch's (eager).
void add_loss(UnitBuilder& unit, const TrainingPlan& plan, double logits);

}  // namespace pipecast
