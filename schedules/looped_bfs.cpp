#include "schedules/building.hpp"
#include "schedules/catalogue.hpp"

namespace pipecast {
namespace {

Diagnostics check_looped_bfs(const ScheduleRequest&) { return {}; }

/// Chunk by chunk the forwards of all microbatches, then from the last chunk back the backwards of
/// all microbatches, the youngest first.
Result<Program> generate_looped_bfs(const ScheduleRequest& request) {
  const Shape& shape = request.shape;
  Program program = empty_program(shape, loop_placement(shape));
  for (int rank = 0; rank < shape.ranks; ++rank) {
    std::vector<Op>& ops = program.ranks[static_cast<std::size_t>(rank)];
    ops.reserve(2 * static_cast<std::size_t>(shape.chunks * shape.microbatches));
    for (int stage = rank; stage < shape.stages(); stage += shape.ranks)
      for (int microbatch = 0; microbatch < shape.microbatches; ++microbatch)
        ops.push_back(forward(stage, microbatch));
    for (int stage = shape.stages() - shape.ranks + rank; stage >= 0; stage -= shape.ranks)
      for (int microbatch = shape.microbatches - 1; microbatch >= 0; --microbatch)
        ops.push_back(backward(stage, microbatch));
  }
  return program;
}

}  // namespace

ScheduleInfo looped_bfs() {
  return {.name = "looped-bfs",
          .summary =
              "GPipe over v chunks per rank, breadth first: all microbatches of a chunk "
              "before the next chunk",
          .provenance = "Lamy-Poirier 2023 (breadth-first); order of PyTorch's ScheduleLoopedBFS",
          .backward = BackwardKind::Full,
          .default_chunks = 2,
          .fields = {},
          .check = check_looped_bfs,
          .generate = generate_looped_bfs};
}

}  // namespace pipecast
