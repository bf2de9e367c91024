#include "sim/study/measured_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "sim/graph/transfers.hpp"
#include "sim/study/measured_lags.hpp"

namespace pipecast {
namespace {

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

using KindKey = std::pair<int, OpKind>;           // stage, kind
using OpKey = std::tuple<int, int, OpKind, int>;  // rank, stage, kind, microbatch

struct Samples {
  std::map<KindKey, std::vector<double>> by_kind;
  std::map<OpKey, std::vector<double>> by_op;
};

Samples samples_of(std::span<const MeasuredStep> steps) {
  Samples samples;
  for (const MeasuredStep& step : steps)
    for (std::size_t rank = 0; rank < step.ranks.size(); ++rank)
      for (const MeasuredOp& op : step.ranks[rank].ops) {
        samples.by_kind[{op.stage.value, op.kind}].push_back(op.seconds());
        samples.by_op[{static_cast<int>(rank), op.stage.value, op.kind, op.microbatch.value}]
            .push_back(op.seconds());
      }
  return samples;
}

OperationProfile operation_profile(const KindKey& key, const std::vector<double>& seconds) {
  OperationProfile profile;
  profile.stage = {key.first};
  profile.kind = key.second;
  profile.count = static_cast<int>(seconds.size());
  profile.median_s = median(seconds);
  std::vector<double> distances;
  for (const double value : seconds) distances.push_back(std::abs(value - profile.median_s));
  profile.spread_s = 1.4826 * median(distances);
  const auto [shortest, longest] = std::minmax_element(seconds.begin(), seconds.end());
  profile.shortest_s = *shortest;
  profile.longest_s = *longest;
  return profile;
}

const OperationProfile* find_operation(const MeasuredProfile& profile, int stage, OpKind kind) {
  for (const OperationProfile& operation : profile.operations)
    if (operation.stage.value == stage && operation.kind == kind) return &operation;
  return nullptr;
}

void find_outliers(const Samples& samples, std::size_t steps, MeasuredProfile& profile) {
  for (const auto& [key, seconds] : samples.by_op) {
    const auto& [rank, stage, kind, microbatch] = key;
    const OperationProfile& usual = *find_operation(profile, stage, kind);
    const double limit = std::max(4 * usual.spread_s, 0.1 * usual.median_s);
    std::vector<double> far;
    for (const double value : seconds)
      if (std::abs(value - usual.median_s) > limit) far.push_back(value);
    if (far.empty()) continue;
    profile.outliers.push_back({.rank = {rank},
                                .op = {.kind = kind, .stage = {stage}, .microbatch = {microbatch}},
                                .steps = static_cast<int>(far.size()),
                                .of_steps = static_cast<int>(steps),
                                .seconds = median(far),
                                .median_s = usual.median_s});
  }
  std::stable_sort(profile.outliers.begin(), profile.outliers.end(),
                   [](const MeasuredOutlier& a, const MeasuredOutlier& b) {
                     const double excess_a = std::abs(a.seconds - a.median_s);
                     const double excess_b = std::abs(b.seconds - b.median_s);
                     return a.steps != b.steps ? a.steps > b.steps : excess_a > excess_b;
                   });
}

LagProfile lag_profile(std::vector<double> seconds) {
  if (seconds.empty()) return {};
  std::sort(seconds.begin(), seconds.end());
  const std::size_t cut = seconds.size() / 20;
  const double sum = std::accumulate(seconds.begin() + static_cast<std::ptrdiff_t>(cut),
                                     seconds.end() - static_cast<std::ptrdiff_t>(cut), 0.0);
  return {static_cast<int>(seconds.size()), std::max(0.0, median(seconds)),
          std::max(0.0, sum / static_cast<double>(seconds.size() - 2 * cut))};
}

void find_lags(std::span<const MeasuredStep> steps, MeasuredProfile& profile) {
  std::vector<double> gaps, messages;
  for (const MeasuredStep& step : steps) {
    const MeasuredIndex index(step);
    for (std::size_t rank = 0; rank < step.ranks.size(); ++rank) {
      const std::vector<MeasuredOp>& ops = step.ranks[rank].ops;
      for (std::size_t i = 0; i < ops.size(); ++i) {
        if (i > 0 && ops[i - 1].joined) continue;
        const MeasuredLag lag = index.lag(rank, i);
        if (lag.cause == MeasuredLag::Cause::SameRank) gaps.push_back(lag.seconds);
        if (lag.cause == MeasuredLag::Cause::Message) messages.push_back(lag.seconds);
      }
    }
  }
  profile.gap = lag_profile(std::move(gaps));
  profile.message = lag_profile(std::move(messages));
}

void find_slow_stage(MeasuredProfile& profile) {
  std::map<int, double> seconds;
  for (const OperationProfile& operation : profile.operations)
    seconds[operation.stage.value] += operation.median_s;
  std::vector<double> all;
  for (const auto& [stage, total] : seconds) all.push_back(total);
  const double usual = median(all);
  for (const auto& [stage, total] : seconds) {
    const double excess = usual > 0 ? total / usual - 1 : 0;
    if (excess <= 0.03 || excess <= profile.slow_excess) continue;
    profile.slow_stage = Stage{stage};
    profile.slow_excess = excess;
  }
}

/// A file does not tell the number of directions, nor those that no microbatch takes.
bool same_homes(const Program& a, const Program& b) {
  if (a.placement.stages != b.placement.stages || a.shape != b.shape) return false;
  for (int stage = 0; stage < a.placement.stages; ++stage)
    for (int microbatch = 0; microbatch < a.shape.microbatches; ++microbatch)
      if (a.placement.rank(Stage{stage}, Microbatch{microbatch}) !=
          b.placement.rank(Stage{stage}, Microbatch{microbatch}))
        return false;
  return true;
}

/// The registered schedule with default parameters whose compute order this is.
std::string schedule_of(const Program& program, std::span<const ScheduleInfo> schedules) {
  for (const ScheduleInfo& schedule : schedules) {
    if (schedule.lower_bound != nullptr) continue;  // searches; its order depends on costs
    const auto params = parse_fields(schedule.fields, {});
    const Workload workload = uniform_workload(program.shape, {{1.0}, {1.0}, {1.0}});
    if (!params) continue;
    const auto made = make_program(schedule, {program.shape, *params, workload});
    if (made && made->ranks == program.ranks && same_homes(*made, program))
      return std::string(schedule.name);
  }
  return {};
}

/// Fills in the halves of backwards that a stage computed as a whole only, divided as on the
/// others.
void divide_whole_backwards(Workload& workload, const std::vector<Seconds>& whole) {
  double input = 0, weight = 0;
  for (const StageCost& cost : workload.costs) {
    input += cost.backward_input.value;
    weight += cost.backward_weight.value;
  }
  const double share = input + weight > 0 ? input / (input + weight) : 0.5;
  for (std::size_t stage = 0; stage < workload.costs.size(); ++stage) {
    StageCost& cost = workload.costs[stage];
    if (cost.backward_input.value > 0 || cost.backward_weight.value > 0) continue;
    cost.backward_input = whole[stage] * share;
    cost.backward_weight = whole[stage] * (1 - share);
  }
}

template <class Seconds_>
Workload workload_with(const MeasuredProfile& profile, Seconds_ seconds_of) {
  Workload workload = uniform_workload(profile.shape, {});
  workload.backward_is_split = has_split_backward(profile.program);
  std::vector<Seconds> whole;
  for (int stage = 0; stage < profile.shape.stages(); ++stage) {
    StageCost& cost = workload.costs[static_cast<std::size_t>(stage)];
    const auto get = [&](OpKind kind) {
      const OperationProfile* operation = find_operation(profile, stage, kind);
      return Seconds{operation == nullptr ? 0 : seconds_of(*operation)};
    };
    cost.forward = get(OpKind::Forward);
    cost.backward_input =
        get(workload.backward_is_split ? OpKind::BackwardInput : OpKind::BackwardFull);
    cost.backward_weight = get(OpKind::BackwardWeight);
    whole.push_back(get(OpKind::BackwardFull));
  }
  if (workload.backward_is_split) divide_whole_backwards(workload, whole);
  return workload;
}

std::string list_text(const std::vector<StageCost>& costs, Seconds StageCost::*member) {
  std::string text;
  for (const StageCost& cost : costs)
    text += fmt::format("{}{} us", text.empty() ? "" : ", ",
                        format_number(std::round((cost.*member).value * 1e9) / 1e3));
  return "[" + text + "]";
}

}  // namespace

Result<MeasuredProfile> profile_of(std::span<const MeasuredStep> steps,
                                   std::span<const ScheduleInfo> schedules) {
  if (steps.empty()) return fail(input_error("there is no step to take a profile from"));
  Result<Program> program = measured_program(steps.front());
  if (!program) return fail(std::move(program.error()));
  MeasuredProfile profile;
  profile.shape = program->shape;
  profile.schedule = schedule_of(*program, schedules);
  profile.program = std::move(*program);
  const Samples samples = samples_of(steps);
  for (const auto& [key, seconds] : samples.by_kind) {
    profile.operations.push_back(operation_profile(key, seconds));
    profile.operations.back().rank =
        profile.program.placement.rank_of[static_cast<std::size_t>(key.first)];
  }
  find_outliers(samples, steps.size(), profile);
  find_lags(steps, profile);
  find_slow_stage(profile);
  return profile;
}

Workload profiled_workload(const MeasuredProfile& profile) {
  Workload workload =
      workload_with(profile, [](const OperationProfile& operation) { return operation.median_s; });
  workload.overheads.gap = {profile.gap.mean_s};
  return workload;
}

Workload fastest_workload(const MeasuredProfile& profile) {
  return workload_with(profile,
                       [](const OperationProfile& operation) { return operation.shortest_s; });
}

std::string scenario_text(const MeasuredProfile& profile, const std::string& csv_name) {
  const Workload workload = profiled_workload(profile);
  const auto micros = [](double seconds) { return format_number(std::round(seconds * 1e9) / 1e3); };
  const std::string schedule =
      profile.schedule.empty() ? "{csv: " + csv_name + "}" : profile.schedule;
  std::string text = fmt::format(
      "name: measured costs, {} stages, {} microbatches\n"
      "pipeline:\n  schedule: {}\n  ranks: {}\n  chunks: {}\n  microbatches: {}\n"
      "workload:\n  costs:  # medians of the measured operations, per stage\n    forward: {}\n",
      profile.shape.stages(), profile.shape.microbatches, schedule, profile.shape.ranks,
      profile.shape.chunks, profile.shape.microbatches,
      list_text(workload.costs, &StageCost::forward));
  if (workload.backward_is_split)
    text += fmt::format("    backward_input: {}\n    backward_weight: {}\n",
                        list_text(workload.costs, &StageCost::backward_input),
                        list_text(workload.costs, &StageCost::backward_weight));
  else if (has_backward(profile.program))
    text +=
        fmt::format("    backward: {}\n", list_text(workload.costs, &StageCost::backward_input));
  text += fmt::format(
      "platform:\n  delay: {} us  # end of a producer to the begin of a consumer that waited\n"
      "overheads:\n  gap: {} us  # between two operations of a rank\n",
      micros(profile.message.median_s), micros(profile.gap.mean_s));
  return text;
}

}  // namespace pipecast
