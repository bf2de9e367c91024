#include <algorithm>

#include "schedules/building.hpp"
#include "schedules/catalogue.hpp"

namespace pipecast {
namespace {

/// One rank of the V: chunk 0 on the way down, chunk 1 on the way back. Counts each kind per chunk,
/// so that "the next forward of chunk 1" needs no index. Operations of microbatches that do not
/// exist are left out: the construction is for at least 2P−1 of them.
class VRank {
 public:
  VRank(const Shape& shape, int rank)
      : microbatches_(shape.microbatches), stages_{rank, 2 * shape.ranks - 1 - rank} {
    ops_.reserve(6 * static_cast<std::size_t>(microbatches_));
  }

  void put(OpKind kind, int chunk) {
    const int microbatch = next_[chunk][static_cast<int>(kind)]++;
    if (microbatch < microbatches_) ops_.push_back(make_op(kind, stages_[chunk], microbatch));
  }
  void forward_of(int chunk) { put(OpKind::Forward, chunk); }
  void input_of(int chunk) { put(OpKind::BackwardInput, chunk); }
  void weight_of(int chunk) { put(OpKind::BackwardWeight, chunk); }
  int weights_done(int chunk) const { return next_[chunk][int(OpKind::BackwardWeight)]; }
  int forwards_done(int chunk) const { return next_[chunk][int(OpKind::Forward)]; }

  std::vector<Op> take() { return std::move(ops_); }

 private:
  int microbatches_;
  int stages_[2];
  int next_[2][4] = {};  ///< [chunk][kind]
  std::vector<Op> ops_;
};

void warm_up(VRank& line, int ranks, int rank) {
  for (int i = 0; i < 2 * (ranks - rank) - 1; ++i) line.forward_of(0);
  for (int i = 0; i < rank; ++i) {
    line.forward_of(1);
    line.forward_of(0);
  }
  for (int i = 0; i < ranks - rank; ++i) {
    line.forward_of(1);
    line.input_of(1);
    line.weight_of(1);
  }
}

void steady(VRank& line, int microbatches) {
  while (line.forwards_done(1) < microbatches || line.forwards_done(0) < microbatches) {
    if (line.forwards_done(0) < microbatches) line.forward_of(0);
    line.input_of(0);
    line.weight_of(0);
    line.forward_of(1);
    line.input_of(1);
    line.weight_of(1);
  }
}

void cool_down(VRank& line, int microbatches, int ranks, int rank) {
  for (int i = 0; i < rank; ++i) {
    line.input_of(0);
    line.input_of(1);
  }
  for (int i = 0; i < ranks - rank; ++i) {
    line.input_of(0);
    line.weight_of(0);
  }
  while (line.weights_done(1) < microbatches) line.weight_of(1);
  while (line.weights_done(0) < microbatches) line.weight_of(0);
}

Diagnostics check_zbv(const ScheduleRequest& request) {
  return require_chunks("zbv", request.shape, 2, "a V");
}

Result<Program> generate_zbv(const ScheduleRequest& request) {
  const Shape& shape = request.shape;
  const int microbatches = std::max(shape.microbatches, 2 * shape.ranks - 1);
  Program program = empty_program(shape, zigzag_placement(shape));
  for (int rank = 0; rank < shape.ranks; ++rank) {
    VRank line(shape, rank);
    warm_up(line, shape.ranks, rank);
    steady(line, microbatches);
    cool_down(line, microbatches, shape.ranks, rank);
    program.ranks[static_cast<std::size_t>(rank)] = line.take();
  }
  return program;
}

}  // namespace

ScheduleInfo zbv() {
  return {.name = "zbv",
          .summary =
              "two chunks in a V, backward split: no bubble in the span of a rank for equal "
              "F, I, W and 2P − 1 microbatches, at the memory of 1F1B",
          .provenance = "Qi et al. 2024 (zero bubble), order of PyTorch's ScheduleZBVZeroBubble",
          .backward = BackwardKind::Split,
          .default_chunks = 2,
          .fields = {},
          .check = check_zbv,
          .generate = generate_zbv,
          .placement = on_zigzag};
}

}  // namespace pipecast
