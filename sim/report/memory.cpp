#include "sim/report/memory.hpp"

#include <algorithm>
#include <span>

namespace pipecast {
namespace {

constexpr std::size_t kElsewhere = static_cast<std::size_t>(-1);

/// A take or release on a rank. What an exchange moves belongs to no stage copy of that rank: its
/// copy is kElsewhere.
struct Change {
  std::size_t copy;
  double time_s;
  ActivationCount amount;
};

/// The receiving rank takes an exchanged activation when it sets out, the sending one lets go of it
/// when it has arrived. Per rank in the order of time, releases first.
std::vector<std::vector<Change>> exchange_changes(const Workload& workload, std::size_t ranks,
                                                  std::span<const Task> tasks,
                                                  const Timeline& timeline) {
  std::vector<std::vector<Change>> changes(ranks);
  for (std::size_t id = 0; id < tasks.size(); ++id) {
    const Task& task = tasks[id];
    if (!is_exchange(task.kind)) continue;
    const Interval& interval = timeline.intervals[id];
    const double bytes =
        workload.bytes[static_cast<std::size_t>(task.stage)].held_by_forward.value *
        workload.bytes_share({task.microbatch});
    changes[static_cast<std::size_t>(task.peer)].push_back(
        {kElsewhere, interval.start_s, {bytes, 1, 1}});
    changes[static_cast<std::size_t>(task.rank)].push_back(
        {kElsewhere, interval.end_s, {-bytes, -1, -1}});
  }
  for (std::vector<Change>& list : changes)
    std::stable_sort(list.begin(), list.end(), [](const Change& left, const Change& right) {
      return left.time_s != right.time_s ? left.time_s < right.time_s
                                         : left.amount.in_flight < right.amount.in_flight;
    });
  return changes;
}

/// An exchange that happens at the instant of a take comes before it, at that of a release after
/// it.
bool comes_first(const Change& exchange, const Change& compute) {
  return exchange.time_s != compute.time_s ? exchange.time_s < compute.time_s
                                           : compute.amount.in_flight > 0;
}

/// Calls visit(rank, change) for every take and release, each rank's in program order with the
/// exchanges in between.
template <class Visit>
void sweep_exchanging(const Program& program, const Workload& workload, std::span<const Task> tasks,
                      const Timeline& timeline, std::vector<std::vector<Change>> compute,
                      Visit visit) {
  const auto exchanges = exchange_changes(workload, program.ranks.size(), tasks, timeline);
  for (std::size_t rank = 0; rank < compute.size(); ++rank) {
    auto next = exchanges[rank].begin();
    for (const Change& change : compute[rank]) {
      for (; next != exchanges[rank].end() && comes_first(*next, change); ++next)
        visit(rank, *next);
      visit(rank, change);
    }
    for (; next != exchanges[rank].end(); ++next) visit(rank, *next);
  }
}

/// Calls visit(rank, change) for every take and release, each rank's in program order.
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
  std::vector<std::vector<Change>> kept(program.exchanges.empty() ? 0 : program.ranks.size());
  for (std::size_t id = 0; id < tasks.size(); ++id)
    visit_memory_changes(program, workload, tasks[id], timeline.intervals[id], backward,
                         [&](const Op& op, double time_s, const ActivationCount& amount) {
                           const auto rank = static_cast<std::size_t>(tasks[id].rank);
                           const Change change{copy_of(op), time_s, amount};
                           if (kept.empty())
                             visit(rank, change);
                           else
                             kept[rank].push_back(change);
                         });
  if (!kept.empty()) sweep_exchanging(program, workload, tasks, timeline, std::move(kept), visit);
}

/// Of the operations of one rank, cell by cell.
void add_activations(const Program& program, const Workload& workload, const std::vector<Op>& ops,
                     RankMemory& peak) {
  const Backward backward = has_backward(program) ? Backward::Present : Backward::Absent;
  ActivationCount alive;
  for (std::size_t at = 0; at < ops.size();) {
    const std::span<const Op> cell(ops.data() + at, cell_size(ops, at));
    for (const Op& op : cell) alive += taken_at_start(workload, op);
    peak.peak_activation = std::max(peak.peak_activation, Bytes{alive.bytes});
    peak.peak_in_flight = std::max(peak.peak_in_flight, alive.in_flight);
    peak.peak_in_flight_free_at_input =
        std::max(peak.peak_in_flight_free_at_input, alive.in_flight_free_at_input);
    for (const Op& op : cell) alive += released_at_end(workload, op, backward);
    at += cell.size();
  }
}

void add_point(MemoryCurve& curve, double time_s, double change_bytes) {
  if (change_bytes != 0) curve.push_back({time_s, curve.back().bytes + change_bytes});
}

}  // namespace

