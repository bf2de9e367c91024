#include "schedules/catalogue.hpp"
#include "schedules/looped_order.hpp"

namespace pipecast {
namespace {

/// Forwards before the first backward: (v−1)·group + 2(P−1−r), and no more than there are.
int warmup_forwards(const LoopedOrder& order, int rank) {
  const Shape& shape = order.shape;
  return std::min(order.visits(), (shape.chunks - 1) * order.group + 2 * (shape.ranks - 1 - rank));
}

Diagnostics check_interleaved(const ScheduleRequest& request) {
  return check_groups("interleaved-1f1b", request);
}

/// The warm-up forwards, then forward/backward pairs, then the backwards that remain.
Result<Program> generate_interleaved(const ScheduleRequest& request) {
  const LoopedOrder order = grouped_order(request);
  const int visits = order.visits();
  Program program = empty_program(request.shape, loop_placement(request.shape));
  for (int rank = 0; rank < request.shape.ranks; ++rank) {
    std::vector<Op>& ops = program.ranks[static_cast<std::size_t>(rank)];
    ops.reserve(2 * static_cast<std::size_t>(visits));
    const int warmup = warmup_forwards(order, rank);
    for (int index = 0; index < warmup; ++index) ops.push_back(order.forward_op(rank, index));
    for (int index = 0; index < visits; ++index) {
      if (warmup + index < visits) ops.push_back(order.forward_op(rank, warmup + index));
      ops.push_back(order.backward_op(OpKind::BackwardFull, rank, index));
    }
  }
  return program;
}

Diagnostics check_combined(const ScheduleRequest& request) {
  return check_groups("combined-1f1b", request);
}

/// One warm-up forward more, so that the forward and the backward of a pair are of different
/// microbatches and can be issued as one.
Result<Program> generate_combined(const ScheduleRequest& request) {
  const LoopedOrder order = grouped_order(request);
  const int visits = order.visits();
  Program program = empty_program(request.shape, loop_placement(request.shape));
  for (int rank = 0; rank < request.shape.ranks; ++rank) {
    std::vector<Op>& ops = program.ranks[static_cast<std::size_t>(rank)];
    ops.reserve(2 * static_cast<std::size_t>(visits));
    const int warmup = std::min(visits, warmup_forwards(order, rank) + 1);
    for (int index = 0; index < warmup; ++index) ops.push_back(order.forward_op(rank, index));
    for (int index = 0; index < visits; ++index) {
      const Op gradient = order.backward_op(OpKind::BackwardFull, rank, index);
      if (warmup + index < visits)
        append_overlapped(ops, order.forward_op(rank, warmup + index), gradient);
      else
        ops.push_back(gradient);
    }
  }
  return program;
}

}  // namespace

ScheduleInfo interleaved_1f1b() {
  return {.name = "interleaved-1f1b",
          .summary =
              "1F1B over v chunks per rank: the bubble shrinks to 1/v, more transfers and "
              "more activations",
          .provenance =
              "Narayanan et al. 2021; order of Megatron-Core and PyTorch's ScheduleInterleaved1F1B",
          .backward = BackwardKind::Full,
          .default_chunks = 2,
          .fields = group_fields(),
          .check = check_interleaved,
          .generate = generate_interleaved};
}

ScheduleInfo combined_1f1b() {
  return {.name = "combined-1f1b",
          .summary =
              "interleaved 1F1B with one more warm-up forward; each steady pair is one "
              "overlapped operation",
          .provenance = "Megatron-Core's overlap_moe_expert_parallel_comm",
          .backward = BackwardKind::Full,
          .default_chunks = 2,
          .fields = group_fields(),
          .check = check_combined,
          .generate = generate_combined};
}

}  // namespace pipecast
