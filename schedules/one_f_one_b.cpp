#include <algorithm>

#include "schedules/building.hpp"
#include "schedules/catalogue.hpp"

namespace pipecast {
namespace {

Diagnostics check_1f1b(const ScheduleRequest& request) {
  return require_one_chunk("1f1b", request.shape);
}

/// min(m, P−1−r) warm-up forwards, then forward/backward pairs, then the remaining backwards.
Result<Program> generate_1f1b(const ScheduleRequest& request) {
  const int microbatches = request.shape.microbatches;
  Program program = empty_program(request.shape, loop_placement(request.shape));
  for (int rank = 0; rank < request.shape.ranks; ++rank) {
    std::vector<Op>& ops = program.ranks[static_cast<std::size_t>(rank)];
    const int warmup = std::min(microbatches, request.shape.ranks - 1 - rank);
    int next_forward = 0;
    int next_backward = 0;
    while (next_forward < warmup) ops.push_back(forward(rank, next_forward++));
    while (next_forward < microbatches) {
      ops.push_back(forward(rank, next_forward++));
      ops.push_back(backward(rank, next_backward++));
    }
    while (next_backward < microbatches) ops.push_back(backward(rank, next_backward++));
  }
  return program;
}

}  // namespace

ScheduleInfo one_f_one_b() {
  return {
      .name = "1f1b",
      .summary =
          "one forward, one backward in steady state; at most P − r microbatches alive on rank r",
      .provenance = "Narayanan et al. 2019/2021; order of PyTorch, Megatron-Core and DeepSpeed",
      .backward = BackwardKind::Full,
      .default_chunks = 1,
      .fields = {},
      .check = check_1f1b,
      .generate = generate_1f1b};
}

}  // namespace pipecast
