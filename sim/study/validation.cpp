#include "sim/study/validation.hpp"

#include <cmath>
#include <map>

#include "sim/study/simulate.hpp"

namespace pipecast {
namespace {

ValidationRow validated(const PublishedRun& run, const ReadContext& context) {
  ValidationRow row;
  row.name = run.name;
  row.measured_s = run.measured_s;
  row.calibrates = run.calibrates;
  row.group = run.group;
  // On links that nobody shares flows inside operations take what the operations say.
  Scenario scenario = run.scenario;
  scenario.parallel.group_traffic.as = GroupTraffic::As::ClosedForm;
  const Result<FinishedRun> finished = simulate(scenario, context, Engine::LongestPath);
  if (!finished) {
    for (const Diagnostic& fault : finished.error())
      row.refused += (row.refused.empty() ? "" : "; ") + fault.message;
    return row;
  }
  if (finished->estimate) row.estimate = *finished->estimate;
  row.predicted_s = row.estimate.step_s;
  return row;
}

void add_errors(ValidationSource& result) {
  double sum = 0;
  for (const ValidationRow& row : result.rows) {
    if (!row.refused.empty() || !row.calibrates.empty()) continue;
    ++result.counted;
    sum += std::abs(row.error());
    if (std::abs(row.error()) > std::abs(result.worst_error)) result.worst_error = row.error();
  }
  if (result.counted > 0) result.mean_absolute_error = sum / result.counted;
}

void add_ratios(ValidationSource& result) {
  std::map<std::string, const ValidationRow*> first;
  double sum = 0;
  for (const ValidationRow& row : result.rows) {
    if (row.group.empty() || !row.refused.empty()) continue;
    const auto [known, is_new] = first.try_emplace(row.group, &row);
    if (is_new) continue;
    const double error = (1 + row.error()) / (1 + known->second->error()) - 1;
    ++result.ratios;
    sum += std::abs(error);
    if (std::abs(error) > std::abs(result.worst_ratio_error)) result.worst_ratio_error = error;
  }
  if (result.ratios > 0) result.mean_absolute_ratio_error = sum / result.ratios;
}

}  // namespace

ValidationSource validate(PublishedSource source, const ReadContext& context) {
  ValidationSource result;
  result.source = std::move(source);
  for (const PublishedRun& run : result.source.runs) result.rows.push_back(validated(run, context));
  add_errors(result);
  add_ratios(result);
  return result;
}

}  // namespace pipecast
