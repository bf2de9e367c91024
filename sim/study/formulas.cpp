#include "sim/study/formulas.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "sim/study/formula_condition.hpp"
#include "sim/study/formula_grid.hpp"

namespace pipecast {
namespace {

bool is_per_rank(FormulaQuantity quantity) {
  return quantity == FormulaQuantity::PeakInFlight || quantity == FormulaQuantity::PeakAtInput ||
         quantity == FormulaQuantity::WeightVersions;
}

/// The quantity of the schedule at the point, of the rank at.r where it is one of a rank.
std::optional<Ratio> simulated(FormulaRuns& runs, std::string_view schedule,
                               const FormulaInfo& formula, const FormulaPoint& at) {
  const FormulaMeasurement* run = runs.at(schedule, formula.parameter, at);
  if (run == nullptr) return std::nullopt;
  const auto rank = static_cast<std::size_t>(at.r);
  switch (formula.quantity) {
    case FormulaQuantity::Makespan:
      return run->makespan;
    case FormulaQuantity::Extra:
      return run->makespan - run->busiest;
    case FormulaQuantity::ExtraSpan:
      return run->largest_span - run->busiest;
    case FormulaQuantity::BubbleFraction:
      return Ratio(at.P * run->makespan - run->work, at.P * run->makespan);
    case FormulaQuantity::BubbleOverhead:
      return Ratio(run->makespan - run->busiest, run->busiest);
    case FormulaQuantity::SpanBubble:
      return Ratio(run->largest_span - run->busiest, run->largest_span);
    case FormulaQuantity::PeakInFlight:
      return run->peaks[rank];
    case FormulaQuantity::PeakAtInput:
      return run->peaks_at_input[rank];
    case FormulaQuantity::LargestPeak:
      return run->largest_peak();
    case FormulaQuantity::PeakGrowth: {
      FormulaPoint doubled = at;
      doubled.m *= 2;
      const int before = run->largest_peak();
      const FormulaMeasurement* after = runs.at(schedule, formula.parameter, doubled);
      if (after == nullptr) return std::nullopt;
      return after->largest_peak() - before;
    }
    case FormulaQuantity::MemoryFactor: {
      const int own = run->largest_peak();
      FormulaPoint flat = at;
      flat.v = 1;
      const FormulaMeasurement* base = runs.at("1f1b", {}, flat);
      if (base == nullptr) return std::nullopt;
      return Ratio(own, std::int64_t{at.v} * base->largest_peak());
    }
    case FormulaQuantity::Messages:
      return run->messages;
    case FormulaQuantity::WeightCopies:
      return Ratio(run->stages_held, at.v);
    case FormulaQuantity::WeightVersions:
      return run->versions[rank];
    case FormulaQuantity::Samples:
      return run->first_stage_forwards * at.b * at.d;
  }
  return std::nullopt;
}

bool agrees(FormulaRelation relation, Ratio simulated, Ratio formula) {
  switch (relation) {
    case FormulaRelation::Equals:
      return simulated == formula;
    case FormulaRelation::AtMost:
      return simulated <= formula;
    case FormulaRelation::AtLeast:
      return simulated >= formula;
  }
  return false;
}

double deviation(Ratio simulated, Ratio formula) {
  return simulated == Ratio(0) ? 0 : std::abs(formula.value() / simulated.value() - 1);
}

/// One form at one point, on every rank where it is one of a rank; nothing when the schedule is not
/// valid there.
std::optional<JudgedPoint> judged(FormulaRuns& runs, const FormulaInfo& formula, FormulaPoint at) {
  const int ranks = is_per_rank(formula.quantity) ? at.P : 1;
  JudgedPoint point{at, true, {}};
  for (at.r = 0; at.r < ranks; ++at.r) {
    const auto seen = simulated(runs, formula.schedule, formula, at);
    if (!seen) return std::nullopt;
    const auto expected = formula.value != nullptr ? std::optional(formula.value(at))
                                                   : simulated(runs, formula.other, formula, at);
    if (!expected) return std::nullopt;
    if (point.holds && !agrees(formula.relation, *seen, *expected)) {
      point.holds = false;
      point.miss = {at, *expected, *seen};
    }
  }
  return point;
}

/// The grid goes from small to large; delays are the least telling reason to fail.
FormulaMiss smallest_miss(std::span<const JudgedPoint> points) {
  const auto first = [&](auto wanted) {
    return std::find_if(points.begin(), points.end(),
                        [&](const JudgedPoint& point) { return !point.holds && wanted(point.at); });
  };
  auto found = first([](const FormulaPoint& at) { return at.c == 0; });
  if (found == points.end()) found = first([](const FormulaPoint&) { return true; });
  return found->miss;
}

FormulaFinding finding_of(FormulaRuns& runs, const FormulaInfo& formula,
                          const ScheduleInfo& schedule) {
  FormulaFinding finding{.formula = formula, .condition = {}, .needs = {}, .smallest_miss = {}};
  std::vector<JudgedPoint> points;
  for (const FormulaPoint& at : formula_grid(formula, schedule)) {
    const std::optional<JudgedPoint> point = judged(runs, formula, at);
    if (!point) continue;
    points.push_back(*point);
    finding.holding += point->holds ? 1 : 0;
    if (!point->holds)
      finding.largest_deviation = std::max(finding.largest_deviation,
                                           deviation(point->miss.simulated, point->miss.formula));
  }
  finding.points = static_cast<int>(points.size());
  if (finding.holding == finding.points) {
    finding.verdict = FormulaVerdict::Holds;
    return finding;
  }
  finding.smallest_miss = smallest_miss(points);
  FormulaCondition condition = weakest_condition(points);
  if (condition.text.empty()) return finding;
  finding.verdict = FormulaVerdict::HoldsWhen;
  finding.condition = std::move(condition.text);
  finding.needs = std::move(condition.needs);
  finding.covered = condition.covered;
  finding.condition_is_exact = condition.covered == finding.holding;
  return finding;
}

}  // namespace

Result<std::vector<FormulaFinding>> check_formulas(std::span<const ScheduleInfo> subjects,
                                                   std::span<const ScheduleInfo> schedules,
                                                   std::span<const FormulaInfo> formulas) {
  for (const FormulaInfo& formula : formulas)
    for (const std::string_view name : {formula.schedule, formula.other})
      if (!name.empty() && find_schedule(schedules, name) == nullptr)
        return fail(infeasible("a closed form names '" + std::string(name) +
                               "', which is not a registered schedule"));
  std::vector<FormulaFinding> findings;
  for (const ScheduleInfo& schedule : subjects) {
    FormulaRuns runs(schedules);  // one schedule's simulations at a time bound the memory
    for (const FormulaInfo& formula : formulas)
      if (formula.schedule == schedule.name)
        findings.push_back(finding_of(runs, formula, schedule));
  }
  return findings;
}

std::string_view quantity_name(FormulaQuantity quantity) {
  switch (quantity) {
    case FormulaQuantity::Makespan:
      return "makespan";
    case FormulaQuantity::Extra:
      return "makespan - work";
    case FormulaQuantity::ExtraSpan:
      return "span - work";
    case FormulaQuantity::BubbleFraction:
      return "idle / total";
    case FormulaQuantity::BubbleOverhead:
      return "idle / ideal";
    case FormulaQuantity::SpanBubble:
      return "idle / span";
    case FormulaQuantity::PeakInFlight:
      return "activations of rank r";
    case FormulaQuantity::PeakAtInput:
      return "activations of rank r, freed at I";
    case FormulaQuantity::LargestPeak:
      return "activations, largest";
    case FormulaQuantity::PeakGrowth:
      return "activations added by doubling m";
    case FormulaQuantity::MemoryFactor:
      return "activation memory / 1F1B's";
    case FormulaQuantity::Messages:
      return "messages";
    case FormulaQuantity::WeightCopies:
      return "copies of the weights";
    case FormulaQuantity::WeightVersions:
      return "weight versions of rank r";
    case FormulaQuantity::Samples:
      return "samples per step";
  }
  return "?";
}

std::string_view verdict_name(FormulaVerdict verdict) {
  switch (verdict) {
    case FormulaVerdict::Holds:
      return "holds";
    case FormulaVerdict::HoldsWhen:
      return "holds when";
    case FormulaVerdict::Fails:
      return "fails";
  }
  return "?";
}

}  // namespace pipecast
