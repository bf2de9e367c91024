#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "schedules/building.hpp"
#include "schedules/catalogue.hpp"

namespace pipecast {
namespace {

/// One of the two flows of microbatches through a rank.
struct Flow {
  int stage;
  int first_microbatch;
};

/// A rank of the V, or of one half of the bidirectional pipeline, which is the same construction:
/// `ranks` on the way, `microbatches` per flow. Flow 0 enters at rank 0 and comes by first, flow 1
/// is on its way back (or comes from the other end).
class DualRank {
 public:
  DualRank(Flow first, Flow second, int ranks, int rank, int microbatches)
      : flows_{first, second}, ranks_(ranks), rank_(rank), microbatches_(microbatches) {
    ops_.reserve(6 * static_cast<std::size_t>(microbatches));
  }

  std::vector<Op> build() {
    const int to_the_end = ranks_ - 1 - rank_;
    for (int i = 0; i < 2 * to_the_end; ++i) put(next_forward(0));
    for (int i = 0; i < rank_ + 1; ++i) {
      put(next_forward(0));
      put(next_forward(1));
    }
    for (int i = 0; i < to_the_end; ++i) {
      put_input(1);
      put_weight();
      put(next_forward(1));
    }
    overlap(microbatches_ - 2 * ranks_ + rank_ + 1);
    for (int i = 0; i < to_the_end; ++i) {
      put(next_backward(1));
      append_overlapped(ops_, next_forward(1), next_backward(0));
    }
    drain();
    for (int i = 0; i < to_the_end; ++i) {
      put_weight();
      put_input(0);
    }
    for (int i = 0; i < rank_ + 1; ++i) put_weight();
    return std::move(ops_);
  }

 private:
  void overlap(int times) {
    const bool last_rank = rank_ == ranks_ - 1;
    for (int i = 0; i < times; ++i) {
      if (i == 0 && last_rank) {
        put(next_forward(0));
        put(next_backward(1));
      } else {
        append_overlapped(ops_, next_forward(0), next_backward(1));
      }
      append_overlapped(ops_, next_forward(1), next_backward(0));
    }
  }

  /// Backwards of both flows; half-way through they begin to leave their weight gradients for the
  /// end.
  void drain() {
    const int times = rank_ + 1;
    bool split = false;
    for (int i = 0; i < times; ++i) {
      for (const int flow : {1, 0}) {
        if (i == times / 2 && flow == rank_ % 2) split = true;
        if (split)
          put_input(flow);
        else
          put(next_backward(flow));
      }
    }
  }

  void put(const Op& op) { ops_.push_back(op); }
  Op next_forward(int flow) { return numbered(OpKind::Forward, flow, forwards_[flow]++); }
  Op next_backward(int flow) { return numbered(OpKind::BackwardFull, flow, backwards_[flow]++); }
  void put_input(int flow) {
    put(numbered(OpKind::BackwardInput, flow, backwards_[flow]++));
    waiting_.push_back(ops_.back());
  }
  void put_weight() {
    Op weight = waiting_[weights_++];
    weight.kind = OpKind::BackwardWeight;
    put(weight);
  }
  Op numbered(OpKind kind, int flow, int number) const {
    return make_op(kind, flows_[flow].stage, flows_[flow].first_microbatch + number);
  }

