#include "tools/scenario_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace pipecast {
namespace {

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') result += '\\';
    result += letter;
  }
  return result + '"';
}

std::string seconds_text(Seconds duration) { return exact_text(duration.value, Dimension::Time); }
std::string bytes_text(Bytes amount) { return exact_text(amount.value, Dimension::Memory); }

Dimension dimension_of(FieldKind kind) {
  switch (kind) {
    case FieldKind::Time:
      return Dimension::Time;
    case FieldKind::Memory:
      return Dimension::Memory;
    case FieldKind::Bandwidth:
      return Dimension::Bandwidth;
    case FieldKind::Compute:
      return Dimension::Compute;
    case FieldKind::Integer:
    case FieldKind::Number:
    case FieldKind::Flag:
    case FieldKind::Text:
      return Dimension::None;
  }
  return Dimension::None;
}

/// Writes `key: value` lines and marks those that the file did not give.
class Listing {
 public:
  explicit Listing(const Scenario& scenario) : scenario_(scenario) {}

  void block(std::string_view key, int depth = 0) {
    text_ += fmt::format("{:{}}{}:\n", "", 2 * depth, key);
  }
  /// `path` is the whole key path; its last part is what is printed.
  void line(std::string_view path, std::string_view value, std::string_view source = "default") {
    const auto depth = static_cast<int>(std::count(path.begin(), path.end(), '.'));
    const std::string_view key = path.substr(path.rfind('.') + 1);
    text_ += fmt::format("{:{}}{}: {}", "", 2 * depth, key, value);
    if (!is_given(path)) text_ += fmt::format("  # {}", source);
    text_ += '\n';
  }
  std::string take() { return std::move(text_); }

 private:
  bool is_given(std::string_view path) const { return scenario_.spans.contains(path); }

  const Scenario& scenario_;
  std::string text_;
};

/// One value when all stages agree, else a list per stage, or [stage][microbatch].
template <class Row>
std::string per_stage(const std::vector<Row>& rows, std::size_t row_length,
                      const std::function<std::string(const Row&)>& text_of) {
  const std::string first = text_of(rows.front());
  if (std::all_of(rows.begin(), rows.end(), [&](const Row& row) { return text_of(row) == first; }))
    return first;
  const bool nested = row_length > 1;
  std::string text = "[";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i > 0) text += ", ";
    if (nested && i % row_length == 0) text += '[';
    text += text_of(rows[i]);
    if (nested && i % row_length == row_length - 1) text += ']';
  }
  return text + "]";
}

void list_pipeline(Listing& listing, const Scenario& scenario, const ReadContext& context) {
  const ScheduleChoice& choice = scenario.schedule;
  listing.block("pipeline");
  if (choice.name.empty())
    listing.line("pipeline.schedule",
                 fmt::format("{{csv: {}, dialect: {}}}", quoted(choice.csv_path),
                             choice.csv_dialect == CsvDialect::ComputeOnly ? "compute_only"
                                                                           : "compute_comms"));
  else
    listing.line("pipeline.schedule", choice.name);
  listing.line("pipeline.ranks", std::to_string(scenario.shape.ranks));
  listing.line("pipeline.chunks", std::to_string(scenario.shape.chunks));
  listing.line("pipeline.microbatches", std::to_string(scenario.shape.microbatches));
  const ScheduleInfo* schedule = find_schedule(context.schedules, choice.name);
  if (schedule == nullptr || schedule->fields.empty()) return;
  listing.block("params", 1);
  for (const FieldInfo& field : schedule->fields)
    if (const auto value = choice.params.find(field.name); value != choice.params.end())
      listing.line("pipeline.params." + field.name, field_text(field.kind, value->second));
}

void list_costs(Listing& listing, const Workload& workload) {
  const std::size_t row = workload.varies_by_microbatch()
                              ? static_cast<std::size_t>(workload.microbatches)
                              : std::size_t{1};
  const auto cost = [&](std::string_view key, Seconds StageCost::*part) {
    const std::function<std::string(const StageCost&)> text = [&](const StageCost& stage) {
      return seconds_text(stage.*part);
    };
    listing.line(fmt::format("workload.costs.{}", key), per_stage(workload.costs, row, text));
  };
  listing.block("costs", 1);
  cost("forward", &StageCost::forward);
  cost(workload.backward_is_split ? "backward_input" : "backward", &StageCost::backward_input);
  if (workload.backward_is_split) cost("backward_weight", &StageCost::backward_weight);
}

