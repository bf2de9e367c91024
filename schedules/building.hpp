#pragma once
#include <algorithm>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schedules/schedule.hpp"

/// Small pieces that generators share.
namespace pipecast {

inline Op make_op(OpKind kind, int stage, int microbatch) {
  Op op;
  op.kind = kind;
  op.stage = {stage};
  op.microbatch = {microbatch};
  return op;
}
inline Op forward(int stage, int microbatch) { return make_op(OpKind::Forward, stage, microbatch); }
inline Op backward(int stage, int microbatch) {
  return make_op(OpKind::BackwardFull, stage, microbatch);
}
inline Op backward_input(int stage, int microbatch) {
  return make_op(OpKind::BackwardInput, stage, microbatch);
}
inline Op backward_weight(int stage, int microbatch) {
  return make_op(OpKind::BackwardWeight, stage, microbatch);
}

/// A forward and a backward issued as one cell.
inline void append_overlapped(std::vector<Op>& ops, Op first, const Op& second) {
  first.joined = true;
  ops.push_back(first);
  ops.push_back(second);
}

/// ScheduleInfo::placement of schedules on a V or a longer zigzag.
inline Placement on_zigzag(const ScheduleRequest& request) {
  return zigzag_placement(request.shape);
}

/// An operation and the time slot a construction gave it.
struct SlottedOp {
  std::int64_t slot;
  Op op;
};

/// The operations by slot; operations of one slot keep their order. O(n log n).
std::vector<Op> in_slot_order(std::vector<SlottedOp> slots);

/// A program with an empty list per rank.
Program empty_program(const Shape& shape, Placement placement);

/// Infeasible unless the shape has one chunk per rank.
Diagnostics require_one_chunk(std::string_view schedule, const Shape& shape);

/// Infeasible unless the shape has exactly `chunks` chunks per rank; `why` names the shape they
/// make.
Diagnostics require_chunks(std::string_view schedule, const Shape& shape, int chunks,
                           std::string_view why);

/// The bounds of a shape whose microbatches a schedule multiplies, into cuts or over steps.
Diagnostics require_units(std::string_view schedule, const Shape& shape, int per_microbatch);

/// "12 or 16": the multiples of `step` next to `value`, none below `step`.
std::string nearest_multiples(int value, int step);

/// "12 or 16": the closest number below and above `value` within [lowest, highest] that `valid`
/// accepts; empty when there is none. O(distance).
template <std::predicate<int> Valid>
std::string nearest_valid(int value, int lowest, int highest, Valid valid) {
  std::string text;
  for (int below = std::min(value - 1, highest); below >= lowest; --below) {
    if (!valid(below)) continue;
    text = std::to_string(below);
    break;
  }
  for (int above = std::max(value + 1, lowest); above <= highest; ++above) {
    if (!valid(above)) continue;
    return text.empty() ? std::to_string(above) : text + " or " + std::to_string(above);
  }
  return text;
}

}  // namespace pipecast
