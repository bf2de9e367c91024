#include "sim/report/memory.hpp"

#include <algorithm>
#include <span>

namespace pipecast {
namespace {

/// Calls visit(rank, stage copy, time, change) for every take and release, each rank's in program
/// order.
template <class Visit>
void sweep(const Program& program, const Workload& workload, std::span<const Task> tasks,
           const Timeline& timeline, Visit visit) {
  const Backward backward = has_backward(program) ? Backward::Present : Backward::Absent;
  const Placement& placement = program.placement;
  const auto copy_of = [&](const Op& op) {
    const std::size_t direction =
        placement.direction_of.empty() ? 0 : placement.direction_of[op.microbatch.at()];
    return direction * static_cast<std::size_t>(placement.stages) + op.stage.at();
  };
  for (std::size_t id = 0; id < tasks.size(); ++id)
    visit_memory_changes(program, workload, tasks[id], timeline.intervals[id], backward,
                         [&](const Op& op, double time_s, const ActivationCount& change) {
                           visit(static_cast<std::size_t>(tasks[id].rank), copy_of(op), time_s,
                                 change);
                         });
}

void add_static(MemoryUse& use, const Program& program, const Workload& workload) {
  const Placement& placement = program.placement;
  for (std::size_t copy = 0; copy < placement.rank_of.size(); ++copy) {
    const StageBytes& bytes = workload.bytes[copy % static_cast<std::size_t>(placement.stages)];
    RankMemory& rank = use.ranks[placement.rank_of[copy].at()];
    rank.parameters += bytes.parameters;
    rank.gradients += bytes.gradients;
    rank.optimizer += bytes.optimizer;
  }
}

void add_point(MemoryCurve& curve, double time_s, double change_bytes) {
  if (change_bytes != 0) curve.push_back({time_s, curve.back().bytes + change_bytes});
}

}  // namespace

ActivationCount taken_at_start(const Workload& workload, const Op& op) {
  if (!is_forward(op.kind)) return {};
  return {workload.bytes[op.stage.at()].held_by_forward.value, 1, 1};
}

ActivationCount released_at_end(const Workload& workload, const Op& op, Backward backward) {
  const StageBytes& bytes = workload.bytes[op.stage.at()];
  const double held = bytes.held_by_forward.value;
  const double at_input = bytes.released_by_backward_input.value;
  switch (op.kind) {
    case OpKind::Forward:
      return backward == Backward::Absent ? ActivationCount{-held, -1, -1} : ActivationCount{};
    case OpKind::BackwardFull:
      return {-held, -1, -1};
    case OpKind::BackwardInput:
      return {-at_input, 0, -1};
    case OpKind::BackwardWeight:
      return {at_input - held, -1, 0};
    case OpKind::SendForward:
    case OpKind::ReceiveForward:
    case OpKind::SendBackward:
    case OpKind::ReceiveBackward:
    case OpKind::Unshard:
    case OpKind::Reshard:
    case OpKind::ReduceGrad:
    case OpKind::Optimizer:
    case OpKind::Gap:
      return {};
  }
  return {};
}

MemoryUse measure_memory(const Program& program, const Workload& workload,
                         std::span<const Task> tasks, const Timeline& timeline) {
  MemoryUse use;
  use.ranks.resize(program.ranks.size());
  use.stages.resize(program.placement.rank_of.size());
  std::vector<ActivationCount> on_rank(use.ranks.size());
  std::vector<ActivationCount> in_stage(use.stages.size());
  sweep(program, workload, tasks, timeline,
        [&](std::size_t rank, std::size_t copy, double time_s, const ActivationCount& change) {
          on_rank[rank] += change;
          in_stage[copy] += change;
          RankMemory& peak = use.ranks[rank];
          if (on_rank[rank].bytes > peak.peak_activation.value) {
            peak.peak_activation = {on_rank[rank].bytes};
            peak.peak_at_s = time_s;
          }
          peak.peak_in_flight = std::max(peak.peak_in_flight, on_rank[rank].in_flight);
          peak.peak_in_flight_free_at_input =
              std::max(peak.peak_in_flight_free_at_input, on_rank[rank].in_flight_free_at_input);
          StageMemory& stage = use.stages[copy];
          stage.peak_activation = std::max(stage.peak_activation, Bytes{in_stage[copy].bytes});
          stage.peak_in_flight = std::max(stage.peak_in_flight, in_stage[copy].in_flight);
        });
  add_static(use, program, workload);
  return use;
}

std::vector<MemoryCurve> rank_curves(const Program& program, const Workload& workload,
                                     std::span<const Task> tasks, const Timeline& timeline) {
  std::vector<MemoryCurve> curves(program.ranks.size(), MemoryCurve{{0, 0}});
  sweep(program, workload, tasks, timeline,
        [&](std::size_t rank, std::size_t, double time_s, const ActivationCount& change) {
          add_point(curves[rank], time_s, change.bytes);
        });
  return curves;
}

std::vector<MemoryCurve> stage_curves(const Program& program, const Workload& workload,
                                      std::span<const Task> tasks, const Timeline& timeline) {
  std::vector<MemoryCurve> curves(program.placement.rank_of.size(), MemoryCurve{{0, 0}});
  sweep(program, workload, tasks, timeline,
        [&](std::size_t, std::size_t copy, double time_s, const ActivationCount& change) {
          add_point(curves[copy], time_s, change.bytes);
        });
  return curves;
}

}  // namespace pipecast
