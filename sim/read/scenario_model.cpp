#include "sim/read/scenario_model.hpp"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>

#include "sim/read/cost_profile.hpp"
#include "sim/read/scenario_parts.hpp"

namespace pipecast {
namespace {

/// The platform a scenario names; null for a constant delay, whose devices are not known.
Result<const Platform*> platform_of(const PlatformChoice& choice, const ReadContext& context,
                                    ReadCache& cache) {
  if (choice.file_platform) return &*choice.file_platform;
  if (choice.kind.empty()) return nullptr;
  return cache.machine(choice, 0, context.platform_kinds);
}

/// What the ranks run on; where only the accelerator is known, no link is.
Result<PlanMachine> machine_of(const PlannedModel& planned, const PlatformChoice& choice,
                               const ReadContext& context, ReadCache& cache) {
  const DeviceLookup lookup = [&](const std::string& named) -> Result<const DeviceModel*> {
    const std::string& id = planned.accelerator.empty() ? named : planned.accelerator;
    if (id.empty())
      return fail(input_error("the platform does not say which accelerator it has",
                              "add accelerator: ID to the workload"));
    return cache.device(id, context.preset_folders);
  };
  const ParallelLayout& layout = planned.plan.layout;
  const Result<const Platform*> platform = platform_of(choice, context, cache);
  if (!platform) return fail(platform.error());
  if (*platform == nullptr) {
    const Result<const DeviceModel*> device = lookup("");
    if (!device) return fail(device.error());
    return uniform_machine(**device, unknown_links(layout), layout.devices());
  }
  const PlanNodes nodes =
      choice.parts.empty() && !choice.file_platform ? PlanNodes::Equal : PlanNodes::Unequal;
  std::vector<DeviceId> devices = devices_of(choice, layout);
  if (devices.size() != static_cast<std::size_t>(layout.devices()))  // which was told
    devices = devices_of({}, layout);
  if (Diagnostics mixed = mixed_groups(**platform, layout, devices); !mixed.empty())
    return fail(located(std::move(mixed), choice.where));
  return plan_machine(**platform, layout, devices, nodes, lookup);
}

/// Which rank holds which stage. Where the schedule does not take the shape, which is told when it
/// is put together, as most do.
Placement placement_of(const PipelineBlock& pipeline, const Shape& shape,
                       const ReadContext& context) {
  if (pipeline.schedule.csv_program) return pipeline.schedule.csv_program->placement;
  const ScheduleInfo* schedule = nullptr;
  for (const ScheduleInfo& each : context.schedules)
    if (each.name == pipeline.schedule.name) schedule = &each;
  if (schedule == nullptr) return loop_placement(shape);
  const Workload costs = uniform_workload(shape, {});
  const ScheduleRequest request{shape, pipeline.schedule.params, costs};
  return schedule->check(request).empty() ? pipecast::placement_of(*schedule, request)
                                          : loop_placement(shape);
}

Result<ModelRun> derived(PlannedModel planned, const PlatformChoice& choice,
                         const PipelineBlock& pipeline, const ReadContext& context,
                         ReadCache& cache) {
  const Shape shape{*pipeline.shape.ranks, *pipeline.shape.chunks, *pipeline.shape.microbatches};
  Result<PlanMachine> machine = machine_of(planned, choice, context, cache);
  if (!machine) return fail(machine.error());
  const bool equal = !machine->mixed() && machine->links.empty();
  const Placement placement =
      equal ? loop_placement(shape) : placement_of(pipeline, shape, context);
  Result<TrainingPlan> plan = with_stages(std::move(planned.plan), *machine, placement);
  if (!plan) return fail(std::move(plan.error()));
  Result<Derivation> derivation = derive(*plan, *machine, placement);
  if (!derivation) return fail(std::move(derivation.error()));
  planned.plan = std::move(*plan);
  if (Bytes& bucket = planned.plan.layout.gradient_reduction.bucket; bucket.value <= 0)
    bucket = Bytes{std::ceil(derivation->layer_gradient.value)};  // whole bytes, to be read back
  return ModelRun{std::move(planned), std::move(*machine), std::move(*derivation), false};
}

bool expect_keys(const YamlCursor& workload) {
  std::vector<std::string> keys = plan_keys();
  for (const std::string_view key : {"parallel", "costs", "profile"}) keys.emplace_back(key);
  for (const std::string_view key : kRuntimeKeys) keys.emplace_back(key);
  return workload.expect_map(keys);
}

/// Seconds the user measured, in place of the derived ones.
void replace_costs(const YamlCursor& workload, const PipelineBlock& pipeline,
                   const std::string& file, Scenario& scenario, ModelRun& run) {
  const auto profile = workload.find("profile");
  if (workload.has("costs")) {
    read_measured_costs(workload, pipeline, scenario.workload);
    scenario.workload.on.clear();
    run.measured_costs = true;
    if (profile)
      profile->fault_at_key("costs and profile both replace the derived seconds; give one");
    return;
  }
  const auto path = profile ? profile->text() : std::nullopt;
  if (!path) return;
  const std::string beside = (std::filesystem::path(file).parent_path() / *path).string();
  auto costs = read_cost_profile(beside, run.planned.plan.stages);
  if (!costs) {
    for (const Diagnostic& fault : costs.error()) profile->fault(fault.message, fault.hint);
    return;
  }
  scenario.workload.costs = std::move(*costs);
  scenario.workload.on.clear();
  run.measured_costs = true;
}

}  // namespace

void read_model_workload(const YamlCursor& workload, const PipelineBlock& pipeline,
                         const std::string& file, const ReadContext& context, FaultList& faults,
                         Scenario& scenario) {
  if (!expect_keys(workload)) return;
  ReadCache own;
  ReadCache& cache = context.cache != nullptr ? *context.cache : own;
  auto planned = read_planned_model(workload, scenario.parallel, pipeline.shape.microbatches, file,
                                    context.preset_folders, cache);
  if (!planned || !pipeline.shape.stages() || !pipeline.shape.microbatches ||
      !check(scenario.parallel).empty())
    return;
  Result<ModelRun> run = derived(std::move(*planned), scenario.platform, pipeline, context, cache);
  if (!run) {
    for (const Diagnostic& fault : run.error()) {
      if (fault.where.line > 0)
        faults.add({fault});
      else
        workload.fault_at_key(fault.message, fault.hint);
    }
    return;
  }
  scenario.workload = run->derivation.workload;
  scenario.workload.microbatches = *pipeline.shape.microbatches;
  replace_costs(workload, pipeline, file, scenario, *run);
  scenario.parallel = run->planned.plan.layout;
  scenario.model = std::move(*run);
}

}  // namespace pipecast