  Flow flows_[2];
  int ranks_;
  int rank_;
  int microbatches_;
  int forwards_[2] = {};
  int backwards_[2] = {};
  std::vector<Op> waiting_;  ///< input gradients whose weight gradients come later, oldest first
  std::size_t weights_ = 0;
  std::vector<Op> ops_;
};

Diagnostics check_dualpipe_v(const ScheduleRequest& request) {
  Diagnostics faults = require_chunks("dualpipe-v", request.shape, 2, "a V");
  const int least = 2 * request.shape.ranks;
  if (request.shape.microbatches < least)
    faults.push_back(infeasible("dualpipe-v needs two microbatches per rank, there are " +
                                    std::to_string(request.shape.microbatches) + " for " +
                                    std::to_string(request.shape.ranks) + " ranks",
                                "set microbatches to " + std::to_string(least) + " or more"));
  return faults;
}

Result<Program> generate_dualpipe_v(const ScheduleRequest& request) {
  const Shape& shape = request.shape;
  Program program = empty_program(shape, zigzag_placement(shape));
  for (int rank = 0; rank < shape.ranks; ++rank)
    program.ranks[static_cast<std::size_t>(rank)] =
        DualRank({rank, 0}, {2 * shape.ranks - 1 - rank, 0}, shape.ranks, rank, shape.microbatches)
            .build();
  return program;
}

Diagnostics check_dualpipe(const ScheduleRequest& request) {
  const Shape& shape = request.shape;
  Diagnostics faults = require_one_chunk("dualpipe", shape);
  if (shape.ranks % 2 != 0)
    faults.push_back(infeasible(
        "dualpipe folds an even number of ranks, there are " + std::to_string(shape.ranks),
        "set ranks to " + nearest_multiples(shape.ranks, 2)));
  const int least = 2 * shape.ranks;
  if (shape.microbatches % 2 != 0 || shape.microbatches < least)
    faults.push_back(infeasible(
        "dualpipe needs an even number of microbatches (half go each way), at least two per rank; "
        "there are " +
            std::to_string(shape.microbatches) + " for " + std::to_string(shape.ranks) + " ranks",
        "set microbatches to " + (shape.microbatches < least
                                      ? std::to_string(least) + " or more"
                                      : nearest_multiples(shape.microbatches, 2))));
  return faults;
}

/// The first half of the microbatches runs from rank 0 up, the second from the last rank down.
Placement two_way_placement(const Shape& shape) {
  Placement placement = loop_placement(shape);
  for (int stage = 0; stage < shape.ranks; ++stage)
    placement.rank_of.push_back({shape.ranks - 1 - stage});
  for (int microbatch = 0; microbatch < shape.microbatches; ++microbatch)
    placement.direction_of.push_back(microbatch < shape.microbatches / 2 ? 0 : 1);
  return placement;
}

Result<Program> generate_dualpipe(const ScheduleRequest& request) {
  const Shape& shape = request.shape;
  const int half = shape.microbatches / 2;
  Program program = empty_program(shape, two_way_placement(shape));
  for (int rank = 0; rank < shape.ranks; ++rank) {
    Flow near{rank, 0};
    Flow far{shape.ranks - 1 - rank, half};
    const int depth = std::min(rank, shape.ranks - 1 - rank);
    if (depth != rank) std::swap(near, far);
    program.ranks[static_cast<std::size_t>(rank)] =
        DualRank(near, far, shape.ranks / 2, depth, half).build();
  }
  return program;
}

}  // namespace

ScheduleInfo dualpipe() {
  return {
      .name = "dualpipe",
      .summary =
          "microbatches from both ends at once, forward and backward of opposite flows "
          "overlapped; every rank holds two stages",
      .provenance = "DeepSeek-AI 2024 (DeepSeek-V3), deepseek-ai/DualPipe",
      .backward = BackwardKind::Split,
      .default_chunks = 1,
      .fields = {},
      .check = check_dualpipe,
      .generate = generate_dualpipe,
      .placement = [](const ScheduleRequest& request) { return two_way_placement(request.shape); }};
}

ScheduleInfo dualpipe_v() {
  return {.name = "dualpipe-v",
          .summary =
              "DualPipe cut in half: one flow on a V of two chunks, overlapped pairs, one "
              "copy of the weights",
          .provenance = "deepseek-ai/DualPipe's DualPipeV; PyTorch's ScheduleDualPipeV",
          .backward = BackwardKind::Split,
          .default_chunks = 2,
          .fields = {},
          .check = check_dualpipe_v,
          .generate = generate_dualpipe_v,
          .placement = on_zigzag};
}

}  // namespace pipecast
