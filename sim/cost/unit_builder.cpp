#include "sim/cost/unit_builder.hpp"

#include <algorithm>

#include "sim/cost/ulysses.hpp"

namespace pipecast {
namespace {

/// Backward of a fused attention kernel: five products for the forward's two.
constexpr double kBackwardOfAttention = 2.5;
constexpr double kElement = 2;

void scale_tensor(PassSeconds& pass, double factor) {
  pass.tensor_s *= factor;
  pass.tensor.bytes *= factor;
  pass.tensor.alone_s *= factor;
}

}  // namespace

UnitBuilder::UnitBuilder(const TrainingPlan& plan, const DeviceModel& device,
                         const ClusterLinks& links)
    : plan_(plan), device_(device), links_(links) {
  const ParallelLayout& layout = plan.layout;
  tokens_ = double{1} * layout.sequence * layout.microbatch_size / layout.context;
  cut_tokens_ = layout.sequence_parallel ? tokens_ / layout.tensor : tokens_;
}

void UnitBuilder::product(PassSeconds& pass, const GemmShape& shape, GemmPass which,
                          MatrixClass matrices) {
  const GemmTime time = gemm_time(device_, shape, which, matrices);
  pass.matmul_s += time.seconds;
  pass.flops += shape.flops();
  pass.kernels += 1;
  if (!time.from_table) ++pass.table_misses;
}

void UnitBuilder::accumulate(double parameters) {
  if (plan_.accumulation_bytes > 0) add_memory(unit_.weight, plan_.accumulation_bytes * parameters);
}

void UnitBuilder::add_memory(PassSeconds& pass, double bytes) {
  pass.memory_s += memory_seconds(device_, bytes);
  pass.kernels += 1;
}

/// An operand is read in 16 bits, and written small twice: once as it lies, once transposed.
void UnitBuilder::cast(PassSeconds& pass, double values) {
  switch (plan_.precision) {
    case Precision::Bf16:
    case Precision::Fp16:
      return;
    case Precision::Fp8:
      // The scale is that of earlier steps: one pass over the operand.
      add_memory(pass, values * (kElement + 2));
      return;
    case Precision::Fp8Blockwise:
    case Precision::Mxfp8:
      // The scale of a block is found first: the operand is read for each direction of blocks.
      add_memory(pass, values * (2 * kElement + 2));
      return;
    case Precision::Nvfp4:
      // Random Hadamard transform, a scale per block and one per tensor: one more pass.
      add_memory(pass, values * (3 * kElement + 1.125));
      return;
  }
}

void UnitBuilder::linear(double m, double k, double n, double groups, Casts casts) {
  const MatrixClass matrices = matrix_class(plan_.precision);
  const bool aligned = rows_aligned(k) && rows_aligned(n);
  PassSeconds& forward = products_.emplace_back();
  product(forward, {m, k, n, groups, aligned}, GemmPass::Forward, matrices);
  if (casts == Casts::Own) cast(forward, m * k * groups);
  if (plan_.weight_casts) cast(forward, k * n * groups);
  unit_.forward += forward;
  product(unit_.input, {m, n, k, groups, aligned}, GemmPass::InputGradient, matrices);
  product(unit_.weight, {k, m, n, groups, aligned}, GemmPass::WeightGradient, matrices);
  accumulate(k * n * groups);
  if (casts == Casts::Own) cast(unit_.input, m * n * groups);
  if (plan_.fused_kernels || !plan_.model.linear_bias) return;
  // The bias is added by a kernel of its own, its gradient is a sum over the tokens.
  add_memory(unit_.forward, 2 * kElement * m * n * groups);
  add_memory(unit_.weight, kElement * m * n * groups);
}

void UnitBuilder::linear_16(double m, double k, double n) {
  const bool aligned = rows_aligned(k) && rows_aligned(n);
  product(unit_.forward, {m, k, n, 1, aligned}, GemmPass::Forward, MatrixClass::Sixteen);
  product(unit_.input, {m, n, k, 1, aligned}, GemmPass::InputGradient, MatrixClass::Sixteen);
  product(unit_.weight, {k, m, n, 1, aligned}, GemmPass::WeightGradient, MatrixClass::Sixteen);
  accumulate(k * n);
}

void UnitBuilder::stream(double forward_bytes, double input_bytes) {
  add_memory(unit_.forward, forward_bytes);
  if (input_bytes > 0) add_memory(unit_.input, input_bytes);
}

void UnitBuilder::permutation(double bytes) {
  for (PassSeconds* pass : {&unit_.forward, &unit_.input}) {
    pass->memory_s += permutation_seconds(device_, bytes);
    pass->kernels += 1;
  }
}

void UnitBuilder::flash(double flops) {
  const ParallelLayout& layout = plan_.layout;
  const double heads = double{1} * plan_.model.heads / layout.tensor;
  const AttentionShape shape{heads * tokens_, double{1} * layout.sequence,
                             double{1} * plan_.model.query_width() / plan_.model.heads,
                             double{1} * plan_.model.value_width() / plan_.model.heads,
                             plan_.attention};
  core_.attention_s += attention_seconds(device_, flops / 2, shape, AttentionPass::Forward);
  core_.flops += flops / 2;
  core_.kernels += 1;
  const double backward = kBackwardOfAttention * flops / 2;
  unit_.input.attention_s += attention_seconds(device_, backward, shape, AttentionPass::Backward);
  unit_.input.flops += backward;
  unit_.input.kernels += 2;
}

/// Scores, softmax, dropout and the weighted sum as kernels of their own, the whole square.
void UnitBuilder::unfused(double flops) {
  const ParallelLayout& layout = plan_.layout;
  const double heads = double{1} * plan_.model.heads / layout.tensor;
  const double batches = heads * layout.microbatch_size;
  const double rows = double{1} * layout.sequence / layout.context;
  const double width = double{1} * plan_.model.query_width() / plan_.model.heads;
  const GemmShape scores{rows, width, double(layout.sequence), batches, rows_aligned(width)};
  const GemmShape sum{rows, double(layout.sequence), width, batches, rows_aligned(width)};
  for (const GemmShape& shape : {scores, sum}) {
    core_.attention_s += gemm_time(device_, shape, GemmPass::Forward, MatrixClass::Sixteen).seconds;
    unit_.input.attention_s +=
        2 * gemm_time(device_, shape, GemmPass::InputGradient, MatrixClass::Sixteen).seconds;
    core_.kernels += 1;
    unit_.input.kernels += 2;
  }
  core_.flops += flops;
  unit_.input.flops += 2 * flops;
  const double entries = batches * rows * layout.sequence;
  add_memory(core_, entries * 2 * kElement);
  add_memory(unit_.input, entries * 3 * kElement);
  if (!plan_.fused_kernels) unfused_scores(entries, batches * rows * width);
  if (!plan_.kernels.dropout) return;
  add_memory(core_, entries * (2 * kElement + 1));
  add_memory(unit_.input, entries * (2 * kElement + 1));
}

/// Scale and mask as passes over the scores; queries, keys, values and the result copied between
/// the order of tokens and that of heads.
void UnitBuilder::unfused_scores(double entries, double values) {
  for (PassSeconds* pass : {&core_, &unit_.input}) {
    for (int scale_and_mask = 0; scale_and_mask < 2; ++scale_and_mask)
      add_memory(*pass, entries * 2 * kElement);
    for (int copy = 0; copy < 4; ++copy) add_memory(*pass, values * 2 * kElement);
  }
}

void UnitBuilder::attention() {
  const ParallelLayout& layout = plan_.layout;
  const double widths = plan_.model.query_width() + plan_.model.value_width();
  const double flops = 2 * tokens_ * layout.sequence * widths / layout.tensor;
  if (plan_.kernels.fused_attention)
    flash(plan_.model.causal ? flops : 2 * flops);  // it skips the masked half, if there is one
  else
    unfused(flops);
  unit_.forward += core_;
}

void UnitBuilder::tensor_block() {
  if (plan_.layout.tensor == 1) return;
  const double whole = kElement * tokens_ * plan_.model.hidden;
  // All-reduce, or reduce-scatter and all-gather: the same bytes, unless 8-bit operands are
  // gathered.
  const double gathered = whole / (plan_.small_gathers ? 2 : 1);
  const double scatter_s = gather_seconds(links_.tensor, whole);
  const double pair_s = scatter_s + gather_seconds(links_.tensor, gathered);
  for (PassSeconds* pass : {&unit_.forward, &unit_.input}) {
    pass->tensor_s += pair_s;
    pass->tensor += {whole + gathered, pair_s, 0};
  }
  scattered_back_s_ += scatter_s;
  unit_.forward.kernels += 2;
  unit_.input.kernels += 2;
}

void UnitBuilder::add_context(PassSeconds& pass, double bytes, double alone_s, double behind_s) {
  const double exposed_s = std::max(0.0, alone_s - behind_s);
  pass.context_s += exposed_s;
  pass.context += {bytes, alone_s, exposed_s > 0 ? alone_s - exposed_s : behind_s};
}

void UnitBuilder::context_exchange() {
  const ParallelLayout& layout = plan_.layout;
  if (layout.context == 1) return;
  const double heads = double{1} / layout.tensor;
  const double key_value =
      plan_.model.has_latent_attention()
          ? plan_.model.query_width() + plan_.model.value_width()
          : 2.0 * std::max(plan_.model.key_value_heads, layout.tensor) * plan_.model.head_width;
  const double whole = kElement * tokens_ * layout.context * key_value * heads;
  switch (plan_.communication.context) {
    case ContextExchange::Ring:
    case ContextExchange::Gather: {
      const double forward_s = gather_seconds(links_.context, whole);
      const bool behind = plan_.communication.context == ContextExchange::Ring;
      // Of the ring's steps all but the first run behind the attention of the step before.
      const double share = behind ? (layout.context - 1.0) / layout.context : 0;
      add_context(unit_.forward, whole, forward_s, share * core_.attention_s);
      add_context(unit_.input, 2 * whole, 2 * forward_s, share * unit_.input.attention_s);
      return;
    }
    case ContextExchange::Ulysses: {
      const double copies = ulysses_copies(layout, plan_.model);
      const double own =
          kElement * tokens_ * heads *
          (plan_.model.query_width() + copies * key_value + plan_.model.value_width());
      const double exchange_s = exchange_seconds(links_.context, own, 1);
      add_context(unit_.forward, own, exchange_s, 0);
      add_context(unit_.input, own, exchange_s, 0);
      return;
    }
  }
}

void UnitBuilder::expert_exchange(double bytes) {
  if (plan_.layout.expert == 1) return;
  const double crossing =
      plan_.dispatch_once ? crossing_share(links_.expert, plan_.model.experts.active) : 1;
  const double both_s = 2 * exchange_seconds(links_.expert, bytes, crossing);
  for (PassSeconds* pass : {&unit_.forward, &unit_.input}) {
    pass->expert_s += both_s;
    pass->expert += {2 * bytes * crossing, both_s, 0};
  }
  unit_.forward.kernels += 2;
  unit_.input.kernels += 2;
}

void UnitBuilder::shards(double parameters, const GroupLink& link) {
  if (plan_.layout.zero < 3) return;
  const double gather_s = gather_seconds(link, kElement * parameters);
  unit_.forward.shard_s += gather_s;
  unit_.input.shard_s += gather_s;
  unit_.weight.shard_s += gather_seconds(link, plan_.gradient_bytes * parameters);
}

void UnitBuilder::settle(PassSeconds& pass) const {
  pass.launch_s += pass.kernels * device_.kernel_gap_s;
  const double busy = pass.matmul_s + pass.attention_s + pass.memory_s + pass.launch_s;
  pass.launch_s += std::max(0.0, pass.kernels * device_.host_launch_s - busy);
  if (plan_.launch == Launch::Blocking) pass.launch_s += pass.kernels * device_.blocking_launch_s;
  if (plan_.communication.tensor == Exposure::Overlapped)
    // The last piece of a pipelined product has nothing to hide behind.
    pass.tensor_s = std::max(pass.tensor_s / 8, pass.tensor_s - pass.matmul_s);
  if (plan_.communication.expert == Exposure::Overlapped)
    pass.expert_s = std::max(0.0, pass.expert_s - busy);
  pass.tensor.behind_s = pass.tensor.alone_s - pass.tensor_s;
  pass.expert.behind_s = pass.expert_s > 0 ? pass.expert.alone_s - pass.expert_s : 0;
  if (pass.expert.alone_s > 0 && pass.expert_s == 0) pass.expert.behind_s = busy;
  if (plan_.communication.data == Exposure::Overlapped)
    pass.shard_s = std::max(0.0, pass.shard_s - busy);
}

/// Every second product but the last (nothing needs its output), all that is no product, and the
/// gathers that products need; what was scattered is kept.
PassSeconds UnitBuilder::alternate() const {
  PassSeconds pass = unit_.forward;
  pass += -1.0 * core_;
  for (std::size_t i = 0; i < products_.size(); ++i)
    if (i % 2 == 0 || i + 1 == products_.size()) pass += -1.0 * products_[i];
  scale_tensor(pass, 0.5);
  return pass;
}

PassSeconds UnitBuilder::computed_again(Recompute again) const {
  PassSeconds pass;
  switch (again) {
    case Recompute::None:
      return pass;
    case Recompute::Selective:
      // A fused kernel recomputes the scores by itself, in its backward.
      if (plan_.kernels.fused_attention) return pass;
      pass = core_;
      break;
    case Recompute::Full:
      pass = unit_.forward;
      if (!plan_.recompute_last_product && !products_.empty()) {
        pass += -1.0 * products_.back();
        scale_tensor(pass, 0.75);  // nor is what it would scatter
      }
      break;
    case Recompute::Alternate:
      pass = alternate();
      break;
  }
  pass.shard_s = 0;
  if (!plan_.recompute_communication) scale_tensor(pass, 0);
  settle(pass);
  return pass;
}

UnitSeconds UnitBuilder::finish(Recompute again) {
  unit_.recompute = computed_again(again);
  // Weights are gathered once for the whole backward; its weight half has the same time to hide it.
  settle(unit_.forward);
  // What several products add up to can be scattered only behind the last of them.
  const double unhidden = plan_.fused_projections ? 0 : scattered_back_s_;
  unit_.input.tensor_s -= unhidden;
  settle(unit_.input);
  unit_.input.tensor_s += unhidden;
  unit_.input.tensor.behind_s -= unhidden;
  settle(unit_.weight);
  return unit_;
}

}  // namespace pipecast
