#include "sim/study/formula_grid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <numeric>
#include <set>

#include "sim/graph/task_graph.hpp"
#include "sim/model/weights.hpp"
#include "sim/report/memory.hpp"
#include "sim/run/longest_path.hpp"

namespace pipecast {
namespace {

/// Ticks: equal; W < F < I; F < W; no W and B = 2F; F = B twice; heavy W; F = I > W; B = 3F; F < W
/// < I.
struct Costs {
  std::int64_t F, I, W;
};
constexpr std::array kCosts = {Costs{4, 4, 4}, Costs{8, 12, 4}, Costs{12, 8, 16}, Costs{4, 8, 0},
                               Costs{4, 4, 0}, Costs{8, 4, 4},  Costs{4, 4, 8},   Costs{8, 8, 4},
                               Costs{4, 8, 4}, Costs{4, 12, 8}};
constexpr std::array<std::int64_t, 3> kDelays = {0, 1, 6};
constexpr std::array kRanks = {2, 3, 4, 5, 6, 8};

/// Searching schedules take a second where others take microseconds.
bool searches(const ScheduleInfo& schedule) { return schedule.lower_bound != nullptr; }

std::set<int> microbatch_counts(int ranks, bool few) {
  if (few) return {ranks, 2 * ranks, 2 * ranks + 1};
  return {1,         2,         3,         ranks - 1,     ranks,         ranks + 1,
          2 * ranks, 3 * ranks, 4 * ranks, 2 * ranks - 1, 2 * ranks + 1, 2 * ranks + 2};
}

std::vector<int> chunk_counts(const ScheduleInfo& schedule, const FormulaInfo& formula, int n) {
  if (formula.parameter == "waves") return {2 * n};
  if (schedule.default_chunks == 1) return {1};
  return {1, 2, 3, 4};
}

std::int64_t ticks(double seconds) {
  const double rounded = std::round(seconds);
  assert(std::abs(seconds - rounded) < 1e-9 && "whole costs make whole times");
  return static_cast<std::int64_t>(rounded);
}

void measure_times(const Program& program, const TaskGraph& graph, const Timeline& timeline,
                   FormulaMeasurement& result) {
  const auto ranks = static_cast<std::size_t>(program.shape.ranks);
  std::vector<double> first(ranks, makespan(timeline).value), last(ranks, 0), busy(ranks, 0);
  for (std::size_t id = 0; id < graph.tasks.size(); ++id) {
    const Task& task = graph.tasks[id];
    if (is_transfer(task)) ++result.messages;
    if (!is_work(task)) continue;
    const auto rank = static_cast<std::size_t>(task.rank);
    first[rank] = std::min(first[rank], timeline.intervals[id].start_s);
    last[rank] = std::max(last[rank], timeline.intervals[id].end_s);
    busy[rank] += task.seconds;
  }
  result.makespan = ticks(makespan(timeline).value);
  result.busiest = ticks(*std::max_element(busy.begin(), busy.end()));
  result.work = ticks(std::accumulate(busy.begin(), busy.end(), 0.0));
  for (std::size_t rank = 0; rank < ranks; ++rank)
    result.largest_span = std::max(result.largest_span, ticks(last[rank] - first[rank]));
}

void measure_holdings(const Program& program, FormulaMeasurement& result) {
  std::vector<int> held(static_cast<std::size_t>(program.shape.ranks), 0);
  for (const Rank rank : program.placement.rank_of) ++held[rank.at()];
  result.stages_held = *std::max_element(held.begin(), held.end());
  for (const WeightUse& use : weight_use(program)) result.versions.push_back(use.versions);
  std::int64_t forwards = 0;
  for (const std::vector<Op>& ops : program.ranks)
    forwards += std::count_if(ops.begin(), ops.end(), [](const Op& op) {
      return is_forward(op.kind) && op.stage.value == 0;
    });
  result.first_stage_forwards = forwards / program.cuts.count() / program.steps;
}

std::optional<FormulaMeasurement> measured(const Program& program, const Workload& workload,
                                           Seconds delay) {
  std::vector<DeviceId> devices;
  for (int rank = 0; rank < program.shape.ranks; ++rank) devices.push_back({rank});
  const Platform platform = constant_delay_platform(program.shape.ranks, delay);
  const Result<TaskGraph> graph = build_task_graph(program, workload, platform, devices);
  if (!graph) return std::nullopt;
  const Timeline timeline = longest_path(*graph);
  FormulaMeasurement result;
  measure_times(program, *graph, timeline, result);
  measure_holdings(program, result);
  for (const RankMemory& rank :
       measure_memory(program, fitted(workload, program), graph->tasks, timeline).ranks) {
    result.peaks.push_back(rank.peak_in_flight);
    result.peaks_at_input.push_back(rank.peak_in_flight_free_at_input);
  }
  return result;
}

Result<FieldValues> params_of(const ScheduleInfo& schedule, std::string_view parameter, int n) {
  std::map<std::string, std::string, std::less<>> texts;
  if (!parameter.empty()) texts[std::string(parameter)] = std::to_string(n);
  if (searches(schedule)) texts["moves"] = "400";
  return parse_fields(schedule.fields, texts);
}

}  // namespace

int FormulaMeasurement::largest_peak() const {
  return *std::max_element(peaks.begin(), peaks.end());
}

const Program* FormulaRuns::program_of(const ScheduleInfo& schedule, std::string_view parameter,
                                       const FormulaPoint& at, const Workload& workload) {
  const ProgramKey key{schedule.name, parameter, at.P, at.v, at.m, at.n};
  if (key == program_key_ && !searches(schedule)) return program_ ? &*program_ : nullptr;
  program_key_ = key;
  program_.reset();
  const Result<FieldValues> params = params_of(schedule, parameter, at.n);
  if (!params) return nullptr;
  Result<Program> program = make_program(
      schedule, {{at.P, at.v, at.m}, *params, workload, Seconds{static_cast<double>(at.c)}});
  if (program) program_ = std::move(*program);
  return program_ ? &*program_ : nullptr;
}

const FormulaMeasurement* FormulaRuns::at(std::string_view schedule_name,
                                          std::string_view parameter, const FormulaPoint& at) {
  const ScheduleInfo* schedule = find_schedule(schedules_, schedule_name);
  if (schedule == nullptr) return nullptr;
  const Key key{schedule->name, parameter, at.P, at.v, at.m, at.n, at.F, at.I, at.W, at.c};
  if (const auto found = made_.find(key); found != made_.end())
    return found->second ? &*found->second : nullptr;
  const auto seconds = [](std::int64_t amount) { return Seconds{static_cast<double>(amount)}; };
  const Workload workload =
      uniform_workload({at.P, at.v, at.m}, {seconds(at.F), seconds(at.I), seconds(at.W)});
  const Program* program = program_of(*schedule, parameter, at, workload);
  std::optional<FormulaMeasurement>& made = made_[key];
  if (program != nullptr) made = measured(*program, workload, seconds(at.c));
  return made ? &*made : nullptr;
}

std::string formula_grid_text() {
  const auto listed = [](const auto& numbers) {
    return fmt::format("{}", fmt::join(numbers, ", "));
  };
  std::string costs;
  for (const Costs& cost : kCosts)
    costs += fmt::format("{}({}, {}, {})", costs.empty() ? "" : ", ", cost.F, cost.I, cost.W);
  return fmt::format(
      "P in {{{}}}; v in {{1, 2, 3, 4}} where the schedule takes several, else what it needs; m in "
      "{{1, 2, 3, "
      "P-1, P, P+1, 2P-1, 2P, 2P+1, 2P+2, 3P, 4P}}; (F, I, W) in {{{}}} ticks; c in {{{}}} ticks. "
      "Schedules that search are looked at for P <= 4 and m in {{P, 2P, 2P+1}}. The schedule's own "
      "parameter "
      "takes 1, 2, 3 (cuts 1, 2, 4) where a form has an n.",
      listed(kRanks), costs, listed(kDelays));
}

std::vector<FormulaPoint> formula_grid(const FormulaInfo& formula, const ScheduleInfo& schedule) {
  const bool few = searches(schedule);
  const bool samples = formula.quantity == FormulaQuantity::Samples;
  std::vector<int> values{1};
  if (!formula.parameter.empty()) values = {1, 2, 3};
  if (formula.parameter == "cuts") values = {1, 2, 4};  // they divide every cost
  std::vector<FormulaPoint> points;
  for (const int P : kRanks)
    for (const int n : values)
      for (const int v : chunk_counts(schedule, formula, n))
        for (const int m : microbatch_counts(P, few || samples)) {
          if (few && P > 4) continue;
          for (const Costs& cost : kCosts)
            for (const std::int64_t c : kDelays) {
              if (samples && (cost.W != cost.F || cost.I != cost.F || c != 0)) continue;
              FormulaPoint point{P, v, m, cost.F, cost.I, cost.W, c, n, 1, 1, 0};
              if (samples) std::tie(point.b, point.d) = std::pair{3, 4};
              points.push_back(point);
            }
        }
  return points;
}

}  // namespace pipecast
