#include "schedules/catalogue.hpp"
#include "schedules/looped_order.hpp"

namespace pipecast {
namespace {

Diagnostics check_interleaved_zb(const ScheduleRequest& request) {
  return require_whole_rounds("interleaved-zb", request.shape);
}

/// (v−1)q + P−1−r warm-up forwards, then forward/input-gradient pairs; from the r-th input gradient
/// on, each is followed by the oldest pending weight gradient; the rest of those at the end.
Result<Program> generate_interleaved_zb(const ScheduleRequest& request) {
  const LoopedOrder order = rounds_order(request.shape);
  const int visits = order.visits();
  Program program = empty_program(request.shape, loop_placement(request.shape));
  for (int rank = 0; rank < request.shape.ranks; ++rank) {
    std::vector<Op>& ops = program.ranks[static_cast<std::size_t>(rank)];
    ops.reserve(3 * static_cast<std::size_t>(visits));
    const int warmup =
        std::min(visits, (request.shape.chunks - 1) * order.group + request.shape.ranks - 1 - rank);
    const auto weight = [&](int index) {
      return order.backward_op(OpKind::BackwardWeight, rank, index);
    };
    for (int index = 0; index < warmup; ++index) ops.push_back(order.forward_op(rank, index));
    for (int index = 0; index < visits; ++index) {
      if (warmup + index < visits) ops.push_back(order.forward_op(rank, warmup + index));
      ops.push_back(order.backward_op(OpKind::BackwardInput, rank, index));
      if (index >= rank) ops.push_back(weight(index - rank));
    }
    for (int index = std::max(0, visits - rank); index < visits; ++index)
      ops.push_back(weight(index));
  }
  return program;
}

}  // namespace

ScheduleInfo interleaved_zb() {
  return {
      .name = "interleaved-zb",
      .summary =
          "interleaved 1F1B with the backward split; rank r keeps r weight gradients for "
          "the cool-down",
      .provenance = "PyTorch's ScheduleInterleavedZeroBubble (ZB1P); equals zb-h1 with one chunk",
      .backward = BackwardKind::Split,
      .default_chunks = 2,
      .fields = {},
      .check = check_interleaved_zb,
      .generate = generate_interleaved_zb};
}

}  // namespace pipecast