void list_workload(Listing& listing, const Workload& workload) {
  const auto bytes = [&](std::string_view path, Bytes StageBytes::*part) {
    const std::function<std::string(const StageBytes&)> text = [&](const StageBytes& stage) {
      return bytes_text(stage.*part);
    };
    listing.line(fmt::format("workload.{}", path), per_stage(workload.bytes, 1, text));
  };
  listing.block("workload");
  list_costs(listing, workload);
  listing.block("activation", 1);
  bytes("activation.held_by_forward", &StageBytes::held_by_forward);
  bytes("activation.released_by_backward_input", &StageBytes::released_by_backward_input);
  bytes("message", &StageBytes::message_forward);
  bytes("gradient_message", &StageBytes::message_backward);
  bytes("parameters", &StageBytes::parameters);
  bytes("gradients", &StageBytes::gradients);
  bytes("optimizer", &StageBytes::optimizer);
  // Without an exchange the gradients above are kept only; left out, they would be exchanged.
  if (workload.sync.empty()) return listing.line("workload.gradient", "0 B", "not exchanged");
  const auto sync = [&](std::string_view path, auto part, auto text_of) {
    const std::function<std::string(const StageSync&)> text = [&](const StageSync& stage) {
      return text_of(stage.*part);
    };
    listing.line(fmt::format("workload.{}", path), per_stage(workload.sync, 1, text));
  };
  sync("gradient", &StageSync::gradients, bytes_text);
  sync("expert_gradient", &StageSync::expert_gradients, bytes_text);
  sync("expert_parameters", &StageSync::expert_parameters, bytes_text);
  sync("optimizer_step", &StageSync::optimizer, seconds_text);
}

/// What operations exchange inside their groups, a line for each stage and group.
void list_group_exchanges(Listing& listing, const Scenario& scenario) {
  std::vector<std::string> items;
  const auto pass = [](std::string_view key, const PassExchange& exchange) {
    if (exchange.bytes.value <= 0) return std::string();
    std::string text = fmt::format(", {}: {{bytes: {}, ", key, bytes_text(exchange.bytes));
    if (exchange.alone.value > 0)
      text += fmt::format("seconds: {}, exposed: {}, ", seconds_text(exchange.alone),
                          seconds_text(exchange.exposed));
    return text + fmt::format("behind: {}}}", seconds_text(exchange.behind));
  };
  const auto& inside = scenario.workload.inside;
  const bool alike = std::all_of(inside.begin(), inside.end(),
                                 [&](const auto& stage) { return stage == inside.front(); });
  for (std::size_t stage = 0;
       stage < (alike ? std::min<std::size_t>(1, inside.size()) : inside.size()); ++stage)
    for (const GroupExchange& exchange : inside[stage]) {
      if (degree(scenario.parallel, exchange.group) < 2) continue;
      items.push_back(fmt::format(
          "{{group: {}, collective: {}{}{}{}{}}}", dimension_name(exchange.group),
          collective_name(exchange.collective), alike ? "" : fmt::format(", stage: {}", stage),
          pass("forward", exchange.forward), pass("backward_input", exchange.backward_input),
          pass("backward_weight", exchange.backward_weight)));
    }
  if (!items.empty())
    listing.line("workload.group_exchange", fmt::format("[{}]", fmt::join(items, ", ")));
}

void list_group_traffic(Listing& listing, const GroupTraffic& traffic) {
  const auto word = [&] {
    switch (traffic.as) {
      case GroupTraffic::As::Automatic:
        return "automatic";
      case GroupTraffic::As::Flows:
        return "flows";
      case GroupTraffic::As::ClosedForm:
        return "closed_form";
    }
    return "";
  };
  listing.block("group_traffic", 1);
  listing.line("parallel.group_traffic.as", word());
  listing.line("parallel.group_traffic.pieces", std::to_string(traffic.pieces));
}

