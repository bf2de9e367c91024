#include "sim/read/scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "sim/read/scenario_imperfections.hpp"
#include "sim/read/scenario_parallel.hpp"

namespace pipecast {
namespace {

TransferPolicy read_transfers(const YamlCursor& root) {
  constexpr std::array kPolicies{TransferPolicy::Overlapped, TransferPolicy::Fifo,
                                 TransferPolicy::Blocking, TransferPolicy::Posted};
  std::vector<std::string> words;
  words.reserve(kPolicies.size());
  for (const TransferPolicy policy : kPolicies) words.emplace_back(policy_name(policy));
  const auto given = root.find("transfers");
  const auto word = given ? given->choice(words) : std::nullopt;
  const auto found = std::find_if(kPolicies.begin(), kPolicies.end(), [&](TransferPolicy policy) {
    return word == policy_name(policy);
  });
  return found == kPolicies.end() ? TransferPolicy::Overlapped : *found;
}

std::string read_name(const YamlCursor& root, const std::string& file) {
  const auto given = root.find("name");
  if (!given) return std::filesystem::path(file).stem().string();
  const auto name = given->text();
  if (name && printable(*name) != *name) given->fault("name must be one line of printable text");
  return name.value_or("");
}

std::optional<int> devices_needed(const KnownShape& shape, const ParallelLayout& layout) {
  if (!shape.ranks || !check(layout).empty()) return std::nullopt;
  return layout.devices();
}

}  // namespace

/// Every block in turn; what cannot be read is in `faults`.
Scenario read_scenario_block(const YamlCursor& root, const std::string& file,
                             const ReadContext& context, FaultList& faults) {
  Scenario scenario;
  if (!root.expect_map({"name", "pipeline", "workload", "platform", "transfers", "parallel",
                        "imperfections", "overheads", "first_stage_input_gradient", "overlap"}))
    return scenario;
  scenario.name = read_name(root, file);
  scenario.transfers = read_transfers(root);
  PipelineBlock pipeline;
  if (const auto block = root.require("pipeline", "schedule, ranks, microbatches"))
    pipeline = read_pipeline(*block, file, context, faults);
  const auto workload =
      root.require("workload", "costs: {forward: …, backward: …}, or model: {preset: …}");
  scenario.parallel = read_parallel(root, workload, pipeline.shape, faults);
  const bool from_model = workload && workload->is_map() && workload->has("model");
  if (workload && !from_model) scenario.workload = read_workload(*workload, pipeline);
  if (const auto block =
          root.require("platform", "a preset, a kind with parameters, a file, or a delay"))
    scenario.platform = read_platform(
        *block, file, devices_needed(pipeline.shape, scenario.parallel), context, faults);
  if (from_model) read_model_workload(*workload, pipeline, file, context, faults, scenario);
  read_runtime(root, workload, scenario.workload);
  if (const auto block = root.find("imperfections"))
    scenario.imperfections = read_imperfections(*block);
  scenario.schedule = std::move(pipeline.schedule);
  const KnownShape& known = pipeline.shape;
  if (known.stages() && known.microbatches)
    scenario.shape = {*known.ranks, *known.chunks, *known.microbatches};
  return scenario;
}

namespace {

Result<Scenario> read_document(const YamlDocument& document, const std::string& file,
                               const ReadContext& context, KeepSpans spans, FaultList& faults) {
  Scenario scenario =
      read_scenario_block(YamlCursor::root(document, faults), file, context, faults);
  if (faults.empty()) faults.add(check(scenario.workload));
  if (!faults.empty()) return fail(faults.take(file));
  if (spans == KeepSpans::Yes)
    for (auto& [key_path, span] : key_spans(document)) scenario.spans[key_path] = std::move(span);
  return scenario;
}

}  // namespace

SourceSpan Scenario::where(std::string_view key_path) const {
  for (;;) {
    if (const auto found = spans.find(key_path); found != spans.end()) return found->second;
    const std::size_t dot = key_path.rfind('.');
    if (dot == std::string_view::npos) return {};
    key_path = key_path.substr(0, dot);
  }
}

Result<Scenario> read_scenario(std::string_view text, const std::string& file,
                               const ReadContext& context, std::span<const Override> overrides) {
  auto document = parse_yaml(text, file);
  if (!document) return fail(std::move(document.error()));
  FaultList faults;
  for (const Override& override : overrides)
    faults.add(override_yaml(*document, override.key_path, override.value));
  return read_document(*document, file, context, KeepSpans::Yes, faults);
}

Result<Scenario> read_scenario_document(const YamlDocument& document, const std::string& file,
                                        const ReadContext& context, KeepSpans spans) {
  FaultList faults;
  return read_document(document, file, context, spans, faults);
}

Result<Scenario> read_scenario_file(const std::string& path, const ReadContext& context,
                                    std::span<const Override> overrides) {
  const auto text = read_text_file(path, kMaxYamlBytes);
  if (!text) return fail(text.error());
  return read_scenario(*text, path, context, overrides);
}

}  // namespace pipecast
