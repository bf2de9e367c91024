#pragma once
#include <algorithm>

#include "schedules/building.hpp"

namespace pipecast {

/// Which chunk and microbatch a rank computes as its k-th forward or backward when chunks are
/// visited in groups of microbatches: for each group of `group` consecutive microbatches (the last
/// may be shorter), for chunk 0 … v−1, for each microbatch of the group. Backwards visit the chunks
/// the other way round. This is Megatron-Core's schedule table and PyTorch's index arithmetic.
struct LoopedOrder {
  Shape shape;
  int group = 1;

  struct Visit {
    int chunk;
    int microbatch;
  };

  /// O(1).
  Visit visit(int index) const {
    const int per_group = group * shape.chunks;
    const int first = index / per_group * group;
    const int size = std::min(group, shape.microbatches - first);
    const int within = index % per_group;
    return {within / size, first + within % size};
  }
  int visits() const { return shape.chunks * shape.microbatches; }

  Op forward_op(int rank, int index) const {
    const Visit next = visit(index);
    return forward(next.chunk * shape.ranks + rank, next.microbatch);
  }
  /// `kind` is one of the backward kinds.
  Op backward_op(OpKind kind, int rank, int index) const {
    const Visit next = visit(index);
    return make_op(kind, (shape.chunks - 1 - next.chunk) * shape.ranks + rank, next.microbatch);
  }
};

/// Microbatches per round of PyTorch's interleaved classes: m div max(1, m div P). It is P when P
/// divides m.
inline int round_size(const Shape& shape) {
  return shape.microbatches / std::max(1, shape.microbatches / shape.ranks);
}

/// PyTorch's constraint m mod max(1, m div P) = 0, with the nearest m that satisfy it.
Diagnostics require_whole_rounds(std::string_view schedule, const Shape& shape);

}  // namespace pipecast
