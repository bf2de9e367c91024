#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <map>

#include "sim/study/simulate.hpp"
#include "tools/commands.hpp"
#include "tools/console.hpp"
#include "tools/memory_fit.hpp"
#include "tools/scenario_arguments.hpp"
#include "tools/scenario_text.hpp"

namespace pipecast {
namespace {

void declare_check(CLI::App& app) {
  value_option(app, "scenario", "SCENARIO", "scenario files")
      ->required()
      ->expected(1, 1 << 20)
      ->allow_extra_args();
  declare_scenario_options(app);
  flag_option(app, "--show-defaults",
              "print the whole scenario, defaults filled in and marked; it can be run again");
}

/// `18.5 ms`, or `18 ms to 21 ms` when stages or microbatches differ.
template <class Row, class Part>
std::string range_text(const std::vector<Row>& rows, Part Row::*part) {
  const auto less = [part](const Row& a, const Row& b) { return a.*part < b.*part; };
  const auto [low, high] = std::minmax_element(rows.begin(), rows.end(), less);
  const std::string text = format((*low).*part);
  return (*low).*part == (*high).*part ? text : text + " to " + format((*high).*part);
}

std::string costs_text(const Workload& workload) {
  std::string text = "forward " + range_text(workload.costs, &StageCost::forward);
  const std::string backward = range_text(workload.costs, &StageCost::backward_input);
  if (!workload.backward_is_split) return text + ", backward " + backward;
  return text + ", backward input " + backward + ", backward weight " +
         range_text(workload.costs, &StageCost::backward_weight);
}

std::string held_always_text(const Workload& workload) {
  std::vector<Bytes> held;
  for (const StageBytes& bytes : workload.bytes)
    held.push_back(bytes.parameters + bytes.gradients + bytes.optimizer);
  const auto [low, high] = std::minmax_element(held.begin(), held.end());
  return *low == *high ? format(*low) : format(*low) + " to " + format(*high);
}

/// `: 32 a100_sxm4_80gb, 32 h100_sxm5_80gb` of a mixed machine, else nothing.
std::string accelerators_text(const Platform& platform) {
  std::map<std::string, int> count;
  for (const Device& device : platform.devices) ++count[device.accelerator];
  if (count.size() < 2) return "";
  std::string text;
  for (const auto& [accelerator, devices] : count)
    text += fmt::format("{}{} {}", text.empty() ? ": " : ", ", devices,
                        accelerator.empty() ? "unnamed" : accelerator);
  return text;
}

std::string platform_text(const PlatformChoice& choice, const Platform& platform) {
  if (choice.kind.empty() && choice.file.empty())
    return format(choice.delay) + " between any two ranks, never contended";
  const std::string name = !choice.file.empty()    ? choice.file
                           : choice.preset.empty() ? choice.kind
                                                   : choice.preset;
  return fmt::format("{}, {} devices, {} links{}", name, platform.devices.size(),
                     platform.links.size(), accelerators_text(platform));
}

std::string params_text(const Scenario& scenario, const Session& session) {
  std::string text;
  const ScheduleInfo* schedule = find_schedule(session.schedules, scenario.schedule.name);
  if (schedule == nullptr) return text;
  for (const FieldInfo& field : schedule->fields)
    if (const auto value = scenario.schedule.params.find(field.name);
        value != scenario.schedule.params.end())
      text += fmt::format("{}{} {}", text.empty() ? " with " : ", ", field.name,
                          field_text(field.kind, value->second));
  return text;
}

std::string plan_text(const Scenario& scenario, const PreparedRun& prepared,
                      const Session& session) {
  const Shape& shape = scenario.shape;
  const Workload& workload = scenario.workload;
  std::string text = fmt::format(
      "  name         {}\n"
      "  schedule     {}{}, {} ranks, {} chunk{} per rank, {} microbatches\n"
      "  costs        {}\n"
      "  message      {} forward, {} backward\n"
      "  activation   {} per stage and microbatch\n"
      "  held always  {} per stage: weights, gradients, optimizer\n"
      "  platform     {}\n"
      "  transfers    {}\n"
      "  graph        {} tasks\n",
      scenario.name, prepared.schedule, params_text(scenario, session), shape.ranks, shape.chunks,
      shape.chunks == 1 ? "" : "s", shape.microbatches, costs_text(workload),
      range_text(workload.bytes, &StageBytes::message_forward),
      range_text(workload.bytes, &StageBytes::message_backward),
      range_text(workload.bytes, &StageBytes::held_by_forward), held_always_text(workload),
      platform_text(scenario.platform, prepared.platform), policy_name(scenario.transfers),
      prepared.graph.tasks.size());
  for (const std::string& warning : prepared.warnings) text += "  warning: " + warning + "\n";
  return text;
}

ExitCode check_one(const std::string& path, const CLI::App& app, const Session& session,
                   const std::vector<Override>& overrides) {
  const Result<Scenario> scenario = read_scenario_file(path, session.context(), overrides);
  if (!scenario) return report_faults(scenario.error());
  Result<PreparedRun> prepared = prepare(*scenario, session.context());
  if (!prepared) return report_faults(prepared.error());
  const std::string plan = plan_text(*scenario, *prepared, session);
  // What ranks hold follows from their order, which the longest path keeps as any engine does.
  const Result<FinishedRun> run = execute(std::move(*prepared), Engine::LongestPath);
  if (!run) return report_faults(run.error());
  const Diagnostics faults = does_not_fit(run->view(), scenario->where("platform"));
  if (given(app, "--show-defaults"))
    std::cout << "# " << path << "\n" << scenario_text(*scenario, session.context());
  else
    std::cout << path << (faults.empty() ? ": ok\n" : ": does not fit\n") << plan;
  return faults.empty() ? ExitCode::Done : report_faults(faults);
}

ExitCode act_check(const CLI::App& app, const Session& plain_session) {
  const auto overrides = overrides_of(app);
  if (!overrides) return report_usage(overrides.error());
  const Session session = with_presets(app, plain_session);
  ExitCode worst = ExitCode::Done;
  for (const std::string& path : texts_of(app, "scenario")) {
    const ExitCode code = check_one(path, app, session, *overrides);
    if (code == ExitCode::Input || worst == ExitCode::Done) worst = code;
  }
  return worst;
}

}  // namespace

Command check_command() {
  return {.name = "check",
          .summary = "everything but running: say what would be run, or what is wrong",
          .example = "pipecast check scenarios/zero-bubble-1.5b.yaml --show-defaults",
          .declare = declare_check,
          .act = act_check};
}

}  // namespace pipecast
