#pragma once
#include "sim/model/workload.hpp"

namespace pipecast {

/// What an operation does of a stage's forward, input gradient and weight gradient; nothing where
/// it computes none. Where the workload's first stage has an empty input gradient, its weight
/// gradient does both. `Part` is what adds up: seconds, or bytes and seconds of an exchange.
template <typename Part>
Part pass_of(const Workload& workload, const Op& op, const Part& forward, const Part& input,
             const Part& weight) {
  if (!is_compute(op.kind)) return {};
  if (op.kind == OpKind::Forward) return forward;
  const bool empty_input =
      workload.first_stage_input_gradient == FirstStageInputGradient::Empty && op.stage.value == 0;
  if (op.kind == OpKind::BackwardInput) return empty_input ? Part{} : input;
  if (op.kind == OpKind::BackwardWeight && !empty_input) return weight;
  Part both = input;
  both += weight;
  return both;
}

}  // namespace pipecast
