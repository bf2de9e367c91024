#include "sim/study/measured_compare.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "sim/run/longest_path.hpp"
#include "sim/study/measured_lags.hpp"

namespace pipecast {
namespace {

Result<FinishedRun> predicted_run(const MeasuredProfile& profile, const Workload& workload,
                                  double delay_s, std::string name) {
  PreparedRun prepared{};
  prepared.scenario = std::move(name);
  prepared.schedule = profile.schedule.empty() ? "measured order" : profile.schedule;
  prepared.program = profile.program;
  prepared.workload = workload;
  prepared.platform = constant_delay_platform(profile.shape.ranks, {delay_s});
  std::vector<DeviceId> devices;
  for (int rank = 0; rank < profile.shape.ranks; ++rank) devices.push_back({rank});
  Result<TaskGraph> graph =
      build_task_graph(prepared.program, prepared.workload, prepared.platform, devices);
  if (!graph) return fail(std::move(graph.error()));
  prepared.graph = std::move(*graph);
  return execute(std::move(prepared), Engine::LongestPath);
}

using OpKey = std::tuple<OpKind, int, int>;

std::map<OpKey, const MeasuredOp*> by_key(const MeasuredStep& step) {
  std::map<OpKey, const MeasuredOp*> ops;
  for (const MeasuredRank& rank : step.ranks)
    for (const MeasuredOp& op : rank.ops) ops[{op.kind, op.stage.value, op.microbatch.value}] = &op;
  return ops;
}

/// A message is on its way from its producer's end to the begin of its consumer, at most `delay_s`.
Interval transfer_interval(const std::map<OpKey, const MeasuredOp*>& ops, const Task& task,
                           double sent_s, double delay_s) {
  const bool forward = task.kind == OpKind::SendForward;
  const int stage = task.stage + (forward ? 1 : -1);
  Interval interval{sent_s, sent_s + delay_s};
  for (const OpKind kind : {OpKind::Forward, OpKind::BackwardFull, OpKind::BackwardInput}) {
    if (is_forward(kind) != forward) continue;
    const auto found = ops.find({kind, stage, task.microbatch});
    if (found != ops.end())
      interval.end_s = std::max(sent_s, std::min(interval.end_s, found->second->begin_s));
  }
  return interval;
}

/// The measured times on the tasks of the graph. Tasks of a rank never overlap: what a trace shows
/// to begin early begins when the one before has ended.
void put_measured_times(const MeasuredStep& step, double delay_s, FinishedRun& run) {
  const TaskGraph& graph = run.prepared.graph;
  const auto ops = by_key(step);
  std::vector<double> rank_end(step.ranks.size(), 0);
  std::vector<double> sent(graph.tasks.size(), 0);
  run.timeline.intervals.assign(graph.tasks.size(), {});
  for (const std::uint32_t id : graph.order) {
    const Task& task = graph.tasks[id];
    Interval& interval = run.timeline.intervals[id];
    if (is_work(task)) {
      const auto rank = static_cast<std::size_t>(task.rank);
      const std::vector<Op>& list = run.prepared.program.ranks[rank];
      const auto op_at = [&](int offset) {
        const Op& op = list[static_cast<std::size_t>(task.position + offset)];
        return ops.at({op.kind, op.stage.value, op.microbatch.value});
      };
      interval.start_s = std::max(rank_end[rank], op_at(0)->begin_s);
      interval.end_s = std::max(interval.start_s, op_at(task.cell_ops - 1)->end_s);
      rank_end[rank] = interval.end_s;
    } else {
      interval = transfer_interval(ops, task, sent[id], delay_s);
    }
    for (auto [next, end] = boost::adjacent_vertices(id, graph.dependencies); next != end; ++next)
      sent[*next] = std::max(sent[*next], interval.end_s);
  }
}

class PathWalk {
 public:
  PathWalk(const MeasuredStep& step, const Workload& fastest)
      : step_(step), fastest_(fastest), index_(step) {}

  ExcessTime walk(double ideal_s) {
    std::size_t rank = 0, at = 0;
    double last_end = -1, step_end = 0;
    for (std::size_t r = 0; r < step_.ranks.size(); ++r) {
      step_end = std::max(step_end, step_.ranks[r].end_s);
      const std::vector<MeasuredOp>& ops = step_.ranks[r].ops;
      if (ops.empty() || ops.back().end_s <= last_end) continue;
      last_end = ops.back().end_s;
      rank = r;
      at = ops.size() - 1;
    }
    ExcessTime excess{.ideal_s = ideal_s, .gaps_s = step_end - last_end};
    double path_ideal_s = 0;
    while (true) {
      const std::vector<MeasuredOp>& ops = step_.ranks[rank].ops;
      double fastest_s = fastest_of(ops[at]);
      const double end_s = ops[at].end_s;
      for (; at > 0 && ops[at - 1].joined; --at) fastest_s += fastest_of(ops[at - 1]);
      excess.operations_s += end_s - ops[at].begin_s - fastest_s;
      path_ideal_s += fastest_s;
      const MeasuredLag lag = index_.lag(rank, at);
      if (lag.cause == MeasuredLag::Cause::Start) {
        excess.start_s += lag.seconds;
        break;
      }
      (lag.cause == MeasuredLag::Cause::Message ? excess.messages_s : excess.gaps_s) += lag.seconds;
      rank = lag.rank;
      at = lag.index;
    }
    excess.slack_s = ideal_s - path_ideal_s;
    if (std::abs(excess.slack_s) < 1e-9) excess.slack_s = 0;  // rounding
    return excess;
  }

 private:
  double fastest_of(const MeasuredOp& op) const {
    return duration(fastest_, {.kind = op.kind, .stage = op.stage, .microbatch = op.microbatch})
        .value;
  }

