#pragma once
#include <string_view>

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

/// A program with an empty list per rank.
Program empty_program(const Shape& shape, Placement placement);

/// Infeasible unless the shape has one chunk per rank.
Diagnostics require_one_chunk(std::string_view schedule, const Shape& shape);

/// "12 or 16": the multiples of `step` next to `value`, none below `step`.
std::string nearest_multiples(int value, int step);

}  // namespace pipecast