std::vector<RankMemory> static_memory(const Program& program, const Workload& workload) {
  std::vector<RankMemory> ranks(program.ranks.size());
  const Placement& placement = program.placement;
  const std::vector<WeightUse> weights = weight_use(program);
  for (std::size_t copy = 0; copy < placement.rank_of.size(); ++copy) {
    const StageBytes& bytes = workload.bytes[copy % static_cast<std::size_t>(placement.stages)];
    RankMemory& rank = ranks[placement.rank_of[copy].at()];
    rank.weights.versions = std::max(rank.weights.versions, weights[copy].versions);
    rank.weights.staleness = std::max(rank.weights.staleness, weights[copy].staleness);
    rank.parameters += bytes.parameters * weights[copy].versions;
    rank.gradients += bytes.gradients;
    rank.optimizer += bytes.optimizer;
  }
  return ranks;
}

ActivationCount taken_at_start(const Workload& workload, const Op& op) {
  if (!is_forward(op.kind)) return {};
  return {workload.bytes[op.stage.at()].held_by_forward.value * workload.bytes_share(op.microbatch),
          1, 1};
}

ActivationCount released_at_end(const Workload& workload, const Op& op, Backward backward) {
  if (!is_compute(op.kind)) return {};
  const StageBytes& bytes = workload.bytes[op.stage.at()];
  const double share = workload.bytes_share(op.microbatch);
  const double held = bytes.held_by_forward.value * share;
  const double at_input = bytes.released_by_backward_input.value * share;
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
    case OpKind::EvictActivation:
    case OpKind::RestoreActivation:
    case OpKind::Gap:
      return {};
  }
  return {};
}

MemoryUse measure_memory(const Program& program, const Workload& workload,
                         std::span<const Task> tasks, const Timeline& timeline) {
  MemoryUse use;
  use.ranks = static_memory(program, workload);
  use.stages.resize(program.placement.rank_of.size());
  std::vector<ActivationCount> on_rank(use.ranks.size());
  std::vector<ActivationCount> in_stage(use.stages.size());
  sweep(program, workload, tasks, timeline, [&](std::size_t rank, const Change& change) {
    on_rank[rank] += change.amount;
    RankMemory& peak = use.ranks[rank];
    if (on_rank[rank].bytes > peak.peak_activation.value) {
      peak.peak_activation = {on_rank[rank].bytes};
      peak.peak_at_s = change.time_s;
    }
    peak.peak_in_flight = std::max(peak.peak_in_flight, on_rank[rank].in_flight);
    peak.peak_in_flight_free_at_input =
        std::max(peak.peak_in_flight_free_at_input, on_rank[rank].in_flight_free_at_input);
    if (change.copy == kElsewhere) return;
    ActivationCount& alive = in_stage[change.copy];
    alive += change.amount;
    StageMemory& stage = use.stages[change.copy];
    stage.peak_activation = std::max(stage.peak_activation, Bytes{alive.bytes});
    stage.peak_in_flight = std::max(stage.peak_in_flight, alive.in_flight);
  });
  return use;
}

std::vector<RankMemory> ordered_memory(const Program& program, const Workload& workload) {
  std::vector<RankMemory> ranks = static_memory(program, workload);
  if (!program.exchanges.empty()) return ranks;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    add_activations(program, workload, program.ranks[rank], ranks[rank]);
  return ranks;
}

std::vector<MemoryCurve> rank_curves(const Program& program, const Workload& workload,
                                     std::span<const Task> tasks, const Timeline& timeline) {
  std::vector<MemoryCurve> curves(program.ranks.size(), MemoryCurve{{0, 0}});
  sweep(program, workload, tasks, timeline, [&](std::size_t rank, const Change& change) {
    add_point(curves[rank], change.time_s, change.amount.bytes);
  });
  return curves;
}

std::vector<MemoryCurve> stage_curves(const Program& program, const Workload& workload,
                                      std::span<const Task> tasks, const Timeline& timeline) {
  std::vector<MemoryCurve> curves(program.placement.rank_of.size(), MemoryCurve{{0, 0}});
  sweep(program, workload, tasks, timeline, [&](std::size_t, const Change& change) {
    if (change.copy != kElsewhere)
      add_point(curves[change.copy], change.time_s, change.amount.bytes);
  });
  return curves;
}

}  // namespace pipecast
