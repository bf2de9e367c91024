#include "sim/report/footprint.hpp"

#include <algorithm>

#include "sim/report/memory.hpp"

namespace pipecast {
namespace {

/// Something taken (times > 0) or given back at an instant.
struct Event {
  double time_s;
  const MemoryParts* parts;
  double times;
};

using Events = std::vector<std::vector<Event>>;  ///< [rank]

struct Sources {
  const Program& program;
  const Workload& workload;
  std::span<const StageFootprint> stages;
  bool has_backward;
};

double offloaded_share(const StageFootprint& stage) {
  const double held = stage.held.total();
  return held > 0 ? stage.offloaded.value / held : 0;
}

void add_op(const Sources& sources, const Op& op, const Interval& interval,
            std::vector<Event>& events) {
  const StageFootprint& stage = sources.stages[op.stage.at()];
  const double share = sources.workload.bytes_share(op.microbatch);
  const double away = share * offloaded_share(stage);
  const auto at = [&](double time_s, const MemoryParts& parts, double times) {
    events.push_back({time_s, &parts, times});
  };
  const double start = interval.start_s;
  const double end = interval.end_s;
  const MemoryParts& running = is_forward(op.kind) ? stage.forward : stage.backward;
  switch (op.kind) {
    case OpKind::Forward:
      at(start, stage.held, share);
      at(end, stage.held, sources.has_backward ? -away : -share);
      break;
    case OpKind::BackwardFull:
      at(start, stage.held, away);
      at(end, stage.held, -share);
      break;
    case OpKind::BackwardInput:
      at(start, stage.held, away);
      at(end, stage.held, -share);
      at(end, stage.held_for_weight, share);
      break;
    case OpKind::BackwardWeight:
      at(end, stage.held_for_weight, -share);
      return;
    case OpKind::SendForward:
    case OpKind::ReceiveForward:
    case OpKind::SendBackward:
    case OpKind::ReceiveBackward:
    case OpKind::Unshard:
    case OpKind::Reshard:
    case OpKind::ReduceGrad:
    case OpKind::Optimizer:
    case OpKind::EvictActivation:
    case OpKind::RestoreActivation:
    case OpKind::Gap:
      return;
  }
  at(start, running, share);
  at(end, running, -share);
}

Events events_of(const Sources& sources, std::span<const Task> tasks, const Timeline& timeline) {
  Events events(sources.program.ranks.size());
  for (std::size_t id = 0; id < tasks.size(); ++id) {
    const Task& task = tasks[id];
    const Interval& interval = timeline.intervals[id];
    const auto rank = static_cast<std::size_t>(task.rank);
    if (is_exchange(task.kind)) {
      const StageFootprint& stage = sources.stages[static_cast<std::size_t>(task.stage)];
      events[static_cast<std::size_t>(task.peer)].push_back({interval.start_s, &stage.held, 1});
      events[rank].push_back({interval.end_s, &stage.held, -1});
      continue;
    }
    if (!is_work(task) || task.position < 0) continue;
    const std::vector<Op>& ops = sources.program.ranks[rank];
    for (const Op& op : std::span<const Op>(ops.data() + task.position, task.cell_ops))
      add_op(sources, op, interval, events[rank]);
  }
  for (std::vector<Event>& list : events)
    std::stable_sort(list.begin(), list.end(), [](const Event& left, const Event& right) {
      return left.time_s != right.time_s ? left.time_s < right.time_s
                                         : left.times < 0 && right.times > 0;
    });
  return events;
}

MemoryParts fixed_of(const Program& program, std::span<const StageFootprint> stages,
                     std::size_t rank, Bytes workspace) {
  MemoryParts fixed;
  const Placement& placement = program.placement;
  for (std::size_t copy = 0; copy < placement.rank_of.size(); ++copy)
    if (placement.rank_of[copy].at() == rank)
      fixed.add(stages[copy % static_cast<std::size_t>(placement.stages)].fixed);
  fixed[MemoryPart::Workspace] += workspace.value;
  return fixed;
}

void take_maximum(MemoryParts& peaks, const MemoryParts& now) {
  for (std::size_t i = 0; i < kMemoryParts; ++i)
    peaks.bytes[i] = std::max(peaks.bytes[i], now.bytes[i]);
}

/// Calls visit(rank, time, memory) once at 0 and after every instant at which something changes.
template <class Visit>
void sweep(const Sources& sources, Bytes workspace, std::span<const Task> tasks,
           const Timeline& timeline, Visit visit) {
  const Events events = events_of(sources, tasks, timeline);
  for (std::size_t rank = 0; rank < events.size(); ++rank) {
    MemoryParts now = fixed_of(sources.program, sources.stages, rank, workspace);
    visit(rank, 0.0, now);
    for (const Event& event : events[rank]) {
      now.add(*event.parts, event.times);
      visit(rank, event.time_s, now);
    }
  }
}

Bytes offloaded_per_step(const Sources& sources, std::size_t rank) {
  double bytes = 0;
  for (const Op& op : sources.program.ranks[rank])
    if (is_forward(op.kind))
      bytes += sources.stages[op.stage.at()].offloaded.value *
               sources.workload.bytes_share(op.microbatch);
  return {bytes};
}

}  // namespace

std::vector<RankFootprint> measure_footprints(const Program& program, const Workload& workload,
                                              std::span<const StageFootprint> stages,
                                              Bytes workspace, std::span<const Task> tasks,
                                              const Timeline& timeline) {
  const Sources sources{program, workload, stages, has_backward(program)};
  std::vector<RankFootprint> ranks(program.ranks.size());
  sweep(sources, workspace, tasks, timeline,
        [&](std::size_t rank, double time_s, const MemoryParts& now) {
          RankFootprint& footprint = ranks[rank];
          take_maximum(footprint.part_peaks, now);
          const double total = now.total();
          if (total <= footprint.peak.value) return;
          footprint.peak = {total};
          footprint.peak_at_s = time_s;
          footprint.at_peak = now;
        });
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    ranks[rank].needed = ranks[rank].peak;
    ranks[rank].offloaded = offloaded_per_step(sources, rank);
  }
  return ranks;
}

std::vector<FootprintCurve> footprint_curves(const Program& program, const Workload& workload,
                                             std::span<const StageFootprint> stages,
                                             Bytes workspace, std::span<const Task> tasks,
                                             const Timeline& timeline) {
  const Sources sources{program, workload, stages, has_backward(program)};
  std::vector<FootprintCurve> curves(program.ranks.size());
  sweep(sources, workspace, tasks, timeline,
        [&](std::size_t rank, double time_s, const MemoryParts& now) {
          FootprintCurve& curve = curves[rank];
          if (!curve.empty() && curve.back().time_s == time_s)
            curve.back().parts = now;
          else
            curve.push_back({time_s, now});
        });
  return curves;
}

}  // namespace pipecast
