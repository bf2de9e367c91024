#include "sim/read/scenario_model.hpp"

#include <fmt/format.h>

#include <algorithm>
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

/// The devices a scenario lists, where all of them exist; else its run says so.
std::span<const int> listed_devices(const PlatformChoice& choice, const Platform& platform) {
  const auto exists = [&](int device) {
    return static_cast<std::size_t>(device) < platform.devices.size();
  };
  if (!std::all_of(choice.devices.begin(), choice.devices.end(), exists)) return {};
  return choice.devices;
}

Result<ClusterLinks> links_of(const ParallelLayout& layout, const PlatformChoice& choice,
                              const Platform* platform) {
  if (platform == nullptr) return unknown_links(layout);
  std::span<const int> devices = listed_devices(choice, *platform);
  if (devices.size() != static_cast<std::size_t>(layout.devices())) devices = {};
  return cluster_links(*platform, layout, devices);
}

Result<const DeviceModel*> device_of(const PlannedModel& planned, const Platform* platform,
                                     const ReadContext& context, ReadCache& cache) {
  std::string id = planned.accelerator;
  if (id.empty() && platform != nullptr && !platform->devices.empty())
    id = platform->devices.front().accelerator;
  if (id.empty())
    return fail(input_error("the platform does not say which accelerator it has",
                            "add accelerator: ID to the workload"));
  return cache.device(id, context.preset_folders);
}

Result<ModelRun> derived(PlannedModel planned, const PlatformChoice& choice,
                         const ReadContext& context, ReadCache& cache) {
  const Result<const Platform*> platform = platform_of(choice, context, cache);
  if (!platform) return fail(platform.error());
  const Result<const DeviceModel*> device = device_of(planned, *platform, context, cache);
  if (!device) return fail(device.error());
  const Result<ClusterLinks> links = links_of(planned.plan.layout, choice, *platform);
  if (!links) return fail(links.error());
  Result<TrainingPlan> plan = with_stages(std::move(planned.plan), **device, *links);
  if (!plan) return fail(std::move(plan.error()));
  Result<Derivation> derivation = derive(*plan, **device, *links);
  if (!derivation) return fail(std::move(derivation.error()));
  planned.plan = std::move(*plan);
  if (Bytes& bucket = planned.plan.layout.gradient_reduction.bucket; bucket.value <= 0)
    bucket = Bytes{std::ceil(derivation->layer_gradient.value)};  // whole bytes, to be read back
  return ModelRun{std::move(planned), **device, *links, std::move(*derivation), false};
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
  run.measured_costs = true;
}

}  // namespace

void read_model_workload(const YamlCursor& workload, const PipelineBlock& pipeline,
                         const std::string& file, const ReadContext& context, Scenario& scenario) {
  if (!expect_keys(workload)) return;
  ReadCache own;
  ReadCache& cache = context.cache != nullptr ? *context.cache : own;
  auto planned = read_planned_model(workload, scenario.parallel, pipeline.shape.microbatches, file,
                                    context.preset_folders, cache);
  if (!planned || !pipeline.shape.stages() || !pipeline.shape.microbatches ||
      !check(scenario.parallel).empty())
    return;
  Result<ModelRun> run = derived(std::move(*planned), scenario.platform, context, cache);
  if (!run) {
    for (const Diagnostic& fault : run.error()) workload.fault_at_key(fault.message, fault.hint);
    return;
  }
  scenario.workload = run->derivation.workload;
  scenario.workload.microbatches = *pipeline.shape.microbatches;
  replace_costs(workload, pipeline, file, scenario, *run);
  scenario.parallel = run->planned.plan.layout;
  scenario.model = std::move(*run);
}

}  // namespace pipecast