/// Only where something but the pipeline is parallel.
void list_parallel(Listing& listing, const Scenario& scenario) {
  const ParallelLayout& layout = scenario.parallel;
  if (layout.devices() == layout.pipeline && layout.zero == 0) return;
  const auto number = [&](std::string_view key, int value) {
    listing.line(fmt::format("parallel.{}", key), std::to_string(value));
  };
  listing.block("parallel");
  number("tensor", layout.tensor);
  listing.line("parallel.sequence_parallel", layout.sequence_parallel ? "true" : "false");
  number("context", layout.context);
  number("data", layout.data);
  number("expert", layout.expert);
  number("expert_tensor", layout.expert_tensor);
  // What a model's device keeps is printed, so nothing is left for ZeRO to cut.
  if (scenario.model)
    listing.line("parallel.zero", "0", "in the bytes above");
  else
    number("zero", layout.zero);
  listing.line("parallel.order", order_text(layout.order));
  listing.line("parallel.replicas", layout.replicas == Replicas::All ? "all" : "symmetric");
  const GradientReduction& reduction = layout.gradient_reduction;
  listing.block("gradient_reduction", 1);
  listing.line("parallel.gradient_reduction.overlap", reduction.overlap ? "true" : "false");
  listing.line("parallel.gradient_reduction.bucket", bytes_text(reduction.bucket));
  listing.line("parallel.gradient_reduction.every",
               reduction.every_microbatch ? "microbatch" : "step");
  listing.line("parallel.gradient_reduction.algorithm", algorithm_name(reduction.algorithm));
  listing.block("parameter_gather", 1);
  listing.line("parallel.parameter_gather.overlap",
               layout.parameter_gather.overlap ? "true" : "false");
  listing.line("parallel.parameter_gather.algorithm",
               algorithm_name(layout.parameter_gather.algorithm));
  listing.line("parallel.parameter_gather.every",
               !scenario.model && layout.gathers_each_use() ? "microbatch" : "step");
  list_group_traffic(listing, layout.group_traffic);
}

void list_imperfections(Listing& listing, const Imperfections& wrong) {
  if (wrong.none()) return;
  listing.block("imperfections");
  std::vector<std::string> items;
  for (const SlowDevice& slow : wrong.slow_devices)
    items.push_back(
        fmt::format("{{device: {}, factor: {}}}", slow.device, format_number(slow.factor)));
  listing.line("imperfections.slow_devices", fmt::format("[{}]", fmt::join(items, ", ")));
  items.clear();
  for (const SlowRank& slow : wrong.slow_ranks)
    items.push_back(fmt::format("{{rank: {}, factor: {}}}", slow.rank, format_number(slow.factor)));
  listing.line("imperfections.slow_ranks", fmt::format("[{}]", fmt::join(items, ", ")));
  items.clear();
  for (const DegradedLink& link : wrong.degraded_links)
    items.push_back(
        fmt::format("{{link: {}, factor: {}}}", quoted(link.link), format_number(link.factor)));
  listing.line("imperfections.degraded_links", fmt::format("[{}]", fmt::join(items, ", ")));
  const Jitter& jitter = wrong.jitter;
  if (jitter.none()) return;
  std::vector<std::string> factors;
  for (const double factor : jitter.factors) factors.push_back(format_number(factor));
  listing.line("imperfections.jitter",
               fmt::format("{{{}, samples: {}, seed: {}}}",
                           factors.empty() ? "sigma: " + format_number(jitter.sigma)
                                           : fmt::format("factors: [{}]", fmt::join(factors, ", ")),
                           jitter.samples, jitter.seed));
}

/// Every node field of every part, so that it is read back whatever the catalogue says then.
std::string parts_text(const PlatformChoice& choice, const PlatformKind& kind) {
  std::vector<std::string> entries;
  for (const NodePart& part : choice.parts) {
    std::string entry = fmt::format("{{{}: {}-{}", kind.parts_of, part.first, part.last);
    const auto add = [&](std::string_view name) {
      const auto value = part.values.find(name);
      const auto field = std::find_if(kind.fields.begin(), kind.fields.end(),
                                      [&](const FieldInfo& info) { return info.name == name; });
      if (value != part.values.end() && field != kind.fields.end())
        entry += fmt::format(", {}: {}", name, field_text(field->kind, value->second));
    };
    add("accelerator");
    for (const NodeField& field : kind.node_fields) add(field.name);
    entries.push_back(entry + "}");
  }
  return fmt::format("[{}]", fmt::join(entries, ", "));
}

