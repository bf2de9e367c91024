#pragma once
#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/simulated.hpp"

namespace pipecast::testing {

/// Activation bytes alive on a rank along its line, the largest: a forward takes what its stage
/// holds, an input gradient frees its part, a weight gradient the rest.
inline double peak_activation_bytes(const Program& program, const Workload& workload,
                                    std::size_t rank) {
  double alive = 0;
  double peak = 0;
  for (const Op& op : program.ranks[rank]) {
    const StageBytes& bytes = workload.bytes[op.stage.at()];
    if (op.kind == OpKind::Forward) alive += bytes.held_by_forward.value;
    if (op.kind == OpKind::BackwardInput) alive -= bytes.released_by_backward_input.value;
    if (op.kind == OpKind::BackwardWeight)
      alive -= bytes.held_by_forward.value - bytes.released_by_backward_input.value;
    peak = std::max(peak, alive);
  }
  return peak;
}

/// Chunk activations alive on a rank, released by the weight gradient, the largest.
inline int peak_activations(const Program& program, std::size_t rank) {
  int alive = 0;
  int peak = 0;
  for (const Op& op : program.ranks[rank]) {
    if (op.kind == OpKind::Forward) peak = std::max(peak, ++alive);
    if (op.kind == OpKind::BackwardWeight) --alive;
  }
  return peak;
}

/// A searched order of the zero-bubble paper's models: what it takes and what it must keep.
struct PaperCase {
  std::string schedule;
  Shape shape;
  StageCost cost;
  Seconds message;
  double activation_bytes = 0;       ///< M_B of a chunk
  double weight_gradient_bytes = 0;  ///< M_W of a chunk
  double limit = 1;                  ///< in P · M_B of a whole stage
};

struct Searched {
  double bubble = 0;        ///< 1 − work of a rank ÷ largest rank span
  double bubble_bound = 0;  ///< the same of the lower bound
  double peak_over_limit = 0;
};

/// Runs the schedule with the extra parameters (budget) and measures it independently of the
/// search: task graph, longest path, prefix memory.
inline Result<Searched> searched(const PaperCase& paper, Texts params) {
  Workload workload = uniform_workload(paper.shape, paper.cost);
  for (StageBytes& bytes : workload.bytes) {
    bytes.held_by_forward = {paper.activation_bytes};
    bytes.released_by_backward_input = {paper.activation_bytes - paper.weight_gradient_bytes};
  }
  params.emplace("memory_limit", format_number(paper.limit * paper.shape.stages()));
  params.emplace("transfer", format_number(paper.message.value * 1e6) + " us");
  const auto schedules = builtin_schedules();
  const ScheduleInfo* schedule = find_schedule(schedules, paper.schedule);
  const auto values = parse_fields(schedule->fields, params);
  if (!values) return fail(values.error());
  const ScheduleRequest request{paper.shape, *values, workload};
  const auto program = make_program(*schedule, request);
  if (!program) return fail(program.error());
  const auto run = simulated(*program, workload, paper.message);
  if (!run) return fail(run.error());
  Searched result;
  result.bubble = 1 - run->busiest_s / run->max_rank_span_s;
  result.bubble_bound = 1 - run->busiest_s / schedule->lower_bound(request).at_least.value;
  for (std::size_t rank = 0; rank < program->ranks.size(); ++rank)
    result.peak_over_limit = std::max(
        result.peak_over_limit, peak_activation_bytes(*program, workload, rank) /
                                    (paper.limit * paper.shape.stages() * paper.activation_bytes));
  return result;
}

}  // namespace pipecast::testing
