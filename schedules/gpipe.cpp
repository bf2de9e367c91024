#include "schedules/building.hpp"
#include "schedules/catalogue.hpp"

namespace pipecast {
namespace {

Diagnostics check_gpipe(const ScheduleRequest& request) {
  return require_one_chunk("gpipe", request.shape);
}

/// All forwards in order, then all backwards in the same order.
Result<Program> generate_gpipe(const ScheduleRequest& request) {
  Program program = empty_program(request.shape, loop_placement(request.shape));
  for (int rank = 0; rank < request.shape.ranks; ++rank) {
    std::vector<Op>& ops = program.ranks[static_cast<std::size_t>(rank)];
    for (int microbatch = 0; microbatch < request.shape.microbatches; ++microbatch)
      ops.push_back(forward(rank, microbatch));
    for (int microbatch = 0; microbatch < request.shape.microbatches; ++microbatch)
      ops.push_back(backward(rank, microbatch));
  }
  return program;
}

}  // namespace

ScheduleInfo gpipe() {
  return {.name = "gpipe",
          .summary = "all forwards, then all backwards; activations of every microbatch are held",
          .provenance = "Huang et al. 2019; order of PyTorch's ScheduleGPipe",
          .backward = BackwardKind::Full,
          .default_chunks = 1,
          .fields = {},
          .check = check_gpipe,
          .generate = generate_gpipe};
}

}  // namespace pipecast
