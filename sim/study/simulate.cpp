#include "sim/study/simulate.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iterator>
#include <utility>

#include "sim/cost/memory.hpp"
#include "sim/graph/head_of_line.hpp"
#include "sim/graph/symmetric_fold.hpp"
#include "sim/model/replica_devices.hpp"
#include "sim/report/footprint.hpp"
#include "sim/run/longest_path.hpp"
#include "sim/run/simgrid_run.hpp"
#include "sim/study/estimate_step.hpp"
#include "sim/study/even_stages.hpp"
#include "sim/study/expected_transfer.hpp"
#include "sim/study/imperfect_runs.hpp"
#include "sim/study/run_warnings.hpp"

namespace pipecast {
namespace {

Result<Program> program_of(const Scenario& scenario, const ReadContext& context,
                           Seconds transfer_hint) {
  const ScheduleChoice& choice = scenario.schedule;
  if (choice.csv_program) return *choice.csv_program;
  const ScheduleInfo* schedule = find_schedule(context.schedules, choice.name);
  if (schedule == nullptr)
    return fail(input_error("schedule '" + choice.name + "' is not registered", {}, choice.where));
  Result<Program> program =
      make_program(*schedule, {scenario.shape, choice.params, scenario.workload, transfer_hint});
  if (!program) return fail(located(std::move(program.error()), choice.where));
  return program;
}

/// Bytes that a file gives are whole, derived ones are those of a device already.
Workload on_a_device(const Scenario& scenario, const Program& program) {
  return fitted(scenario.model ? scenario.workload : sharded(scenario.workload, scenario.parallel),
                program);
}

std::optional<StepBound> bound_of(const Scenario& scenario, const ReadContext& context,
                                  Seconds transfer_hint) {
  const ScheduleInfo* schedule = find_schedule(context.schedules, scenario.schedule.name);
  if (schedule == nullptr || schedule->lower_bound == nullptr) return std::nullopt;
  const TimeBound bound = schedule->lower_bound(
      {scenario.shape, scenario.schedule.params, scenario.workload, transfer_hint});
  if (bound.at_least.value <= 0) return std::nullopt;
  return StepBound{bound.at_least.value, bound.of == TimeBound::Of::Makespan};
}

/// The devices of the layout, all of which exist.
Result<std::vector<DeviceId>> existing_devices(const Scenario& scenario, const Platform& platform) {
  std::vector<DeviceId> devices = devices_of(scenario.platform, scenario.parallel);
  const std::string have = std::to_string(platform.devices.size());
  if (devices.size() > platform.devices.size())
    return fail(
        infeasible((scenario.parallel.devices() == scenario.shape.ranks
                        ? "the pipeline has " + std::to_string(devices.size()) + " ranks"
                        : "the layout spans " + std::to_string(devices.size()) + " devices") +
                       ", the platform " + have + " devices",
                   "use a larger platform or fewer ranks", scenario.platform.where));
  for (const DeviceId device : devices)
    if (device.at() >= platform.devices.size())
      return fail(infeasible("device " + std::to_string(device.value) +
                                 " does not exist, the platform has " + have + " devices",
                             {}, scenario.where("platform.devices")));
  return devices;
}

/// Nothing to expect of a platform that is at fault; its faults are reported by the caller.
Seconds transfer_hint(const Scenario& scenario, const Result<Platform>& platform) {
  if (!platform) return {};
  const Result<std::vector<DeviceId>> devices = existing_devices(scenario, *platform);
  if (!devices || devices->size() != static_cast<std::size_t>(scenario.parallel.devices()))
    return {};
  return expected_transfer(*platform, ReplicaDevices(scenario.parallel, *devices).reported(),
                           scenario.workload);
}

void append(std::vector<std::string>& lines, std::vector<std::string> more) {
  std::move(more.begin(), more.end(), std::back_inserter(lines));
}

std::vector<std::string> warnings_of(const Scenario& scenario) {
  std::vector<std::string> warnings;
  if (const PlatformChoice& choice = scenario.platform; !choice.unverified.empty())
    warnings.push_back(fmt::format("platform {}: not verified: {}", choice.preset,
                                   fmt::join(choice.unverified, ", ")));
  if (!scenario.model) return warnings;
  append(warnings, scenario.model->planned.warnings);
  append(warnings, scenario.model->derivation.warnings);
  return warnings;
}

std::string schedule_name(const ScheduleChoice& choice) {
  if (!choice.name.empty()) return choice.name;
  return choice.csv_path.substr(choice.csv_path.find_last_of('/') + 1);
}

/// The graph of the run, of one pipeline or of all its replicas. Jitter makes replicas differ.
Result<void> add_graph(const Scenario& scenario, const std::vector<DeviceId>& devices,
                       PreparedRun& run) {
  ParallelLayout layout = scenario.parallel;
  if (!scenario.imperfections.jitter.none()) layout.replicas = Replicas::All;
  if (layout.devices() > scenario.shape.ranks || !run.workload.sync.empty()) {
    Result<ReplicatedGraph> built = build_replicated_graph(run.program, run.workload, run.platform,
                                                           layout, devices, scenario.transfers);
    if (!built) return fail(located(std::move(built.error()), scenario.schedule.where));
    run.graph = std::move(built->shown);
    run.platform = built->platform;
    run.traffic = std::move(built->traffic);
    if (built->groups_left_out)
      run.warnings.emplace_back(
          "exchanges inside operations do not contend: as flows they would be more than 500,000 "
          "tasks; parallel.group_traffic.as: flows asks for them all the same");
    run.replicas = std::move(*built);
  } else {
    Result<TaskGraph> graph =
        build_task_graph(run.program, run.workload, run.platform, devices, scenario.transfers);
    if (!graph) return fail(located(std::move(graph.error()), scenario.schedule.where));
    run.graph = std::move(*graph);
    run.traffic = fabric_traffic(run.graph, run.platform);
  }
  const TaskGraph& whole = run.replicas ? run.replicas->graph : run.graph;
  if (Diagnostics broken = broken_ways(whole, scenario.imperfections, run.platform);
      !broken.empty())
    return fail(located(std::move(broken), scenario.where("imperfections")));
  return {};
}

/// Memory of a model's ranks, part by part, against what their devices report.
std::vector<RankFootprint> footprints_of(const PreparedRun& run, const Timeline& timeline) {
  const TrainingPlan& plan = run.model->planned.plan;
  MemoryRules rules;
  rules.gradient_bytes = plan.gradient_bytes;
  rules.offload = plan.offload;
  const auto stages = stage_footprints(plan.model, plan.layout, plan.stages, plan.kernels, rules);
  std::vector<RankFootprint> ranks = measure_footprints(run.program, run.workload, stages,
                                                        rules.workspace, run.graph.tasks, timeline);
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    judge(ranks[rank], rules, run.capacities[rank]);
  return ranks;
}

}  // namespace

std::string_view engine_name(Engine engine) {
  switch (engine) {
    case Engine::Simgrid:
      return "simgrid";
    case Engine::LongestPath:
      return "longest-path";
  }
  return "?";
}

RunView FinishedRun::view() const {
  return {.scenario = prepared.scenario,
          .engine = std::string(engine_name(engine)),
          .schedule = prepared.schedule,
          .program = prepared.program,
          .workload = prepared.workload,
          .platform = prepared.platform,
          .graph = prepared.graph,
          .tasks = prepared.graph.tasks,
          .routes = prepared.graph.routes,
          .device_of_rank = prepared.graph.device_of_rank,
          .timeline = timeline,
          .summary = summary,
          .warnings = prepared.warnings,
          .lower_bound = prepared.lower_bound,
          .delays = delays ? &*delays : nullptr,
          .replicas = prepared.replicas ? prepared.replicas->replicas : 1,
          .replicas_simulated = prepared.replicas ? prepared.replicas->simulated : 1,
          .traffic = &prepared.traffic,
          .estimate = estimate ? &*estimate : nullptr,
          .footprints = footprints};
}

Result<Platform> platform_of(const Scenario& scenario, const ReadContext& context) {
  const PlatformChoice& choice = scenario.platform;
  if (choice.file_platform) return *choice.file_platform;
  if (choice.kind.empty())
    return constant_delay_platform(scenario.parallel.devices(), choice.delay);
  const PlatformKind* kind = find_platform_kind(context.platform_kinds, choice.kind);
  if (kind == nullptr)
    return fail(
        input_error("platform kind '" + choice.kind + "' is not registered", {}, choice.where));
  Result<Platform> platform = make_platform(*kind, choice.values, choice.parts);
  if (!platform) return fail(located(std::move(platform.error()), choice.where));
  return platform;
}

Result<Platform> with_imperfections(const Scenario& scenario, Platform platform) {
  Result<Platform> worse = imperfect(std::move(platform), scenario.imperfections);
  if (!worse) return worse;
  const Result<std::vector<DeviceId>> devices = existing_devices(scenario, *worse);
  if (!devices) return fail(devices.error());
  worse = in_step(std::move(*worse), scenario.imperfections, scenario.parallel, *devices);
  if (!worse) return fail(located(std::move(worse.error()), scenario.where("imperfections")));
  return worse;
}

Result<OrderedProgram> order(const Scenario& scenario, const ReadContext& context,
                             const Platform& platform) {
  Result<std::vector<DeviceId>> devices = existing_devices(scenario, platform);
  if (!devices) return fail(std::move(devices.error()));
  const Seconds hint = expected_transfer(
      platform, ReplicaDevices(scenario.parallel, *devices).reported(), scenario.workload);
  Result<Program> program = program_of(scenario, context, hint);
  if (!program) return fail(std::move(program.error()));
  OrderedProgram ordered{std::move(*program), {}, std::move(*devices)};
  ordered.workload = on_a_device(scenario, ordered.program);
  return ordered;
}

Result<PlacedProgram> place(OrderedProgram ordered, const Scenario& scenario,
                            const Platform& platform, Engine engine) {
  PlacedProgram placed{std::move(ordered.program), std::move(ordered.workload), {}, {}};
  const bool exchange = !placed.workload.sync.empty();
  const bool several = scenario.parallel.devices() > scenario.shape.ranks;
  const bool unlike = several && !replicas_alike(ReplicaDevices(scenario.parallel, ordered.devices),
                                                 placed.workload, platform);
  if (exchange || unlike || (several && engine == Engine::Simgrid)) {
    ParallelLayout layout = scenario.parallel;
    // On links that nobody shares flows inside operations take what the operations say.
    if (engine == Engine::LongestPath) layout.group_traffic.as = GroupTraffic::As::ClosedForm;
    Result<ReplicatedGraph> built = build_replicated_graph(
        placed.program, placed.workload, platform, layout, ordered.devices, scenario.transfers);
    if (!built) return fail(located(std::move(built.error()), scenario.schedule.where));
    placed.graph = std::move(built->shown);
    placed.replicas = std::move(*built);
    return placed;
  }
  Result<TaskGraph> graph = build_task_graph(
      placed.program, placed.workload, platform,
      ReplicaDevices(scenario.parallel, ordered.devices).reported(), scenario.transfers);
  if (!graph) return fail(located(std::move(graph.error()), scenario.schedule.where));
  placed.graph = std::move(*graph);
  return placed;
}

Result<PreparedRun> prepare(const Scenario& scenario, const ReadContext& context) {
  Result<Platform> platform = platform_of(scenario, context);
  const Seconds hint = transfer_hint(scenario, platform);
  Result<Program> program = program_of(scenario, context, hint);
  Diagnostics faults;
  if (platform) platform = imperfect(std::move(*platform), scenario.imperfections);
  if (!platform) faults.insert(faults.end(), platform.error().begin(), platform.error().end());
  if (!program) faults.insert(faults.end(), program.error().begin(), program.error().end());
  if (!faults.empty()) return fail(std::move(faults));
  Result<std::vector<DeviceId>> devices = existing_devices(scenario, *platform);
  if (!devices) return fail(std::move(devices.error()));
  platform = in_step(std::move(*platform), scenario.imperfections, scenario.parallel, *devices);
  if (!platform) return fail(located(std::move(platform.error()), scenario.where("imperfections")));
  Workload workload = on_a_device(scenario, *program);
  PreparedRun run{.scenario = scenario.name,
                  .schedule = schedule_name(scenario.schedule),
                  .program = std::move(*program),
                  .workload = std::move(workload),
                  .platform = std::move(*platform),
                  .graph = {},
                  .warnings = warnings_of(scenario),
                  .imperfections = scenario.imperfections,
                  .transfers = scenario.transfers,
                  .lower_bound = bound_of(scenario, context, hint),
                  .replicas = {},
                  .model = scenario.model,
                  .traffic = {},
                  .capacities = {}};
  if (devices->size() ==
      static_cast<std::size_t>(scenario.parallel.devices())) {  // else told later
    const ReplicaDevices placed(scenario.parallel, *devices);
    run.capacities = rank_capacities(run.platform, placed);
    append(run.warnings, unlike_replicas(run.platform, placed));
  }
  append(run.warnings, transfer_warnings(run.program, run.transfers));
  if (Result<void> built = add_graph(scenario, *devices, run); !built) return fail(built.error());
  if (scenario.imperfections.none()) return run;
  Scenario ordinary = scenario;
  ordinary.imperfections = {};
  Result<PreparedRun> without = prepare(ordinary, context);
  if (!without) return without;
  run.ordinary = std::make_shared<const PreparedRun>(std::move(*without));
  return run;
}

Result<Timeline> evaluate(const TaskGraph& graph, const Platform& platform, Engine engine) {
  if (engine == Engine::LongestPath) return longest_path(graph);
  return simgrid_run(graph, platform);
}

namespace {

/// 0 where nothing is wrong with the machine.
Result<double> ordinary_step(const PreparedRun& run, Engine engine) {
  if (!run.ordinary) return 0.0;
  const PreparedRun& plain = *run.ordinary;
  const Result<Timeline> timeline =
      evaluate(plain.replicas ? plain.replicas->graph : plain.graph, plain.platform, engine);
  if (!timeline) return fail(timeline.error());
  return makespan(*timeline).value;
}

}  // namespace

Result<FinishedRun> execute(PreparedRun prepared, Engine engine) {
  FinishedRun run{std::move(prepared), engine, {}, {}, {}, {}, {}};
  const std::optional<ReplicatedGraph>& replicas = run.prepared.replicas;
  const TaskGraph& whole = replicas ? replicas->graph : run.prepared.graph;
  const auto evaluated = [&](const TaskGraph& some) {
    return evaluate(some, run.prepared.platform, engine);
  };
  Result<Timeline> timeline = evaluated(whole);
  if (!timeline) return fail(std::move(timeline.error()));
  run.timeline = std::move(*timeline);
  const Imperfections& wrong = run.prepared.imperfections;
  if (!wrong.none() || !run.prepared.workload.on.empty()) {
    Result<Delays> delays = delays_of(
        whole,
        ordinary_seconds(whole, run.prepared.program, run.prepared.workload, run.prepared.platform),
        run.prepared.graph.ranks, run.timeline, wrong.jitter, evaluated);
    if (!delays) return fail(std::move(delays.error()));
    run.delays = std::move(*delays);
    run.delays->links =
        delays_of_links(whole, run.prepared.platform, wrong.degraded_links, run.timeline);
    run.delays->step_s = makespan(run.timeline).value;
    const Result<double> ordinary = ordinary_step(run.prepared, engine);
    if (!ordinary) return fail(ordinary.error());
    run.delays->ordinary_s = *ordinary;
  }
  if (replicas) run.timeline = shown_timeline(*replicas, run.timeline);
  const TaskGraph& graph = run.prepared.graph;
  run.summary = summarise(run.prepared.program, run.prepared.workload, run.prepared.platform, graph,
                          run.timeline);
  if (!run.prepared.capacities.empty()) judge_memory(run.summary, run.prepared.capacities);
  if (run.prepared.model) {
    run.estimate = estimate_step(*run.prepared.model, run.prepared.program, run.summary,
                                 step_ends(graph, run.timeline));
    run.estimate->schedule_bubble =
        bubble_of_even_stages(run.prepared.program, run.prepared.workload);
    run.footprints = footprints_of(run.prepared, run.timeline);
    // A model's memory is known part by part; one answer to whether it fits.
    for (std::size_t rank = 0; rank < run.footprints.size(); ++rank)
      run.summary.ranks[rank].fits = run.footprints[rank].fits;
  }
  if (run.prepared.transfers != TransferPolicy::Overlapped)
    append(run.prepared.warnings, head_of_line_warnings(head_of_line(graph, run.timeline)));
  append(run.prepared.warnings, overload_warnings(run.summary, run.prepared.platform));
  return run;
}

Result<FinishedRun> simulate(const Scenario& scenario, const ReadContext& context, Engine engine) {
  Result<PreparedRun> prepared = prepare(scenario, context);
  if (!prepared) return fail(std::move(prepared.error()));
  return execute(std::move(*prepared), engine);
}

}  // namespace pipecast
