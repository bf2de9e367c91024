#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/read/study_parts.hpp"

namespace pipecast {
namespace {

constexpr double kMost = 1e30;

std::vector<std::string> objective_words() {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < kObjectives; ++i)
    words.emplace_back(objective_name(static_cast<Objective>(i)));
  return words;
}

std::optional<double> find_amount(const YamlCursor& map, const AmountRule& rule) {
  const auto given = map.find(rule.name);
  return given ? read_amount(*given, rule) : std::nullopt;
}

void find_uncertain(const YamlCursor& map, const AmountRule& rule, Uncertain& value) {
  if (const auto given = map.find(rule.name)) value = read_uncertain(*given, rule).value_or(value);
}

}  // namespace

std::string_view objective_name(Objective objective) {
  switch (objective) {
    case Objective::StepTime:
      return "step_s";
    case Objective::TokensPerSecond:
      return "tokens_per_s";
    case Objective::TokensPerSecondPerDevice:
      return "tokens_per_s_per_device";
    case Objective::UsdPerMillionTokens:
      return "usd_per_million_tokens";
    case Objective::Usd:
      return "usd";
    case Objective::Days:
      return "days";
    case Objective::Energy:
      return "energy_mwh";
    case Objective::Devices:
      return "devices";
    case Objective::PeakMemory:
      return "peak_memory_bytes";
    case Objective::Bubble:
      return "bubble_fraction";
  }
  return "?";
}

std::vector<Objective> read_objectives(const YamlCursor& objectives) {
  const std::vector<std::string> words = objective_words();
  std::vector<Objective> result;
  const auto add = [&](const YamlCursor& given) {
    const auto word = given.choice(words);
    if (!word) return;
    const auto objective =
        static_cast<Objective>(std::find(words.begin(), words.end(), *word) - words.begin());
    if (std::find(result.begin(), result.end(), objective) != result.end())
      given.fault(fmt::format("objective {} is listed twice", *word));
    result.push_back(objective);
  };
  if (objectives.size() == 0 && objectives.kind() != YamlKind::Scalar)
    objectives.fault("objectives has no entries", "leave it out to rank by step_s");
  else if (objectives.is_map())
    objectives.fault("objectives is a map, a list of words is needed", "objectives: [step_s]");
  else if (!objectives.is_list())
    add(objectives);
  else
    for (std::size_t i = 0; i < objectives.size(); ++i) add(objectives.item(i));
  return result;
}

Constraints read_constraints(const YamlCursor& constraints) {
  Constraints result;
  if (!constraints.expect_map(
          {"memory_margin", "budget", "power", "time", "tokens_per_s", "devices"}))
    return result;
  result.memory_margin =
      find_amount(constraints, {"memory_margin", Dimension::None, 0, 0.99, "share, such as 0.05"})
          .value_or(0);
  result.usd = find_amount(
      constraints, {"budget", Dimension::Money, 0, kMost, "of the whole run, such as 2e6 USD"});
  result.power_w = find_amount(
      constraints, {"power", Dimension::Power, 0, kMost, "at the meter, such as 1.5 MW"});
  if (const auto given = constraints.find("time"))
    if (const auto hours = read_hours(*given)) result.days = *hours / 24;
  result.tokens_per_s = find_amount(
      constraints, {"tokens_per_s", Dimension::None, 0, kMost, "at least as many, such as 1e6"});
  result.devices = find_amount(
      constraints, {"devices", Dimension::None, 1, 1e9, "at most as many, such as 1024"});
  return result;
}

Training read_training(const YamlCursor& training) {
  Training result;
  if (!training.expect_map(
          {"tokens", "critical_batch", "reference_batch", "tokens_per_microbatch"}))
    return result;
  const auto number = [&](std::string_view key, std::string_view help) {
    return find_amount(training, {key, Dimension::None, 0, kMost, help}).value_or(0);
  };
  result.tokens = number("tokens", "of the whole run, such as 15e12");
  result.critical_batch = number("critical_batch", "in tokens, such as 4e6");
  result.reference_batch =
      number("reference_batch", "in tokens; the batch that `tokens` is meant for");
  result.tokens_per_microbatch = number("tokens_per_microbatch", "of one pipeline, such as 4096");
  if (result.critical_batch > 0 && !(result.reference_batch > 0) &&
      !training.has("reference_batch"))
    training.fault_at_key(
        "critical_batch needs reference_batch, the batch in tokens that the "
        "token budget is meant for",
        "steps(B) = S_min (1 + B_crit / B)");
  return result;
}

Refinement read_refinement(const YamlCursor& simgrid) {
  Refinement result;
  if (!simgrid.is_map()) {
    const std::array<std::string, 2> words{"none", "all"};
    const auto word = simgrid.choice(words);
    if (word == "none") return {0, 0, 0};
    if (word == "all")
      return {static_cast<int>(kMaxCandidates), 1e9, static_cast<int>(kMaxCandidates)};
    return result;
  }
  if (!simgrid.expect_map({"best", "margin", "at_most"})) return result;
  if (const auto given = simgrid.find("best"))
    result.best = static_cast<int>(given->integer(0, kMaxCandidates).value_or(result.best));
  if (const auto given = simgrid.find("at_most"))
    result.at_most = static_cast<int>(given->integer(0, kMaxCandidates).value_or(result.at_most));
  result.margin = find_amount(simgrid, {"margin", Dimension::None, 0, 1e9, "share, such as 0.02"})
                      .value_or(result.margin);
  return result;
}

Sampling read_sampling(const YamlCursor& uncertainty) {
  Sampling result;
  if (!uncertainty.expect_map({"samples", "seed", "compute", "bandwidth", "latency", "jitter"}))
    return result;
  result.samples = 200;
  if (const auto given = uncertainty.find("samples"))
    result.samples = static_cast<int>(given->integer(1, 100'000).value_or(result.samples));
  if (const auto given = uncertainty.find("seed"))
    result.seed = given->integer(0, std::numeric_limits<std::int64_t>::max()).value_or(1);
  constexpr std::string_view kFactor = "factor on what the scenario says, such as [0.9, 1.1]";
  find_uncertain(uncertainty, {"compute", Dimension::None, 0.01, 100, kFactor}, result.compute);
  find_uncertain(uncertainty, {"bandwidth", Dimension::None, 0.01, 100, kFactor}, result.bandwidth);
  find_uncertain(uncertainty, {"latency", Dimension::None, 0.01, 100, kFactor}, result.latency);
  find_uncertain(uncertainty,
                 {"jitter", Dimension::None, 0, 1, "standard deviation of an operation's time"},
                 result.jitter);
  return result;
}

}  // namespace pipecast
