#include "sim/study/layout_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <ostream>

#include "sim/graph/task_graph.hpp"
#include "sim/report/footprint.hpp"
#include "sim/report/footprint_groups.hpp"
#include "sim/report/text_sink.hpp"
#include "sim/run/longest_path.hpp"

namespace pipecast {
namespace {

/// What keeps a run short: more microbatches than this fill a rank's memory no further.
int enough_microbatches(const FrameworkRun& run) {
  const int group = run.group_size > 0 ? run.group_size : run.layout.pipeline;
  const int enough = 4 * group;
  return run.microbatches <= enough ? run.microbatches : enough;
}

Result<std::vector<RankFootprint>> footprints(const FrameworkRun& run,
                                              std::span<const StageLayers> stages,
                                              std::span<const ScheduleInfo> schedules,
                                              Bytes capacity) {
  const Shape shape{run.layout.pipeline, run.layout.chunks, enough_microbatches(run)};
  if (shape.ranks > 4096) return fail(infeasible("more than 4096 pipeline ranks"));
  const ScheduleInfo* schedule = find_schedule(schedules, run.schedule);
  if (schedule == nullptr) return fail(input_error("schedule " + run.schedule + " is not known"));
  const Workload equal = uniform_workload(shape, {{1}, {1}, {1}});
  std::map<std::string, std::string, std::less<>> texts;
  if (run.group_size > 0 && run.layout.chunks > 1) texts["group"] = std::to_string(run.group_size);
  const auto params = parse_fields(schedule->fields, texts);
  if (!params) return fail(params.error());
  auto program = make_program(*schedule, {shape, *params, equal, {}});
  if (!program) return fail(program.error());
  std::vector<DeviceId> devices;
  for (int rank = 0; rank < shape.ranks; ++rank) devices.push_back({rank});
  const Workload workload = fitted(equal, *program);
  auto graph =
      build_task_graph(*program, workload, constant_delay_platform(shape.ranks, {}), devices);
  if (!graph) return fail(graph.error());
  const MemoryRules& rules = run.memory;
  const auto each = stage_footprints(*run.model, run.layout, stages, run.kernels, rules);
  auto ranks = measure_footprints(*program, workload, each, rules.workspace, graph->tasks,
                                  longest_path(*graph));
  for (RankFootprint& rank : ranks) judge(rank, rules, capacity);
  return ranks;
}

std::string_view recompute_word(Recompute recompute) {
  switch (recompute) {
    case Recompute::None:
      return "none";
    case Recompute::Selective:
      return "selective";
    case Recompute::Full:
      return "full";
    case Recompute::Alternate:
      return "alternate";
  }
  return "none";
}

std::string_view exchange_word(ContextExchange exchange) {
  switch (exchange) {
    case ContextExchange::Ring:
      return "ring";
    case ContextExchange::Ulysses:
      return "ulysses";
    case ContextExchange::Gather:
      return "gather";
  }
  return "ring";
}

using Overlap = std::pair<const char*, bool>;
std::array<Overlap, 4> overlaps_of(const FrameworkRun& run) {
  return {{{"gradients", run.overlap_gradients},
           {"parameters", run.overlap_parameters},
           {"messages", run.overlap_messages},
           {"tensor", run.overlap_tensor}}};
}

/// What of the run is neither a degree nor a size.
void write_choices(const FrameworkRun& run, std::ostream& out) {
  const MemoryRules& memory = run.memory;
  out << fmt::format("  bytes per parameter: weight {:g}, gradient {:g}, optimizer {:g}\n",
                     memory.weight_bytes, memory.gradient_bytes, memory.optimizer_bytes);
  std::string names;
  for (const auto& [name, overlapped] : overlaps_of(run))
    if (overlapped) names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
  out << fmt::format("  overlapped: {}; dropout {:g}, of attention {:g}\n",
                     names.empty() ? "nothing" : names, run.hidden_dropout, run.attention_dropout);
  if (run.layout.context > 1)
    out << fmt::format("  context exchange: {}\n", exchange_word(run.context_exchange));
  if (run.layout.order != kMegatronOrder)
    out << fmt::format("  devices in the order {}\n", order_text(run.layout.order));
}

std::string gib(double bytes) { return fmt::format("{:.2f}", bytes / (1024.0 * 1024 * 1024)); }

double activations(const MemoryParts& parts) {
  double sum = 0;
  for (auto part = MemoryPart::Norms; part <= MemoryPart::Logits;
       part = static_cast<MemoryPart>(static_cast<int>(part) + 1))
    sum += parts[part];
  return sum;
}

void write_ranks(const LayoutReport& report, std::ostream& out) {
  out << fmt::format("\n{:>5} {:>9} {:>9} {:>9} {:>11} {:>9} {:>9} {:>9} {:>9}  {}\n", "rank",
                     "weights", "gradients", "optimizer", "activations", "working", "buffers",
                     "peak", "needed", "GiB");
  for (std::size_t rank = 0; rank < report.ranks.size(); ++rank) {
    const RankFootprint& each = report.ranks[rank];
    const MemoryParts& parts = each.at_peak;
    out << fmt::format("{:>5} {:>9} {:>9} {:>9} {:>11} {:>9} {:>9} {:>9} {:>9}  {}\n", rank,
                       gib(parts[MemoryPart::Weights]), gib(parts[MemoryPart::Gradients]),
                       gib(parts[MemoryPart::Optimizer]), gib(activations(parts)),
                       gib(parts[MemoryPart::Working]),
                       gib(parts[MemoryPart::Transfers] + parts[MemoryPart::Gathers] +
                           parts[MemoryPart::Workspace]),
                       gib(each.peak.value), gib(each.needed.value),
                       each.capacity.value <= 0 ? ""
                       : each.fits              ? "fits"
                                                : "does not fit");
  }
}

void number(TextSink& sink, std::string_view separator, std::string_view key, double value) {
  sink.text(separator).text("\"").text(key).text("\": ").number(value);
}

void write_choices(const FrameworkRun& run, TextSink& sink) {
  const std::pair<const char*, double> values[] = {
      {"weight_bytes", run.memory.weight_bytes},
      {"gradient_bytes", run.memory.gradient_bytes},
      {"optimizer_bytes", run.memory.optimizer_bytes},
      {"hidden_dropout", run.hidden_dropout},
      {"attention_dropout", run.attention_dropout},
      {"layers_per_checkpoint", double{1} * run.memory.layers_per_checkpoint}};
  for (const auto& [key, value] : values) number(sink, ",\n  ", key, value);
  sink.text(",\n  \"order\": ").quoted(order_text(run.layout.order));
  sink.text(",\n  \"context_exchange\": ").quoted(exchange_word(run.context_exchange));
  sink.text(",\n  \"overlapped\": {");
  const char* separator = "";
  for (const auto& [name, overlapped] : overlaps_of(run)) {
    sink.text(separator).quoted(name).text(overlapped ? ": true" : ": false");
    separator = ", ";
  }
  sink.text("}");
}

void write_parts(TextSink& sink, const MemoryParts& parts) {
  sink.text("{");
  for (std::size_t i = 0; i < kMemoryParts; ++i)
    number(sink, i > 0 ? ", " : "", kMemoryPartNames[i], parts.bytes[i]);
  sink.text("}");
}

}  // namespace

Result<LayoutReport> layout_report(const FrameworkRun& run, std::span<const ScheduleInfo> schedules,
                                   Bytes capacity) {
  LayoutReport report{run, {}, {}, {}};
  if (!run.model) return report;
  auto stages = stages_of(run);
  if (!stages) return fail(stages.error());
  report.stages = std::move(*stages);
  LayersBefore before;
  for (const StageLayers& stage : report.stages) {
    report.parameters.push_back(device_parameters(*run.model, run.layout, stage, before));
    before += stage;
  }
  auto ranks = footprints(run, report.stages, schedules, capacity);
  if (!ranks) return fail(ranks.error());
  report.ranks = std::move(*ranks);
  return report;
}

void write_layout_text(const LayoutReport& report, std::ostream& out) {
  const FrameworkRun& run = report.run;
  const ParallelLayout& layout = run.layout;
  out << fmt::format("{}: {} devices = tensor {}{} × pipeline {} × context {} × data {}\n",
                     run.framework, layout.devices(), layout.tensor,
                     layout.sequence_parallel ? " (sequence parallel)" : "", layout.pipeline,
                     layout.context, layout.data);
  if (layout.expert > 1) out << fmt::format("  experts over {} devices\n", layout.expert);
  out << fmt::format("  schedule {}, {} chunks per rank, ZeRO {}, recompute {}, {}\n", run.schedule,
                     layout.chunks, layout.zero, recompute_word(layout.recompute), run.precision);
  out << fmt::format(
      "  global batch {} = microbatch size {} × {} microbatches × data {}, {} tokens each\n",
      layout.global_batch, layout.microbatch_size, run.microbatches, layout.data, layout.sequence);
  write_choices(run, out);
  if (run.model)
    out << fmt::format("  model: {} layers, hidden {}, {:.4g}B parameters\n", run.model->layers,
                       run.model->hidden, total_parameters(*run.model) / 1e9);
  if (!report.stages.empty()) out << "  stages: " << layout_string(report.stages) << "\n";
  if (!report.ranks.empty()) write_ranks(report, out);
  for (const std::string& note : run.notes) out << "note: " << note << "\n";
}

void write_layout_json(const LayoutReport& report, std::ostream& out) {
  const FrameworkRun& run = report.run;
  const ParallelLayout& layout = run.layout;
  TextSink sink(out);
  sink.text("{\n  \"format\": \"pipecast.layout/1\",\n  \"framework\": ").quoted(run.framework);
  sink.text(",\n  \"schedule\": ").quoted(run.schedule);
  sink.text(",\n  \"precision\": ").quoted(run.precision);
  const std::pair<const char*, int> values[] = {{"devices", layout.devices()},
                                                {"tensor", layout.tensor},
                                                {"pipeline", layout.pipeline},
                                                {"chunks", layout.chunks},
                                                {"context", layout.context},
                                                {"data", layout.data},
                                                {"expert", layout.expert},
                                                {"expert_tensor", layout.expert_tensor},
                                                {"zero", layout.zero},
                                                {"sequence_length", layout.sequence},
                                                {"microbatches", run.microbatches},
                                                {"microbatch_size", layout.microbatch_size},
                                                {"global_batch", layout.global_batch}};
  for (const auto& [key, value] : values) number(sink, ",\n  ", key, value);
  write_choices(run, sink);
  sink.text(",\n  \"sequence_parallel\": ").text(layout.sequence_parallel ? "true" : "false");
  sink.text(",\n  \"recompute\": ").quoted(recompute_word(layout.recompute));
  sink.text(",\n  \"layout\": ").quoted(layout_string(report.stages)).text(",\n  \"stages\": [");
  for (std::size_t i = 0; i < report.stages.size(); ++i) {
    sink.text(i > 0 ? ",\n    {" : "\n    {");
    number(sink, "", "layers", report.stages[i].layers);
    number(sink, ", ", "parameters_per_device",
           report.parameters[i].dense + report.parameters[i].experts);
    sink.text("}");
  }
  sink.text("\n  ],\n  \"ranks\": [");
  for (std::size_t i = 0; i < report.ranks.size(); ++i) {
    const RankFootprint& rank = report.ranks[i];
    sink.text(i > 0 ? ",\n    {" : "\n    {");
    number(sink, "", "peak_bytes", rank.peak.value);
    number(sink, ", ", "needed_bytes", rank.needed.value);
    number(sink, ", ", "capacity_bytes", rank.capacity.value);
    sink.text(", \"fits\": ")
        .text(json_word(fit_of(rank.capacity, rank.fits)))
        .text(", \"at_peak\": ");
    write_parts(sink, rank.at_peak);
    sink.text("}");
  }
  sink.text("\n  ],\n  \"notes\": [");
  for (std::size_t i = 0; i < run.notes.size(); ++i)
    sink.text(i > 0 ? ", " : "").quoted(run.notes[i]);
  sink.text("]\n}\n");
}

}  // namespace pipecast
