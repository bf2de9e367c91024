#include "sim/study/evaluator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <variant>

#include "sim/run/longest_path.hpp"
#include "sim/run/simgrid_run.hpp"
#include "sim/study/estimate_step.hpp"
#include "sim/study/random_source.hpp"

namespace pipecast {
namespace {

constexpr std::size_t kMachinesKept = 8;

std::string one_line(const Diagnostics& faults) {
  constexpr std::size_t kMost = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(faults.size(), kMost); ++i)
    text += (i == 0 ? "" : "; ") + faults[i].message;
  if (faults.size() > kMost) text += fmt::format("; and {} more", faults.size() - kMost);
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

StudyRow refused(const Diagnostics& faults, Tier tier) {
  StudyRow row;
  row.tier = tier;
  const bool input = std::any_of(faults.begin(), faults.end(), [](const Diagnostic& fault) {
    return fault.fault == Fault::Input;
  });
  row.state = input ? RowState::Malformed : RowState::Refused;
  row.reason = one_line(faults);
  return row;
}

void vary(TaskGraph& graph, const Variation& variation) {
  for (Route& route : graph.routes) {
    route.latency = route.latency * variation.latency;
    route.bandwidth = route.bandwidth * variation.bandwidth;
  }
  const std::int32_t middle = graph.ranks / 2;
  RandomSource random(variation.seed);
  for (Task& task : graph.tasks) {
    if (!is_work(task)) continue;
    task.seconds /= variation.compute;
    if (task.rank == middle) task.seconds *= variation.slowest_rank;
    if (variation.jitter > 0) task.seconds *= std::max(0.0, 1 + variation.jitter * random.normal());
  }
}

/// The links too, for the evaluator that shares them.
Platform varied(const Platform& platform, const Variation& variation) {
  Platform result = platform;
  for (Link& link : result.links) {
    link.latency = link.latency * variation.latency;
    link.bandwidth = link.bandwidth * variation.bandwidth;
  }
  return result;
}

double free_bytes(const RankSummary& rank) {
  return rank.capacity.value > 0 ? (rank.capacity - rank.peak_memory).value
                                 : -rank.peak_memory.value;
}

void fill_memory(Figures& figures, const Summary& summary) {
  const RankSummary& tightest = *std::min_element(
      summary.ranks.begin(), summary.ranks.end(),
      [](const RankSummary& a, const RankSummary& b) { return free_bytes(a) < free_bytes(b); });
  figures.peak_memory_bytes = tightest.peak_memory.value;
  figures.peak_activation_bytes = tightest.peak_activation.value;
  figures.static_bytes = tightest.static_memory.value;
  figures.capacity_bytes = tightest.capacity.value;
  figures.tightest_rank = tightest.rank.value;
}

void fill_times(Figures& figures, const Summary& summary) {
  figures.step_s = summary.step_s;
  figures.ideal_s = summary.ideal_s;
  figures.bubble_fraction = summary.bubble_fraction;
  figures.bubble_overhead = summary.bubble_overhead;
  figures.span_bubble_fraction = summary.span_bubble_fraction;
  const auto mean = [&](double RankSummary::*part) {
    double sum = 0;
    for (const RankSummary& rank : summary.ranks) sum += rank.*part;
    return sum / static_cast<double>(summary.ranks.size());
  };
  figures.warmup_idle_s = mean(&RankSummary::warmup_idle_s);
  figures.steady_idle_s = mean(&RankSummary::steady_idle_s);
  figures.cooldown_idle_s = mean(&RankSummary::cooldown_idle_s);
  figures.waiting_for_transfer_s = mean(&RankSummary::waiting_for_transfer_s);
  figures.pipeline_ranks = static_cast<double>(summary.ranks.size());
  figures.tasks = static_cast<double>(summary.tasks);
}

/// A model knows its tokens and FLOPs.
void fill_model(Figures& figures, const ModelRun& model, const Program& program,
                const Summary& summary, const StepEnds& ends) {
  const StepEstimate estimate = estimate_step(model, program, summary, ends);
  figures.step_s = estimate.step_s;
  figures.waiting_for_collective_s = ends.total() - ends.update_s;
  figures.tokens_per_step = model.derivation.tokens;
  figures.model_flops = model.derivation.model_flops;
  figures.peak_flops = model.derivation.peak_flops * estimate.devices;
}

/// What the step is worth: tokens, devices.
void fill_scale(Figures& figures, const Scenario& scenario, const Study& study) {
  figures.devices = scenario.parallel.devices();
  figures.tokens_per_step =
      study.training.tokens_per_microbatch * scenario.shape.microbatches * scenario.parallel.data;
}

/// Times and varied seconds of the replica that is shown.
Timeline show(const ReplicatedGraph& replicas, const Timeline& timeline, TaskGraph& shown) {
  for (std::size_t task = 0; task < shown.tasks.size(); ++task)
    shown.tasks[task].seconds = replicas.graph.tasks[replicas.shown_tasks[task]].seconds;
  return shown_timeline(replicas, timeline);
}

}  // namespace

Evaluator::Evaluator(const Study& study, const ReadContext& context)
    : study_(study), context_(context), document_(study.base) {
  context_.presets = study.presets;
}

Result<Scenario> Evaluator::scenario(std::int64_t candidate) {
  if (Diagnostics faults = apply(study_, choice_of(study_, candidate), document_); !faults.empty())
    return fail(std::move(faults));
  return read_scenario_document(document_, study_.base_file, context_, KeepSpans::No);
}

Result<const Platform*> Evaluator::machine_of(const Scenario& scenario) {
  const PlatformChoice& choice = scenario.platform;
  if (choice.file_platform) return &*choice.file_platform;
  const int ranks = choice.kind.empty() ? scenario.parallel.devices() : 0;
  const auto known = std::find_if(machines_.begin(), machines_.end(), [&](const Machine& machine) {
    return machine.kind == choice.kind && machine.ranks == ranks && machine.delay == choice.delay &&
           machine.values == choice.values;
  });
  if (known != machines_.end()) {
    std::rotate(known, known + 1, machines_.end());
    return &machines_.back().platform;
  }
  Result<Platform> platform = platform_of(scenario, context_);
  if (!platform) return fail(std::move(platform.error()));
  if (machines_.size() == kMachinesKept) machines_.erase(machines_.begin());
  machines_.push_back({choice.kind, choice.values, choice.delay, ranks, std::move(*platform)});
  return &machines_.back().platform;
}

StudyRow Evaluator::evaluate(const Scenario& scenario, Tier tier, const Variation& variation) {
  const Result<const Platform*> platform = machine_of(scenario);
  if (!platform) return refused(platform.error(), tier);
  Result<PlacedProgram> placed = place(scenario, context_, **platform);
  if (!placed) return refused(placed.error(), tier);
  std::optional<ReplicatedGraph>& replicas = placed->replicas;
  TaskGraph& whole = replicas ? replicas->graph : placed->graph;
  const Platform& machine = replicas ? replicas->platform : **platform;
  const bool changed = variation != Variation{};
  if (changed) vary(whole, variation);
  Timeline timeline;
  if (tier == Tier::Screening) {
    timeline = longest_path(whole);
  } else {
    Result<Timeline> shared =
        changed ? simgrid_run(whole, varied(machine, variation)) : simgrid_run(whole, machine);
    if (!shared) return refused(shared.error(), tier);
    timeline = std::move(*shared);
  }
  if (replicas) timeline = show(*replicas, timeline, placed->graph);
  const Summary summary =
      summarise(placed->program, placed->workload, machine, placed->graph, timeline);
  StudyRow row;
  row.tier = tier;
  fill_times(row.figures, summary);
  fill_memory(row.figures, summary);
  fill_scale(row.figures, scenario, study_);
  if (scenario.model)
    fill_model(row.figures, *scenario.model, placed->program, summary,
               step_ends(placed->graph, timeline));
  return row;
}

StudyRow Evaluator::evaluate(std::int64_t candidate, Tier tier, const Variation& variation) {
  const Result<Scenario> read = scenario(candidate);
  StudyRow row = read ? evaluate(*read, tier, variation) : refused(read.error(), tier);
  row.candidate = candidate;
  return row;
}

}  // namespace pipecast
