#include "schedules/catalogue.hpp"
#include "schedules/looped_order.hpp"

namespace pipecast {
namespace {

Program generate_forwards(const LoopedOrder& order) {
  Program program = empty_program(order.shape, loop_placement(order.shape));
  for (int rank = 0; rank < order.shape.ranks; ++rank) {
    std::vector<Op>& ops = program.ranks[static_cast<std::size_t>(rank)];
    ops.reserve(static_cast<std::size_t>(order.visits()));
    for (int index = 0; index < order.visits(); ++index)
      ops.push_back(order.forward_op(rank, index));
  }
  return program;
}

Diagnostics check_forward_only(const ScheduleRequest& request) {
  return require_one_chunk("forward-only", request.shape);
}
Result<Program> generate_forward_only(const ScheduleRequest& request) {
  return generate_forwards({request.shape, request.shape.microbatches});
}

Diagnostics check_forward_only_interleaved(const ScheduleRequest& request) {
  return check_groups("forward-only-interleaved", request);
}
Result<Program> generate_forward_only_interleaved(const ScheduleRequest& request) {
  return generate_forwards(grouped_order(request));
}

}  // namespace

ScheduleInfo forward_only() {
  return {.name = "forward-only",
          .summary = "inference: every microbatch once through the stages",
          .provenance = "Megatron-Core with forward_only; DeepSpeed's InferenceSchedule",
          .backward = BackwardKind::None,
          .default_chunks = 1,
          .fields = {},
          .check = check_forward_only,
          .generate = generate_forward_only};
}

ScheduleInfo forward_only_interleaved() {
  return {.name = "forward-only-interleaved",
          .summary = "inference over v chunks per rank, groups of microbatches chunk by chunk",
          .provenance = "Megatron-Core's interleaved pipelining with forward_only",
          .backward = BackwardKind::None,
          .default_chunks = 2,
          .fields = group_fields(),
          .check = check_forward_only_interleaved,
          .generate = generate_forward_only_interleaved};
}

}  // namespace pipecast
