#include "sim/report/summary.hpp"

#include <algorithm>
#include <cmath>

#include "sim/graph/device_costs.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/report/collective_stream.hpp"
#include "sim/report/idle.hpp"
#include "sim/report/link_load.hpp"
#include "sim/report/memory.hpp"
#include "sim/report/run_index.hpp"

namespace pipecast {
namespace {

/// Neumaier's compensated sum: the error does not grow with the number of terms.
class ExactSum {
 public:
  void add(double term) {
    const double next = sum_ + term;
    lost_ += std::abs(sum_) >= std::abs(term) ? (sum_ - next) + term : (term - next) + sum_;
    sum_ = next;
  }
  double value() const { return sum_ + lost_; }

 private:
  double sum_ = 0;
  double lost_ = 0;
};

void fill_busy(RankSummary& summary, const TaskGraph& graph, const Timeline& timeline,
               std::span<const std::uint32_t> tasks) {
  ExactSum busy;
  double first_s = -1;
  double last_s = 0;
  for (const std::uint32_t task : tasks) {
    if (!is_work(graph.tasks[task])) continue;
    const Interval& interval = timeline.intervals[task];
    busy.add(interval.end_s - interval.start_s);
    if (first_s < 0) first_s = interval.start_s;
    last_s = interval.end_s;
  }
  summary.busy_s = busy.value();
  summary.span_s = first_s < 0 ? 0 : last_s - first_s;
}

void fill_idle(RankSummary& summary, std::span<const IdleStretch> stretches) {
  ExactSum waiting;
  ExactSum gap;
  ExactSum phases[3];
  for (const IdleStretch& stretch : stretches) {
    if (stretch.cause == IdleCause::Gap) gap.add(stretch.seconds());
    if (stretch.cause == IdleCause::Transfer)
      waiting.add(stretch.seconds());
    else
      phases[static_cast<std::size_t>(stretch.phase)].add(stretch.seconds());
  }
  summary.waiting_for_transfer_s = waiting.value();
  summary.warmup_idle_s = phases[static_cast<std::size_t>(Phase::WarmUp)].value();
  summary.steady_idle_s = phases[static_cast<std::size_t>(Phase::Steady)].value();
  summary.cooldown_idle_s = phases[static_cast<std::size_t>(Phase::CoolDown)].value();
  summary.gap_s = gap.value();
  summary.idle_s = summary.waiting_for_transfer_s + summary.warmup_idle_s + summary.steady_idle_s +
                   summary.cooldown_idle_s;
}

/// Reductions, gathers and the update that follow a rank's last operation.
void fill_exchanges(std::vector<RankSummary>& ranks, const TaskGraph& graph,
                    const Timeline& timeline) {
  std::vector<double> computed(ranks.size(), 0);
  std::vector<double> exchanged(ranks.size(), 0);
  for (std::size_t id = 0; id < graph.tasks.size(); ++id) {
    const Task& task = graph.tasks[id];
    const auto rank = static_cast<std::size_t>(task.rank);
    const Interval& interval = timeline.intervals[id];
    if (is_work(task)) computed[rank] = std::max(computed[rank], interval.end_s);
    if (!is_collective(task)) continue;
    exchanged[rank] = std::max(exchanged[rank], interval.end_s);
    if (task.kind == OpKind::Optimizer)
      ranks[rank].optimizer_s += interval.end_s - interval.start_s;
  }
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    ranks[rank].exposed_collectives_s =
        std::max(0.0, exchanged[rank] - computed[rank] - ranks[rank].optimizer_s);
}

void judge(RankSummary& summary, Bytes capacity) {
  summary.capacity = capacity;
  summary.fits = capacity.value == 0 || summary.peak_memory <= capacity;
}

void fill_memory(RankSummary& summary, const RankMemory& memory, const Device& device) {
  summary.peak_activation = memory.peak_activation;
  summary.peak_in_flight = memory.peak_in_flight;
  summary.peak_in_flight_free_at_input = memory.peak_in_flight_free_at_input;
  summary.static_memory = memory.static_memory();
  summary.weight_versions = memory.weights.versions;
  summary.weight_staleness = memory.weights.staleness;
  summary.peak_memory = summary.static_memory + summary.peak_activation;
  judge(summary, device.memory);
}

/// Mean seconds of a kind of operation over the whole microbatches that a copy of a stage computes.
double mean_seconds(const Program& program, const Workload& workload, OpKind kind, Stage stage,
                    std::size_t direction) {
  if (!workload.varies_by_microbatch() && workload.cuts.count() == 1)
    return duration(workload, {.kind = kind, .stage = stage, .microbatch = {0}}).value;
  const auto& direction_of = program.placement.direction_of;
  ExactSum total;
  int count = 0;
  for (std::int32_t microbatch = 0; microbatch < program.shape.microbatches; ++microbatch) {
    const Op op{.kind = kind, .stage = stage, .microbatch = {microbatch}};
    if (!direction_of.empty() && direction_of[op.microbatch.at()] != direction) continue;
    total.add(duration(workload, op).value);
    ++count;
  }
  return count == 0 ? 0 : total.value() / count * workload.cuts.count();
}

std::vector<StageSummary> stage_summaries(const Program& program, const DeviceCosts& costs,
                                          const TaskGraph& graph, const MemoryUse& memory) {
  const Placement& placement = program.placement;
  const auto stages = static_cast<std::size_t>(placement.stages);
  const bool backward = has_backward(program);
  std::vector<StageSummary> summaries(placement.rank_of.size());
  for (std::size_t copy = 0; copy < summaries.size(); ++copy) {
    StageSummary& summary = summaries[copy];
    summary.stage = {static_cast<std::int32_t>(copy % stages)};
    summary.rank = placement.rank_of[copy];
    const Workload& workload = costs.on(graph.device_of_rank[summary.rank.at()]);
    const auto mean = [&](OpKind kind) {
      return mean_seconds(program, workload, kind, summary.stage, copy / stages);
    };
    summary.forward_s = mean(OpKind::Forward);
    summary.backward_input_s = backward ? mean(OpKind::BackwardInput) : 0;
    summary.backward_weight_s = backward ? mean(OpKind::BackwardWeight) : 0;
    summary.peak_activation = memory.stages[copy].peak_activation;
    summary.peak_in_flight = memory.stages[copy].peak_in_flight;
  }
  return summaries;
}

/// Bytes and union of the intervals of every link, over transfers in the order of their start.
std::vector<LinkSummary> link_summaries(const Platform& platform, const TaskGraph& graph,
                                        const Timeline& timeline, double makespan_s) {
  std::vector<std::pair<double, std::uint32_t>> transfers;
  for (std::uint32_t task = 0; task < graph.tasks.size(); ++task)
    if (graph.tasks[task].route >= 0)
      transfers.emplace_back(timeline.intervals[task].start_s, task);
  std::sort(transfers.begin(), transfers.end());
  struct Use {
    double bytes = 0;
    double busy_s = 0;
    double until_s = 0;
    bool used = false;
  };
  std::vector<Use> uses(platform.links.size());
  for (const auto& [start_s, task] : transfers) {
    const double end_s = timeline.intervals[task].end_s;
    for (const LinkId link :
         graph.routes[static_cast<std::size_t>(graph.tasks[task].route)].links) {
      Use& use = uses[link.at()];
      use.used = true;
      use.bytes += graph.tasks[task].bytes;
      use.busy_s += std::max(0.0, end_s - std::max(start_s, use.until_s));
      use.until_s = std::max(use.until_s, end_s);
    }
  }
  std::vector<LinkSummary> summaries;
  for (std::size_t link = 0; link < uses.size(); ++link) {
    if (!uses[link].used) continue;
    const double can_carry = platform.links[link].bandwidth.value * makespan_s;
    summaries.push_back(
        {{static_cast<std::int32_t>(link)},
         uses[link].bytes,
         uses[link].busy_s,
         can_carry > 0 && has_limit(platform.links[link]) ? uses[link].bytes / can_carry : 0});
  }
  return summaries;
}

/// Steady state of a program that does not drain between its steps.
double seconds_per_step(const Program& program, const TaskGraph& graph, const Timeline& timeline,
                        double makespan_s) {
  if (program.steps <= 1) return makespan_s;
  const int units = program.shape.microbatches / program.steps;
  double first_end_s = 0;
  for (std::size_t id = 0; id < graph.tasks.size(); ++id)
    if (is_work(graph.tasks[id]) && graph.tasks[id].microbatch < units)
      first_end_s = std::max(first_end_s, timeline.intervals[id].end_s);
  return (makespan_s - first_end_s) / (program.steps - 1);
}

void fill_totals(Summary& summary, const TaskGraph& graph) {
  std::vector<double> work_s(summary.ranks.size(), 0.0);
  for (const Task& task : graph.tasks)
    if (is_work(task)) work_s[static_cast<std::size_t>(task.rank)] += task.seconds;
  ExactSum idle;
  for (std::size_t rank = 0; rank < work_s.size(); ++rank) {
    idle.add(summary.ranks[rank].idle_s);
    summary.ideal_s = std::max(summary.ideal_s, work_s[rank]);
    summary.max_rank_span_s = std::max(summary.max_rank_span_s, summary.ranks[rank].span_s);
  }
  if (summary.makespan_s > 0)
    summary.bubble_fraction =
        idle.value() / (static_cast<double>(work_s.size()) * summary.makespan_s);
  // A makespan and a span are never shorter than the ideal: what is below zero is rounding.
  if (summary.ideal_s > 0)
    summary.bubble_overhead = std::max(0.0, summary.makespan_s / summary.ideal_s - 1);
  if (summary.max_rank_span_s > 0)
    summary.span_bubble_fraction = std::max(0.0, 1 - summary.ideal_s / summary.max_rank_span_s);
}

}  // namespace

Summary summarise(const Program& program, const Workload& workload, const Platform& platform,
                  const TaskGraph& graph, const Timeline& timeline) {
  const RunIndex index = index_run(graph, timeline);
  const MemoryUse memory = measure_memory(program, workload, graph.tasks, timeline);
  Summary summary;
  summary.makespan_s = index.makespan_s;
  summary.steps = program.steps;
  summary.step_s = seconds_per_step(program, graph, timeline, index.makespan_s);
  summary.tasks = static_cast<std::int64_t>(graph.tasks.size());
  summary.digest = digest(timeline);
  summary.ranks.resize(program.ranks.size());
  for (std::size_t rank = 0; rank < summary.ranks.size(); ++rank) {
    RankSummary& row = summary.ranks[rank];
    row.rank = {static_cast<std::int32_t>(rank)};
    row.device = graph.device_of_rank[rank];
    fill_busy(row, graph, timeline, index.compute.of(row.rank));
    fill_idle(row, idle_stretches(program, graph, timeline, index, row.rank));
    fill_memory(row, memory.ranks[rank], platform.devices[row.device.at()]);
  }
  fill_exchanges(summary.ranks, graph, timeline);
  summary.stages = stage_summaries(program, DeviceCosts(workload, platform), graph, memory);
  summary.links = link_summaries(platform, graph, timeline, summary.makespan_s);
  fill_totals(summary, graph);
  return summary;
}

std::vector<Bytes> rank_capacities(const Platform& platform, const ReplicaDevices& devices) {
  std::vector<Bytes> least;
  for (int rank = 0; rank < devices.ranks(); ++rank) {
    least.push_back(platform.devices[devices.device(0, rank).at()].memory);
    for (int replica = 1; replica < devices.replicas(); ++replica)
      least.back() =
          std::min(least.back(), platform.devices[devices.device(replica, rank).at()].memory);
  }
  return least;
}

void judge_memory(Summary& summary, std::span<const Bytes> capacities) {
  for (std::size_t rank = 0; rank < summary.ranks.size(); ++rank)
    judge(summary.ranks[rank], capacities[rank]);
}

}  // namespace pipecast
