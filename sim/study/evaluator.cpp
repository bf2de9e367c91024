#include "sim/study/evaluator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <variant>

#include "sim/cost/step_tail.hpp"
#include "sim/model/replica_devices.hpp"
#include "sim/report/memory.hpp"
#include "sim/run/longest_path.hpp"
#include "sim/run/simgrid_run.hpp"
#include "sim/study/estimate_step.hpp"
#include "sim/study/imperfect_runs.hpp"
#include "sim/study/random_source.hpp"

namespace pipecast {
namespace {

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

/// Memory of the rank that has least room.
struct Tightest {
  Bytes statics;
  Bytes activation;
  Bytes capacity;
  std::int32_t rank = 0;

  Bytes peak() const { return statics + activation; }
  double free_bytes() const {
    return capacity.value > 0 ? (capacity - peak()).value : -peak().value;
  }
};

Tightest tightest_of(std::span<const RankMemory> ranks, std::span<const Bytes> capacities) {
  Tightest result;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const Tightest here{ranks[rank].static_memory(), ranks[rank].peak_activation, capacities[rank],
                        static_cast<std::int32_t>(rank)};
    if (rank == 0 || here.free_bytes() < result.free_bytes()) result = here;
  }
  return result;
}

void fill_memory(Figures& figures, const Tightest& memory) {
  figures.peak_memory_bytes = memory.peak().value;
  figures.peak_activation_bytes = memory.activation.value;
  figures.static_bytes = memory.statics.value;
  figures.capacity_bytes = memory.capacity.value;
  figures.tightest_rank = memory.rank;
}

Tightest tightest_of(const Summary& summary) {
  std::vector<Tightest> ranks;
  for (const RankSummary& rank : summary.ranks)
    ranks.push_back({rank.static_memory, rank.peak_activation, rank.capacity, rank.rank.value});
  return *std::min_element(ranks.begin(), ranks.end(), [](const Tightest& a, const Tightest& b) {
    return a.free_bytes() < b.free_bytes();
  });
}

/// What cannot fit is not run: memory follows from the order of the operations.
std::optional<StudyRow> too_large(const OrderedProgram& ordered, const Scenario& scenario,
                                  std::span<const Bytes> capacities, Tier tier) {
  const std::vector<RankMemory> ranks = ordered_memory(ordered.program, ordered.workload);
  const Tightest memory = tightest_of(ranks, capacities);
  if (!(memory.capacity.value > 0) || memory.free_bytes() >= 0) return std::nullopt;
  StudyRow row;
  row.tier = tier;
  row.state = RowState::TooLarge;
  row.short_by = -memory.free_bytes();
  fill_memory(row.figures, memory);
  row.figures.pipeline_ranks = static_cast<double>(ranks.size());
  row.figures.devices = scenario.parallel.devices();
  return row;
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
  figures.peak_flops = model.derivation.peak_flops;
}

/// Devices up to which screening has the collectives of a model as flows. All candidates of a
/// cluster have as many, so that they are compared alike.
constexpr int kScreenedWithFlows = 64;

/// The ends of a step in closed form, as the links are varied.
StepEnds ends_by_formula(const ModelRun& model, const Variation& variation) {
  const StepTail tail = step_tail(model.planned.plan, model.derivation, model.machine);
  return {tail.parameters.value / variation.bandwidth, tail.gradients.value / variation.bandwidth,
          tail.optimizer.value / variation.compute, 0};
}

/// The pipeline's summary as if its step had these ends.
Summary with_ends(Summary summary, const StepEnds& ends) {
  summary.step_s += ends.total();
  for (RankSummary& rank : summary.ranks) rank.span_s += ends.total();
  return summary;
}

/// By name; nothing where no device has one.
std::string accelerators_of(const Platform& machine, std::span<const DeviceId> devices) {
  std::map<std::string_view, double> count;
  for (const DeviceId device : devices) ++count[machine.devices[device.at()].accelerator];
  std::vector<AcceleratorCount> counts;
  for (const auto& [accelerator, number] : count)
    if (!accelerator.empty()) counts.push_back({std::string(accelerator), number});
  return accelerators_text(counts);
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
  context_.cache = &cache_;
}

Result<Scenario> Evaluator::scenario(std::int64_t candidate) {
  if (Diagnostics faults = apply(study_, choice_of(study_, candidate), document_); !faults.empty())
    return fail(std::move(faults));
  return read_scenario_document(document_, study_.base_file, context_, KeepSpans::No);
}

Result<const Platform*> Evaluator::machine_of(const Scenario& scenario) {
  const PlatformChoice& choice = scenario.platform;
  if (choice.file_platform) return &*choice.file_platform;
  return cache_.machine(choice, scenario.parallel.devices(), context_.platform_kinds);
}

tl::expected<Evaluator::Ready, StudyRow> Evaluator::ready(const Scenario& scenario, Tier tier) {
  if (!scenario.imperfections.jitter.none())
    return tl::unexpected(
        refused({infeasible("a study does not sample the jitter of a scenario")}, tier));
  const Result<const Platform*> platform = machine_of(scenario);
  if (!platform) return tl::unexpected(refused(platform.error(), tier));
  Ready result{tier, scenario, {}, *platform, {}, {}, {}, false};
  if (!scenario.imperfections.none()) {
    Result<Platform> worse = with_imperfections(scenario, **platform);
    if (!worse) return tl::unexpected(refused(worse.error(), tier));
    result.worse = std::move(*worse);
  }
  const Platform& machine = result.worse ? *result.worse : **platform;
  Result<OrderedProgram> ordered = order(scenario, context_, machine);
  if (!ordered) return tl::unexpected(refused(ordered.error(), tier));
  result.capacities = rank_capacities(machine, ReplicaDevices(scenario.parallel, ordered->devices));
  result.accelerators = accelerators_of(machine, ordered->devices);
  if (std::optional<StudyRow> row = too_large(*ordered, scenario, result.capacities, tier))
    return tl::unexpected(std::move(*row));
  // Building every replica of a large cluster with its collectives costs a hundred times the
  // pipeline; screening takes a model's from the closed form. On a small one, where few
  // microbatches leave them exposed, the form is a sixth off and would drop winners.
  result.by_formula = tier == Tier::Screening && scenario.model.has_value() &&
                      scenario.parallel.devices() > kScreenedWithFlows;
  if (result.by_formula) ordered->workload.sync.clear();
  const Engine engine = tier == Tier::Screening ? Engine::LongestPath : Engine::Simgrid;
  Result<PlacedProgram> placed = place(std::move(*ordered), scenario, machine, engine);
  if (!placed) return tl::unexpected(refused(placed.error(), tier));
  result.placed = std::move(*placed);
  if (const Diagnostics broken =
          broken_ways(result.whole(), scenario.imperfections, result.machine());
      !broken.empty())
    return tl::unexpected(refused(broken, tier));
  return result;
}

StudyRow Evaluator::run(Ready ready, const Variation& variation) const {
  const bool changed = variation != Variation{};
  TaskGraph& whole = ready.whole();
  if (changed) vary(whole, variation);
  Timeline timeline;
  if (ready.tier == Tier::Screening) {
    timeline = longest_path(whole);
  } else {
    Result<Timeline> shared = changed ? simgrid_run(whole, varied(ready.machine(), variation))
                                      : simgrid_run(whole, ready.machine());
    if (!shared) return refused(shared.error(), ready.tier);
    timeline = std::move(*shared);
  }
  PlacedProgram& placed = ready.placed;
  if (placed.replicas) timeline = show(*placed.replicas, timeline, placed.graph);
  Summary summary =
      summarise(placed.program, placed.workload, ready.machine(), placed.graph, timeline);
  judge_memory(summary, ready.capacities);
  StudyRow row;
  row.tier = ready.tier;
  fill_times(row.figures, summary);
  fill_memory(row.figures, tightest_of(summary));
  fill_scale(row.figures, ready.scenario, study_);
  row.accelerators = ready.accelerators;
  if (ready.by_formula) {
    const StepEnds ends = ends_by_formula(*ready.scenario.model, variation);
    fill_model(row.figures, *ready.scenario.model, placed.program, with_ends(summary, ends), ends);
  } else if (ready.scenario.model) {
    fill_model(row.figures, *ready.scenario.model, placed.program, summary,
               step_ends(placed.graph, timeline));
  }
  return row;
}

StudyRow Evaluator::evaluate(std::int64_t candidate, Tier tier, const Variation& variation) {
  const auto made_ready = [&]() -> tl::expected<Ready, StudyRow> {
    const Result<Scenario> read = scenario(candidate);
    if (!read) return tl::unexpected(refused(read.error(), tier));
    return ready(*read, tier);
  };
  const auto row_of = [&](StudyRow row) {
    row.candidate = candidate;
    return row;
  };
  if (variation == Variation{}) {
    auto once = made_ready();
    return row_of(once ? run(std::move(*once), variation) : std::move(once.error()));
  }
  if (!kept_ || kept_->candidate != candidate || kept_->tier != tier)
    kept_ = Kept{candidate, tier, made_ready()};
  return row_of(kept_->ready ? run(*kept_->ready, variation) : kept_->ready.error());
}

}  // namespace pipecast