  const MeasuredStep& step_;
  const Workload& fastest_;
  MeasuredIndex index_;
};

void compare_ranks(MeasuredComparison& comparison) {
  const auto ends = [](const FinishedRun& run) {
    std::vector<double> latest(run.summary.ranks.size(), 0);
    for (std::size_t id = 0; id < run.prepared.graph.tasks.size(); ++id) {
      const Task& task = run.prepared.graph.tasks[id];
      double& end = latest[static_cast<std::size_t>(task.rank)];
      if (is_work(task)) end = std::max(end, run.timeline.intervals[id].end_s);
    }
    return latest;
  };
  const std::vector<double> measured = ends(comparison.measured);
  const std::vector<double> predicted = ends(comparison.predicted);
  for (std::size_t rank = 0; rank < measured.size(); ++rank)
    comparison.ranks.push_back({{static_cast<int>(rank)},
                                comparison.measured.summary.ranks[rank].busy_s,
                                comparison.predicted.summary.ranks[rank].busy_s,
                                measured[rank],
                                predicted[rank]});
}

/// What is beyond the prediction by more than a tenth of a usual forward.
void find_differences(const MeasuredStep& step, const MeasuredProfile& profile,
                      const Workload& usual, MeasuredComparison& comparison) {
  using Sort = Difference::Sort;
  const double threshold = 0.1 * usual.costs.front().forward.value;
  const MeasuredIndex index(step);
  const auto add = [&](Sort sort, std::size_t rank, const Op& op, double seconds) {
    if (seconds > threshold)
      comparison.differences.push_back({sort, {static_cast<int>(rank)}, op, seconds});
  };
  for (std::size_t rank = 0; rank < step.ranks.size(); ++rank) {
    const std::vector<MeasuredOp>& ops = step.ranks[rank].ops;
    for (std::size_t i = 0; i < ops.size(); ++i) {
      const Op op{.kind = ops[i].kind, .stage = ops[i].stage, .microbatch = ops[i].microbatch};
      add(Sort::SlowerOperation, rank, op, ops[i].seconds() - duration(usual, op).value);
      if (i > 0 && ops[i - 1].joined) continue;
      const MeasuredLag lag = index.lag(rank, i);
      if (lag.cause == MeasuredLag::Cause::Message)
        add(Sort::LateMessage, rank, op, lag.seconds - profile.message.median_s);
      if (lag.cause == MeasuredLag::Cause::SameRank)
        add(Sort::MissingOverlap, rank, op, lag.seconds - profile.gap.mean_s);
    }
    const RankComparison& busy = comparison.ranks[rank];
    if (busy.measured_busy_s > 1.03 * busy.predicted_busy_s)
      comparison.differences.push_back({Sort::Straggler,
                                        {static_cast<int>(rank)},
                                        {.stage = ops.front().stage, .microbatch = {}},
                                        busy.measured_busy_s - busy.predicted_busy_s});
  }
  std::stable_sort(comparison.differences.begin(), comparison.differences.end(),
                   [](const Difference& a, const Difference& b) { return a.seconds > b.seconds; });
}

}  // namespace

std::string_view difference_name(Difference::Sort sort) {
  switch (sort) {
    case Difference::Sort::SlowerOperation:
      return "slower operation";
    case Difference::Sort::LateMessage:
      return "late message";
    case Difference::Sort::MissingOverlap:
      return "missing overlap";
    case Difference::Sort::Straggler:
      return "straggler";
  }
  return "?";
}

Result<ImportReport> import_report(MeasuredRun run, std::span<const ScheduleInfo> schedules) {
  if (run.steps.empty()) return fail(input_error("there is no step in the traces"));
  const std::span<const MeasuredStep> steps(run.steps);
  const bool in_sample = steps.size() == 1;
  const std::span<const MeasuredStep> learned = in_sample ? steps : steps.first(steps.size() - 1);
  const MeasuredStep& compared = steps.back();
  Result<MeasuredProfile> profile = profile_of(learned, schedules);
  if (!profile) return fail(std::move(profile.error()));
  const Result<MeasuredProfile> own = profile_of(steps.last(1), {});
  if (!own) return fail(own.error());
  const Workload usual = profiled_workload(*profile);
  const Workload fastest = fastest_workload(*own);
  const double delay_s = profile->message.median_s;
  Result<FinishedRun> predicted = predicted_run(*profile, usual, delay_s, "predicted");
  if (!predicted) return fail(std::move(predicted.error()));
  Workload plain = usual;
  plain.overheads = {};
  Result<FinishedRun> measured = predicted_run(*own, plain, delay_s, "measured");
  const Result<FinishedRun> ideal = predicted_run(*own, fastest, 0, "ideal");
  if (!measured) return fail(std::move(measured.error()));
  if (!ideal) return fail(ideal.error());
  put_measured_times(compared, delay_s, *measured);
  const PreparedRun& graph = measured->prepared;
  measured->summary =
      summarise(graph.program, graph.workload, graph.platform, graph.graph, measured->timeline);
  MeasuredComparison comparison{
      .step = compared.name,
      .in_sample = in_sample,
      .measured_s = compared.seconds(),
      .predicted_s = predicted->summary.makespan_s,
      .excess = PathWalk(compared, fastest).walk(ideal->summary.makespan_s),
      .ranks = {},
      .operations = own->operations,
      .differences = {},
      .measured = std::move(*measured),
      .predicted = std::move(*predicted)};
  compare_ranks(comparison);
  find_differences(compared, *profile, usual, comparison);
  return ImportReport{std::move(run), std::move(*profile), std::move(comparison)};
}

}  // namespace pipecast
