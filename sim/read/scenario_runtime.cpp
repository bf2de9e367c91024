#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/read/scenario_parts.hpp"

namespace pipecast {
namespace {

const std::array<Field<Overheads>, 3> kOverheadFields{{
    {"operation", &Overheads::operation, "added to every operation", 0, 1e6, {}},
    {"gap", &Overheads::gap, "between two operations of a rank", 0, 1e6, {}},
    {"message", &Overheads::message, "added to the latency of a message", 0, 1e6, {}},
}};

struct OverlapRatio {
  double ratio = 1;
};
const std::array<Field<OverlapRatio>, 1> kRatioField{
    {{"ratio", &OverlapRatio::ratio, "pair ÷ sum of both", 1e-6, 1e6, {}}}};

struct OverlapDuration {
  Seconds duration;
};
const std::array<Field<OverlapDuration>, 1> kDurationField{
    {{"duration", &OverlapDuration::duration, "of an overlapped pair", 0, 1e9, {}}}};

std::optional<YamlCursor> find_once(const YamlCursor& root,
                                    const std::optional<YamlCursor>& workload,
                                    std::string_view key) {
  auto at_top = root.find(key);
  auto inside = workload && workload->is_map() ? workload->find(key) : std::nullopt;
  if (at_top && inside)
    inside->fault_at_key(fmt::format("{} is given twice, also at the top of the scenario", key));
  return at_top ? at_top : inside;
}

OverlapCost read_overlap(const YamlCursor& given) {
  OverlapCost cost;
  if (!given.is_map()) {
    const std::array<std::string, 1> words{"sum"};
    if (given.is_list())
      given.text();
    else if (given.text() != "sum")
      given.fault(fmt::format("overlap cannot be '{}'", shown(given.text().value_or(""))),
                  "sum, {ratio: 0.9} or {duration: 10 ms}");
    return cost;
  }
  if (given.has("ratio") && given.has("duration")) {
    given.fault_at_key("overlap takes a ratio or a duration, not both");
    return cost;
  }
  if (given.has("duration")) {
    const auto fields = describe<OverlapDuration>(kDurationField);
    const auto block = pipecast::bind<OverlapDuration>(kDurationField, given.fields(fields));
    return {OverlapCost::Rule::Given, block.duration.value};
  }
  if (!given.has("ratio")) {
    given.expect_map({"ratio", "duration"});
    given.fault_at_key("overlap is empty", "sum, {ratio: 0.9} or {duration: 10 ms}");
    return cost;
  }
  const auto fields = describe<OverlapRatio>(kRatioField);
  return {OverlapCost::Rule::Ratio,
          pipecast::bind<OverlapRatio>(kRatioField, given.fields(fields)).ratio};
}

/// What is given is that of every device; `operation` may be a list with one entry per stage.
void read_overheads(const YamlCursor& given, Workload& costs) {
  auto fields = describe<Overheads>(kOverheadFields);
  costs.stage_operation.clear();
  for (CostsOn& own : costs.on) own.operation = {};
  const auto operation = given.is_map() ? given.find("operation") : std::nullopt;
  if (operation && operation->is_list()) {
    const auto row = std::find_if(fields.begin(), fields.end(),
                                  [](const FieldInfo& field) { return field.name == "operation"; });
    for (std::size_t stage = 0; stage < operation->size(); ++stage)
      if (const auto seconds = operation->item(stage).field(*row))
        costs.stage_operation.push_back({std::get<double>(*seconds)});
    if (operation->size() != static_cast<std::size_t>(costs.stages)) {
      operation->fault(
          fmt::format("operation has {} values, allowed is one value, or {}, one for "
                      "each stage",
                      operation->size(), costs.stages));
      costs.stage_operation.clear();
    }
    fields.erase(row);
    costs.on.clear();
  }
  costs.overheads = pipecast::bind<Overheads>(kOverheadFields, given.fields(fields, {"operation"}));
}

}  // namespace

void read_runtime(const YamlCursor& root, const std::optional<YamlCursor>& workload,
                  Workload& costs) {
  if (const auto given = find_once(root, workload, kRuntimeKeys[0])) {
    read_overheads(*given, costs);
  }
  if (const auto given = find_once(root, workload, kRuntimeKeys[1])) {
    const std::array<std::string, 2> words{"full", "empty"};
    costs.first_stage_input_gradient = given->choice(words) == "empty"
                                           ? FirstStageInputGradient::Empty
                                           : FirstStageInputGradient::Full;
  }
  if (const auto given = find_once(root, workload, kRuntimeKeys[2]))
    costs.overlap = read_overlap(*given);
}

}  // namespace pipecast
