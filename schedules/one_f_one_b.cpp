#include <algorithm>
#include <array>

#include "schedules/building.hpp"
#include "schedules/catalogue.hpp"

namespace pipecast {
namespace {

/// `per_rank_behind`·(P−1−r) warm-up forwards, then forward/backward pairs, then the remaining
/// backwards.
Program generate_pairs(const Shape& shape, int per_rank_behind) {
  const int microbatches = shape.microbatches;
  Program program = empty_program(shape, loop_placement(shape));
  for (int rank = 0; rank < shape.ranks; ++rank) {
    std::vector<Op>& ops = program.ranks[static_cast<std::size_t>(rank)];
    ops.reserve(2 * static_cast<std::size_t>(microbatches));
    const std::int64_t ahead = std::int64_t{per_rank_behind} * (shape.ranks - 1 - rank);
    const int warmup = static_cast<int>(std::min<std::int64_t>(microbatches, ahead));
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

Diagnostics check_1f1b(const ScheduleRequest& request) {
  return require_one_chunk("1f1b", request.shape);
}
Result<Program> generate_1f1b(const ScheduleRequest& request) {
  return generate_pairs(request.shape, 1);
}

struct EagerParams {
  int ahead = 1;
};

using EagerField = Field<EagerParams>;
const std::array kFields{EagerField{"ahead", &EagerParams::ahead,
                                    "warm-up forwards added for each later rank; each hides "
                                    "(F + B) / 2 of the delay of a message",
                                    0, kMaxMicrobatches}};

Diagnostics check_eager(const ScheduleRequest& request) {
  return require_one_chunk("eager-1f1b", request.shape);
}
Result<Program> generate_eager(const ScheduleRequest& request) {
  const EagerParams params = pipecast::bind<EagerParams>(kFields, request.params);
  return generate_pairs(request.shape, 1 + params.ahead);
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

ScheduleInfo eager_1f1b() {
  return {.name = "eager-1f1b",
          .summary =
              "1F1B with more warm-up forwards, so that transfers overlap with computation; "
              "2(P − r) − 1 microbatches alive on rank r",
          .provenance = "Zhuang et al. 2023 (cross-mesh resharding), eager-1F1B",
          .backward = BackwardKind::Full,
          .default_chunks = 1,
          .fields = describe<EagerParams>(kFields),
          .check = check_eager,
          .generate = generate_eager};
}

}  // namespace pipecast
