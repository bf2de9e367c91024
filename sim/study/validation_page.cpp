#include <fmt/format.h>

#include <array>
#include <set>

#include "sim/read/kernel_facts.hpp"
#include "sim/study/validation.hpp"

namespace pipecast {
namespace {

constexpr std::string_view kOpening =
    "# Predictions beside published runs\n\n"
    "Written by `pipecast validate tests/published/data/runs/*.yaml --out docs/validation.md`; do "
    "not "
    "edit.\n\n"
    "A row is a run somebody published, configured as a scenario: model, layout, schedule, "
    "machine. "
    "Its step is derived from the constants below, never from the row. Rows that set a constant "
    "are "
    "marked and not counted. Errors are predicted ÷ measured − 1.\n\n";

constexpr std::string_view kMissing =
    "## What is not modelled\n\n"
    "- Rows run on the longest-path evaluator: reductions, gathers and messages take their time on "
    "the fabric, but do not slow each other down as `pipecast run` has them do.\n"
    "- Clocks that sink under the power limit are inside the matrix efficiencies.\n"
    "- Data loading, logging, evaluation, checkpoints, garbage collection, stragglers.\n"
    "- Uneven routing of experts; every source that says so forces a balance.\n";

std::string percent(double fraction) { return fmt::format("{:+.1f} %", 100 * fraction); }
std::string size_of(double fraction) { return fmt::format("{:.1f} %", 100 * fraction); }

std::string summary_table(const std::vector<ValidationSource>& sources) {
  std::string text =
      "| source | rows counted | mean absolute error | worst | ratios | mean | worst ratio |\n"
      "|---|---|---|---|---|---|---|\n";
  for (const ValidationSource& source : sources)
    text +=
        fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", source.source.source, source.counted,
                    size_of(source.mean_absolute_error), percent(source.worst_error), source.ratios,
                    source.ratios > 0 ? size_of(source.mean_absolute_ratio_error) : "",
                    source.ratios > 0 ? percent(source.worst_ratio_error) : "");
  return text + "\n";
}

double part_of(const StepEstimate& estimate, std::string_view key) {
  for (const WaterfallPart& part : estimate.waterfall)
    if (part.key == key) return part.seconds / estimate.step_s;
  return 0;
}

std::string row_line(const ValidationRow& row) {
  if (!row.refused.empty())
    return fmt::format("| {} | {:.4g} s | | | | | | refused: {} |\n", row.name, row.measured_s,
                       row.refused);
  const double communication = part_of(row.estimate, "tensor_communication") +
                               part_of(row.estimate, "context_communication") +
                               part_of(row.estimate, "expert_communication") +
                               part_of(row.estimate, "shard_communication");
  const double tail = part_of(row.estimate, "gradients") + part_of(row.estimate, "optimizer") +
                      part_of(row.estimate, "parameters");
  const double waiting = part_of(row.estimate, "bubble") + part_of(row.estimate, "imbalance");
  return fmt::format("| {} | {:.4g} s | {:.4g} s | {} | {} | {} | {} | {} |\n", row.name,
                     row.measured_s, row.predicted_s, percent(row.error()),
                     size_of(row.estimate.model_flops_utilization), size_of(communication),
                     size_of(waiting + tail),
                     row.calibrates.empty() ? "" : "set " + row.calibrates);
}

std::string section(const ValidationSource& source) {
  std::string text = fmt::format("## {}\n\n{}\n\n", source.source.source, source.source.reference);
  if (!source.source.note.empty()) text += source.source.note + "\n\n";
  text +=
      "| run | measured | predicted | error | MFU predicted | exposed communication | bubble, "
      "imbalance and end of step | |\n|---|---|---|---|---|---|---|---|\n";
  for (const ValidationRow& row : source.rows) text += row_line(row);
  if (!source.source.outside.empty()) text += "\nOutside:\n\n";
  for (const auto& [what, why] : source.source.outside)
    text += fmt::format("- {}: {}\n", what, why);
  return text + "\n";
}

std::string figure_line(const std::string& id, std::string_view what,
                        const std::optional<Figure>& figure) {
  if (!figure || !figure->value) return "";
  return fmt::format("| {} | {} | {:g} | {} | {} |\n", id, what, *figure->value,
                     word_of(figure->certainty), figure->source);
}

}  // namespace

std::string constants_table(const std::vector<ValidationSource>& sources,
                            const ReadContext& context) {
  std::set<std::string> ids;
  for (const ValidationSource& source : sources)
    for (const PublishedRun& run : source.source.runs)
      if (run.scenario.model)
        for (const PlanDevice& device : run.scenario.model->machine.devices)
          ids.insert(device.model.accelerator);
  std::string text =
      "| accelerator | constant | value | certainty | source |\n|---|---|---|---|---|\n";
  for (const std::string& id : ids) {
    const Result<KernelFacts> facts = find_kernel_facts(id, context.preset_folders);
    if (!facts) continue;
    text += figure_line(id, "16-bit matrices, fraction of peak", facts->matmul[0]);
    text += figure_line(id, "8-bit matrices, fraction of peak", facts->matmul[1]);
    text += figure_line(id, "4-bit matrices, fraction of peak", facts->matmul[2]);
    text += figure_line(id, "memory bandwidth, fraction", facts->memory);
    text += figure_line(id, "attention forward, fraction of peak", facts->attention_forward);
    text += figure_line(id, "attention backward, fraction of peak", facts->attention_backward);
    text += figure_line(id, "gap between kernels, s", facts->kernel_gap);
    text += figure_line(id, "host between two operations of a pipeline, s", facts->operation);
    text += figure_line(id, "host per kernel, s", facts->host_launch);
    text += figure_line(id, "memory bandwidth when sorting tokens, fraction", facts->permutation);
    if (!facts->attention.empty())
      text += fmt::format("| {} | measured attention kernels | {} shapes | measured | {} |\n", id,
                          facts->attention.size(), facts->attention_source);
    if (!facts->gemm.empty())
      text += fmt::format("| {} | measured products | {} shapes | measured | {} |\n", id,
                          facts->gemm.size(), facts->gemm_source);
  }
  return text + "\n";
}

std::string validation_page(const std::vector<ValidationSource>& sources,
                            const std::string& constants) {
  std::string text(kOpening);
  text += summary_table(sources);
  text += "## Constants\n\n" + constants;
  for (const ValidationSource& source : sources) text += section(source);
  return text + std::string(kMissing);
}

}  // namespace pipecast
