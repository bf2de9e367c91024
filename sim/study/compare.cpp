#include "sim/study/compare.hpp"

#include <algorithm>

#include "sim/model/repartition.hpp"
#include "sim/model/replica_devices.hpp"

namespace pipecast {
namespace {

/// The limit goes to every schedule that takes one, in bytes.
FieldValues params_for(const ScheduleInfo& schedule, const Scenario& scenario,
                       const CompareOptions& options) {
  FieldValues values = schedule.name == scenario.schedule.name
                           ? scenario.schedule.params
                           : parse_fields(schedule.fields, {}).value_or(FieldValues{});
  const auto limit = values.find("memory_limit_bytes");
  if (limit != values.end() && options.activation_limit)
    limit->second = options.activation_limit->value;
  return values;
}

/// A scenario and, where its machine is mixed, the accelerator of every rank.
struct Compared {
  const Scenario& scenario;
  std::vector<std::string> accelerators;
};

Scenario with_schedule(const Scenario& scenario, const ScheduleInfo& schedule, int chunks,
                       const CompareOptions& options) {
  Scenario changed = scenario;
  changed.schedule.name = schedule.name;
  changed.schedule.csv_path.clear();
  changed.schedule.params = params_for(schedule, scenario, options);
  changed.shape.chunks = chunks;
  changed.workload = repartition(scenario.workload, changed.shape.stages());
  return changed;
}

/// The scenario's chunks if the schedule takes them, else its default, else two, else one. Stages
/// cost what they do on the accelerators where the schedule puts them.
Scenario fitted(const Compared& compared, const ScheduleInfo& schedule,
                const CompareOptions& options) {
  const Scenario& scenario = compared.scenario;
  for (const int chunks : {scenario.shape.chunks, schedule.default_chunks, 2, 1}) {
    Scenario changed = with_schedule(scenario, schedule, chunks, options);
    const ScheduleRequest request{changed.shape, changed.schedule.params, changed.workload};
    if (!schedule.check(request).empty()) continue;
    if (!changed.workload.on.empty())
      changed.workload =
          settled(changed.workload, placement_of(schedule, request), compared.accelerators);
    return changed;
  }
  return with_schedule(scenario, schedule, schedule.default_chunks, options);
}

/// Faults of the machine are told by every row.
Compared compared(const Scenario& scenario, const ReadContext& context) {
  Compared result{scenario, {}};
  if (scenario.workload.on.empty()) return result;
  const Result<Platform> platform = platform_of(scenario, context);
  if (!platform) return result;
  const std::vector<DeviceId> devices = devices_of(scenario.platform, scenario.parallel);
  for (const DeviceId device : ReplicaDevices(scenario.parallel, devices).reported())
    result.accelerators.push_back(platform->devices[device.at()].accelerator);
  return result;
}

std::string joined_messages(const Diagnostics& faults) {
  std::string text;
  for (const Diagnostic& fault : faults) text += (text.empty() ? "" : "; ") + fault.message;
  return text;
}

void fill(CompareRow& row, const FinishedRun& run) {
  const Summary& summary = run.summary;
  row.step_s = summary.step_s;
  row.bubble_fraction = summary.bubble_fraction;
  row.bubble_overhead = summary.bubble_overhead;
  row.span_bubble_fraction = summary.span_bubble_fraction;
  row.weight_copies = run.prepared.program.placement.directions();
  for (const RankSummary& rank : summary.ranks) {
    row.peak_activation.push_back(rank.peak_activation);
    row.largest_peak_activation = std::max(row.largest_peak_activation, rank.peak_activation);
    row.largest_static = std::max(row.largest_static, rank.static_memory);
    row.largest_in_flight = std::max(row.largest_in_flight, rank.peak_in_flight);
    row.fits = row.fits && rank.fits;
    row.capacity_known = row.capacity_known && rank.capacity.value > 0;
    row.weight_copies = std::max(
        row.weight_copies, run.prepared.program.placement.directions() * rank.weight_versions);
  }
  const std::vector<Task>& tasks = run.prepared.graph.tasks;
  row.transfers =
      std::count_if(tasks.begin(), tasks.end(), [](const Task& task) { return is_transfer(task); });
}

}  // namespace

std::string_view fits_text(const CompareRow& row) {
  if (!row.fits) return "no";
  return row.capacity_known ? "yes" : "unknown";
}

namespace {

bool wanted(const CompareOptions& options, const ScheduleInfo& schedule) {
  return options.schedules.empty() || std::find(options.schedules.begin(), options.schedules.end(),
                                                schedule.name) != options.schedules.end();
}

CompareRow compare_one(const Compared& compared, const ReadContext& context,
                       const ScheduleInfo& schedule, const CompareOptions& options) {
  const Scenario changed = fitted(compared, schedule, options);
  CompareRow row;
  row.schedule = schedule.name;
  row.shape = changed.shape;
  const Result<FinishedRun> run = simulate(changed, context, options.engine);
  if (!run)
    row.refused = joined_messages(run.error());
  else
    fill(row, *run);
  if (run && options.activation_limit && row.largest_peak_activation > *options.activation_limit)
    row.refused = "peak activation " + format(row.largest_peak_activation) +
                  " is over the limit of " + format(*options.activation_limit);
  if (options.on_run && row.refused.empty() && wanted(options, schedule))
    options.on_run(run->view());
  return row;
}

Diagnostics check_names(const CompareOptions& options, const ReadContext& context) {
  std::vector<std::string> known;
  for (const ScheduleInfo& schedule : context.schedules) known.emplace_back(schedule.name);
  Diagnostics faults;
  for (const std::string& name : options.schedules)
    if (find_schedule(context.schedules, name) == nullptr)
      faults.push_back(
          input_error("unknown schedule '" + name.substr(0, 40) + "'", suggest(name, known)));
  return faults;
}

void relate_to_1f1b(std::vector<CompareRow>& rows, double reference_s) {
  for (CompareRow& row : rows)
    if (reference_s > 0 && row.refused.empty()) row.relative_step = row.step_s / reference_s;
}

}  // namespace

Result<std::vector<CompareRow>> compare(const Scenario& scenario, const ReadContext& context,
                                        const CompareOptions& options) {
  if (Diagnostics faults = check_names(options, context); !faults.empty())
    return fail(std::move(faults));
  const Compared among = compared(scenario, context);
  std::vector<CompareRow> rows;
  double reference_s = 0;
  for (const ScheduleInfo& schedule : context.schedules) {
    if (!wanted(options, schedule) && schedule.name != "1f1b") continue;
    // What an inference schedule leaves out is not a gain, and an asynchronous one is another
    // algorithm; they are compared only when asked for by name.
    const bool another_task = schedule.backward == BackwardKind::None || schedule.asynchronous;
    if (options.schedules.empty() && another_task) continue;
    CompareRow row = compare_one(among, context, schedule, options);
    if (schedule.name == "1f1b" && row.step_s > 0) reference_s = row.step_s;
    if (wanted(options, schedule)) rows.push_back(std::move(row));
  }
  relate_to_1f1b(rows, reference_s);
  std::stable_sort(rows.begin(), rows.end(), [](const CompareRow& a, const CompareRow& b) {
    if (a.refused.empty() != b.refused.empty()) return a.refused.empty();
    return a.refused.empty() && a.step_s < b.step_s;
  });
  return rows;
}

}  // namespace pipecast