void list_platform(Listing& listing, const Scenario& scenario, const ReadContext& context) {
  const PlatformChoice& choice = scenario.platform;
  listing.block("platform");
  if (choice.kind.empty() && choice.file.empty())
    listing.line("platform.delay", seconds_text(choice.delay));
  if (!choice.file.empty()) listing.line("platform." + choice.file_format, quoted(choice.file));
  if (const auto value = choice.values.find("accelerator");
      !choice.file.empty() && value != choice.values.end())
    listing.line("platform.accelerator", std::get<std::string>(value->second));
  if (const auto value = choice.values.find("memory");
      !choice.file.empty() && value != choice.values.end())
    listing.line("platform.memory", field_text(FieldKind::Memory, value->second));
  const std::string preset = "preset " + choice.preset;
  if (!choice.kind.empty()) listing.line("platform.kind", choice.kind, preset);
  if (const PlatformKind* kind = find_platform_kind(context.platform_kinds, choice.kind))
    for (const FieldInfo& field : kind->fields)
      if (const auto value = choice.values.find(field.name); value != choice.values.end())
        listing.line("platform." + field.name, field_text(field.kind, value->second),
                     parse_field(field, field.default_text) == value->second ? "default" : preset);
  if (const PlatformKind* kind = find_platform_kind(context.platform_kinds, choice.kind);
      kind != nullptr && !choice.parts.empty())
    listing.line("platform.accelerators", parts_text(choice, *kind));
  if (!choice.devices.empty())
    listing.line("platform.devices", fmt::format("[{}]", fmt::join(choice.devices, ", ")));
}

std::string overlap_text(const OverlapCost& overlap) {
  switch (overlap.rule) {
    case OverlapCost::Rule::Sum:
      return "sum";
    case OverlapCost::Rule::Ratio:
      return fmt::format("{{ratio: {}}}", format_number(overlap.value));
    case OverlapCost::Rule::Given:
      return fmt::format("{{duration: {}}}", seconds_text({overlap.value}));
  }
  return "sum";
}

void list_runtime(Listing& listing, const Scenario& scenario) {
  const Workload& workload = scenario.workload;
  listing.line("transfers", policy_name(scenario.transfers));
  listing.block("overheads");
  std::vector<std::string> operations;
  for (const Seconds& more : workload.stage_operation)
    operations.push_back(seconds_text(workload.overheads.operation + more));
  listing.line("overheads.operation", operations.empty()
                                          ? seconds_text(workload.overheads.operation)
                                          : fmt::format("[{}]", fmt::join(operations, ", ")));
  listing.line("overheads.gap", seconds_text(workload.overheads.gap));
  listing.line("overheads.message", seconds_text(workload.overheads.message));
  const bool full = workload.first_stage_input_gradient == FirstStageInputGradient::Full;
  listing.line("first_stage_input_gradient", full ? "full" : "empty");
  listing.line("overlap", overlap_text(workload.overlap));
}

}  // namespace

std::string exact_text(double value, Dimension dimension) {
  std::string best;
  for (const std::string_view word : unit_words(dimension)) {
    const double unit = parse_quantity(fmt::format("1 {}", word), dimension).value_or(1);
    for (const std::string& number :
         {fmt::format("{:.12g}", value / unit), format_number(value / unit)}) {
      const std::string text = fmt::format("{} {}", number, word);
      if (parse_quantity(text, dimension) != value) continue;
      if (best.empty() || text.size() < best.size()) best = text;
    }
  }
  return best.empty() ? format_number(value) : best;
}

std::string field_text(FieldKind kind, const FieldValue& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* text = std::get_if<std::string>(&value)) return quoted(*text);
  return exact_text(std::get<double>(value), dimension_of(kind));
}

std::string scenario_text(const Scenario& scenario, const ReadContext& context) {
  Listing listing(scenario);
  listing.line("name", quoted(scenario.name));
  list_pipeline(listing, scenario, context);
  list_workload(listing, scenario.workload);
  list_group_exchanges(listing, scenario);
  list_platform(listing, scenario, context);
  list_parallel(listing, scenario);
  list_imperfections(listing, scenario.imperfections);
  list_runtime(listing, scenario);
  return listing.take();
}

}  // namespace pipecast
