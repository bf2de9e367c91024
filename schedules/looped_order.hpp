#pragma once
#include <algorithm>
#include <string_view>
#include <vector>

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

/// The parameter `group` of the schedules that Megatron-Core runs with
/// microbatch_group_size_per_vp_stage. 0 takes PyTorch's m div max(1, m div P), which is P when P
/// divides m.
std::vector<FieldInfo> group_fields();
LoopedOrder grouped_order(const ScheduleRequest& request);

/// Without a group PyTorch's constraint, m mod max(1, m div P) = 0; with one Megatron's,
/// P ≤ group ≤ m and a last group that is whole or at least P long.
Diagnostics check_groups(std::string_view schedule, const ScheduleRequest& request);

/// PyTorch's constraint and order alone, for its classes that take no group.
Diagnostics require_whole_rounds(std::string_view schedule, const Shape& shape);
LoopedOrder rounds_order(const Shape& shape);

}  // namespace pipecast
