#include "schedules/building.hpp"
#include "schedules/catalogue.hpp"

namespace pipecast {
namespace {

/// The hand-made schedules of the zero-bubble paper: k·(P−1−r) warm-up forwards, then forward,
/// input gradient and, once k·r input gradients wait, the oldest weight gradient; the rest of the
/// weight gradients at the end. k is 1 for H1 and 2 for H2.
Program generate_hand_made(const Shape& shape, int k) {
  Program program = empty_program(shape, loop_placement(shape));
  for (int rank = 0; rank < shape.ranks; ++rank) {
    std::vector<Op>& ops = program.ranks[static_cast<std::size_t>(rank)];
    ops.reserve(3 * static_cast<std::size_t>(shape.microbatches));
    const int warmup = std::min(shape.microbatches, k * (shape.ranks - 1 - rank));
    const int deferred = k * rank;
    int next_forward = 0;
    int next_weight = 0;
    while (next_forward < warmup) ops.push_back(forward(rank, next_forward++));
    for (int microbatch = 0; microbatch < shape.microbatches; ++microbatch) {
      if (next_forward < shape.microbatches) ops.push_back(forward(rank, next_forward++));
      ops.push_back(backward_input(rank, microbatch));
      if (microbatch >= deferred) ops.push_back(backward_weight(rank, next_weight++));
    }
    while (next_weight < shape.microbatches) ops.push_back(backward_weight(rank, next_weight++));
  }
  return program;
}

Diagnostics check_h1(const ScheduleRequest& request) {
  return require_one_chunk("zb-h1", request.shape);
}
Result<Program> generate_h1(const ScheduleRequest& request) {
  return generate_hand_made(request.shape, 1);
}

Diagnostics check_h2(const ScheduleRequest& request) {
  return require_one_chunk("zb-h2", request.shape);
}
Result<Program> generate_h2(const ScheduleRequest& request) {
  return generate_hand_made(request.shape, 2);
}

}  // namespace

ScheduleInfo zb_h1() {
  return {.name = "zb-h1",
          .summary =
              "1F1B with the backward split; weight gradients fill the cool-down at the "
              "memory of 1F1B",
          .provenance =
              "Qi et al. 2024 (zero bubble), hand-made schedule H1; elf's zbh1, PyTorch's "
              "InterleavedZeroBubble with one chunk",
          .backward = BackwardKind::Split,
          .default_chunks = 1,
          .fields = {},
          .check = check_h1,
          .generate = generate_h1};
}

ScheduleInfo zb_h2() {
  return {.name = "zb-h2",
          .summary =
              "twice the warm-up of zb-h1: no bubble in the span of a rank from 2P − 1 "
              "microbatches on, at twice the memory",
          .provenance = "Qi et al. 2024 (zero bubble), hand-made schedule H2",
          .backward = BackwardKind::Split,
          .default_chunks = 1,
          .fields = {},
          .check = check_h2,
          .generate = generate_h2};
}

}  // namespace pipecast
