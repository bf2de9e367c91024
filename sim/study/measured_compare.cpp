#include "sim/study/measured_compare.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "sim/study/measured_lags.hpp"

namespace pipecast {
namespace {

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

std::vector<RankComparison> compare_ranks(const MeasuredStep& measured,
                                          const MeasuredStep& predicted) {
  const auto busy_s = [](const MeasuredRank& rank) {
    double sum = 0;
    for (const MeasuredOp& op : rank.ops) sum += op.seconds();
    return sum;
  };
  std::vector<RankComparison> ranks;
  for (std::size_t rank = 0; rank < measured.ranks.size(); ++rank)
    ranks.push_back({{static_cast<int>(rank)},
                     busy_s(measured.ranks[rank]),
                     busy_s(predicted.ranks[rank]),
                     measured.ranks[rank].ops.back().end_s,
                     predicted.ranks[rank].ops.back().end_s});
  return ranks;
}

/// What is beyond the prediction by more than a tenth of a usual forward.
class DifferenceSearch {
 public:
  DifferenceSearch(const MeasuredStep& step, const MeasuredStep& expected,
                   const MeasuredProfile& usual, MeasuredComparison& comparison)
      : step_(step),
        expected_(by_key(expected)),
        usual_(usual),
        threshold_s_(0.1 * usual.operations.front().median_s),
        index_(step),
        comparison_(comparison) {}

  void find() {
    for (std::size_t rank = 0; rank < step_.ranks.size(); ++rank) {
      for (std::size_t i = 0; i < step_.ranks[rank].ops.size(); ++i) look_at(rank, i);
      const RankComparison& busy = comparison_.ranks[rank];
      if (busy.measured_busy_s > 1.03 * busy.predicted_busy_s)
        comparison_.differences.push_back(
            {Difference::Sort::Straggler,
             {static_cast<int>(rank)},
             {.stage = step_.ranks[rank].ops.front().stage, .microbatch = {}},
             busy.measured_busy_s - busy.predicted_busy_s});
    }
    std::stable_sort(
        comparison_.differences.begin(), comparison_.differences.end(),
        [](const Difference& a, const Difference& b) { return a.seconds > b.seconds; });
  }

 private:
  void look_at(std::size_t rank, std::size_t i) {
    using Sort = Difference::Sort;
    const std::vector<MeasuredOp>& ops = step_.ranks[rank].ops;
    const MeasuredOp& op = ops[i];
    const double expected_s =
        expected_.at({op.kind, op.stage.value, op.microbatch.value})->seconds();
    add(Sort::SlowerOperation, rank, op, op.seconds() - expected_s);
    if (i > 0 && ops[i - 1].joined) return;
    const MeasuredLag lag = index_.lag(rank, i);
    if (lag.cause == MeasuredLag::Cause::Message)
      add(Sort::LateMessage, rank, op, lag.seconds - usual_.message.median_s);
    if (lag.cause == MeasuredLag::Cause::SameRank)
      add(Sort::MissingOverlap, rank, op, lag.seconds - usual_.gap.mean_s);
  }

  void add(Difference::Sort sort, std::size_t rank, const MeasuredOp& op, double seconds) {
    if (seconds > threshold_s_)
      comparison_.differences.push_back(
          {sort,
           {static_cast<int>(rank)},
           {.kind = op.kind, .stage = op.stage, .microbatch = op.microbatch},
           seconds});
  }

  const MeasuredStep& step_;
  std::map<OpKey, const MeasuredOp*> expected_;
  const MeasuredProfile& usual_;
  double threshold_s_;
  MeasuredIndex index_;
  MeasuredComparison& comparison_;
};

/// The prediction, the durations that count as ideal and what the prediction says is usual.
struct Expected {
  FinishedRun run;
  Workload ideal;
  MeasuredStep step;
  MeasuredProfile usual;
};

Result<Expected> expected_of(const MeasuredProfile& profile, const MeasuredProfile& own,
                             std::optional<Forecast> forecast) {
  if (!forecast) {
    Result<FinishedRun> run =
        order_run(profile, profiled_workload(profile), profile.message.median_s, "predicted");
    if (!run) return fail(std::move(run.error()));
    MeasuredStep step = step_of_run(*run);
    return Expected{std::move(*run), fastest_workload(own), std::move(step), profile};
  }
  if (Diagnostics faults = check_forecast(*forecast, own.program); !faults.empty())
    return fail(std::move(faults));
  MeasuredStep step = step_of_run(forecast->run);
  Result<MeasuredProfile> usual = profile_of(std::span(&step, 1), {});
  if (!usual) return fail(std::move(usual.error()));
  Workload ideal = forecast->run.prepared.workload;
  ideal.overheads = {};
  return Expected{std::move(forecast->run), std::move(ideal), std::move(step), std::move(*usual)};
}

/// The measured times on the graph of the measured order.
Result<FinishedRun> measured_run(const MeasuredStep& step, const MeasuredProfile& own,
                                 double delay_s) {
  Workload plain = profiled_workload(own);
  plain.overheads = {};
  Result<FinishedRun> run = order_run(own, plain, delay_s, "measured");
  if (!run) return run;
  put_measured_times(step, delay_s, *run);
  const PreparedRun& graph = run->prepared;
  run->summary =
      summarise(graph.program, graph.workload, graph.platform, graph.graph, run->timeline);
  return run;
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

Result<ImportReport> import_report(MeasuredRun run, std::span<const ScheduleInfo> schedules,
                                   std::optional<Forecast> forecast) {
  if (run.steps.empty()) return fail(input_error("there is no step in the traces"));
  const std::span<const MeasuredStep> steps(run.steps);
  const bool in_sample = steps.size() == 1;
  const MeasuredStep& compared = steps.back();
  Result<MeasuredProfile> profile =
      profile_of(in_sample ? steps : steps.first(steps.size() - 1), schedules);
  if (!profile) return fail(std::move(profile.error()));
  const Result<MeasuredProfile> own = profile_of(steps.last(1), {});
  if (!own) return fail(own.error());
  const std::string against = forecast ? forecast->scenario : std::string();
  Result<Expected> expected = expected_of(*profile, *own, std::move(forecast));
  if (!expected) return fail(std::move(expected.error()));
  std::string note = order_difference(expected->run.prepared.program, own->program);
  if (!note.empty()) run.notes.push_back(std::move(note));
  const Result<FinishedRun> ideal = order_run(*own, expected->ideal, 0, "ideal");
  if (!ideal) return fail(ideal.error());
  Result<FinishedRun> measured = measured_run(compared, *own, profile->message.median_s);
  if (!measured) return fail(std::move(measured.error()));
  MeasuredComparison comparison{
      .step = compared.name,
      .in_sample = in_sample,
      .against = against,
      .measured_s = compared.seconds(),
      .predicted_s = expected->run.summary.makespan_s,
      .excess = measured_excess(compared, expected->ideal, ideal->summary.makespan_s),
      .ranks = compare_ranks(compared, expected->step),
      .operations = own->operations,
      .foreseen = expected->usual.operations,
      .differences = {},
      .measured = std::move(*measured),
      .predicted = std::move(expected->run)};
  DifferenceSearch(compared, expected->step, expected->usual, comparison).find();
  return ImportReport{std::move(run), std::move(*profile), std::move(comparison)};
}

}  // namespace pipecast
