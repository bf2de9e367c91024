#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/read/scenario_groups.hpp"
#include "sim/read/scenario_parallel.hpp"

namespace pipecast {
namespace {

/// Eleven days an operation, an exbibyte a stage: beyond it is a slip of the pen, and sums of such
/// numbers leave what a double can add exactly.
constexpr double kLongest_s = 1e6;
constexpr double kLargest_bytes = 1ULL << 60;

const std::array<Field<StageCost>, 3> kCostFields{{
    {"forward", &StageCost::forward, "forward of a stage and microbatch", 0, kLongest_s, {}},
    {"backward_input", &StageCost::backward_input, "gradient of the input", 0, kLongest_s, {}},
    {"backward_weight", &StageCost::backward_weight, "gradient of the weights", 0, kLongest_s, {}},
}};

const std::array<Field<StageBytes>, 2> kActivationFields{{
    {"held_by_forward",
     &StageBytes::held_by_forward,
     "kept from forward to backward",
     0,
     kLargest_bytes,
     {}},
    {"released_by_backward_input",
     &StageBytes::released_by_backward_input,
     "the part a split backward frees at the input gradient",
     0,
     kLargest_bytes,
     {}},
}};

const std::array<Field<StageBytes>, 5> kStageFields{{
    {"message",
     &StageBytes::message_forward,
     "activation sent to the next stage",
     0,
     kLargest_bytes,
     {}},
    {"gradient_message",
     &StageBytes::message_backward,
     "gradient sent to the previous stage; the same as message unless given",
     0,
     kLargest_bytes,
     {}},
    {"parameters", &StageBytes::parameters, "weights of a stage", 0, kLargest_bytes, {}},
    {"gradients", &StageBytes::gradients, "weight gradients of a stage", 0, kLargest_bytes, {}},
    {"optimizer", &StageBytes::optimizer, "optimizer state of a stage", 0, kLargest_bytes, {}},
}};

constexpr const char* kHalves = "give backward, or backward_input and backward_weight";

/// Values of a key: one for all, one per stage, or one per stage and microbatch.
struct ValueTable {
  enum class Form : std::uint8_t { One, PerStage, PerMicrobatch };
  Form form = Form::One;
  std::vector<double> values;

  double at(std::size_t stage, std::size_t microbatch, std::size_t microbatches) const {
    switch (form) {
      case Form::One:
        return values[0];
      case Form::PerStage:
        return values[stage];
      case Form::PerMicrobatch:
        return values[stage * microbatches + microbatch];
    }
    return 0;
  }
};

std::string counted(std::size_t count, std::string_view singular, std::string_view plural) {
  return fmt::format("{} {}", count, count == 1 ? singular : plural);
}

bool right_length(const YamlCursor& list, std::optional<int> needed, std::string_view singular,
                  std::string_view plural, const std::string& why) {
  if (!needed || list.size() == static_cast<std::size_t>(*needed)) return true;
  const auto wanted = static_cast<std::size_t>(*needed);
  list.fault(fmt::format("{} has {} for {}", list.path(), counted(list.size(), "entry", "entries"),
                         counted(wanted, singular, plural)),
             why);
  return false;
}

/// One entry per stage, of a list of values or of lists.
bool right_stages(const YamlCursor& list, const KnownShape& shape) {
  return right_length(
      list, shape.stages(), "stage", "stages",
      fmt::format("stages are ranks × chunks: {} × {}", *shape.ranks, *shape.chunks));
}

bool add_value(const YamlCursor& given, const FieldInfo& field, std::vector<double>& values) {
  const auto value = given.field(field);
  if (value) values.push_back(std::get<double>(*value));
  return value.has_value();
}

/// Nothing when some of it is wrong or the shape is not known.
std::optional<ValueTable> read_stages(const YamlCursor& list, const FieldInfo& field,
                                      const KnownShape& shape) {
  bool good = shape.stages().has_value();
  if (good) good = right_stages(list, shape);
  ValueTable table;
  table.form = ValueTable::Form::PerStage;
  for (std::size_t i = 0; i < list.size(); ++i)
    good = add_value(list.item(i), field, table.values) && good;
  return good ? std::optional(std::move(table)) : std::nullopt;
}

std::optional<ValueTable> read_microbatches(const YamlCursor& list, const FieldInfo& field,
                                            const KnownShape& shape) {
  bool good = shape.stages() && shape.microbatches;
  if (good) good = right_stages(list, shape);
  ValueTable table;
  table.form = ValueTable::Form::PerMicrobatch;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const YamlCursor row = list.item(i);
    if (!row.is_list()) {
      row.fault(fmt::format("{} is one value, the entries before it are lists", row.path()),
                "give one value, one per stage, or [stage][microbatch]");
      good = false;
      continue;
    }
    good = right_length(row, shape.microbatches, "microbatch", "microbatches", {}) && good;
    for (std::size_t j = 0; j < row.size(); ++j)
      good = add_value(row.item(j), field, table.values) && good;
  }
  return good ? std::optional(std::move(table)) : std::nullopt;
}

std::optional<ValueTable> read_table(const YamlCursor& given, const FieldInfo& field,
                                     const KnownShape& shape) {
  if (given.is_list() && given.size() > 0 && given.item(0).is_list())
    return read_microbatches(given, field, shape);
  if (given.is_list()) return read_stages(given, field, shape);
  ValueTable table;
  if (!add_value(given, field, table.values)) return std::nullopt;
  return table;
}

/// The same for bytes, which do not depend on the microbatch.
std::optional<ValueTable> read_bytes(const YamlCursor& given, const FieldInfo& field,
                                     const KnownShape& shape) {
  if (given.is_list()) return read_stages(given, field, shape);
  ValueTable table;
  if (!add_value(given, field, table.values)) return std::nullopt;
  return table;
}

struct CostTables {
  std::optional<ValueTable> forward;
  std::optional<ValueTable> input;  ///< or the whole backward
  std::optional<ValueTable> weight;
  bool split = true;
};

void read_backward(const YamlCursor& costs, const PipelineBlock& pipeline,
                   std::span<const FieldInfo> fields, CostTables& tables) {
  const auto whole = costs.find("backward");
  const bool halves = costs.has("backward_input") || costs.has("backward_weight");
  if (whole) {
    FieldInfo field = fields[1];
    field.name = "backward";
    tables.split = false;
    tables.input = read_table(*whole, field, pipeline.shape);
    if (halves)
      whole->fault_at_key("backward is the whole, it cannot stand beside its halves", kHalves);
    else if (pipeline.backward == NeededBackward::Split)
      whole->fault_at_key("the schedule splits the backward, the costs give only the whole of it",
                          "give backward_input and backward_weight instead");
    return;
  }
  if (costs.has("backward")) return;
  const bool needed =
      pipeline.backward == NeededBackward::Full || pipeline.backward == NeededBackward::Split;
  if (needed && !halves) {
    costs.fault_at_key(fmt::format("{} lacks the backward", costs.path()), kHalves);
    return;
  }
  if (!halves) return;
  if (const auto input = costs.require("backward_input", kHalves))
    tables.input = read_table(*input, fields[1], pipeline.shape);
  if (const auto weight = costs.require("backward_weight", kHalves))
    tables.weight = read_table(*weight, fields[2], pipeline.shape);
}

void fill_costs(const CostTables& tables, Workload& workload) {
  const auto stages = static_cast<std::size_t>(workload.stages);
  const auto microbatches = static_cast<std::size_t>(workload.microbatches);
  const auto deep = [](const std::optional<ValueTable>& table) {
    return table && table->form == ValueTable::Form::PerMicrobatch;
  };
  const bool vary = deep(tables.forward) || deep(tables.input) || deep(tables.weight);
  const std::size_t columns = vary ? microbatches : 1;
  const auto seconds = [&](const std::optional<ValueTable>& table, std::size_t stage,
                           std::size_t microbatch) {
    return Seconds{table ? table->at(stage, microbatch, microbatches) : 0.0};
  };
  workload.costs.reserve(stages * columns);
  for (std::size_t stage = 0; stage < stages; ++stage)
    for (std::size_t microbatch = 0; microbatch < columns; ++microbatch)
      workload.costs.push_back({seconds(tables.forward, stage, microbatch),
                                seconds(tables.input, stage, microbatch),
                                seconds(tables.weight, stage, microbatch)});
  workload.backward_is_split = tables.split;
}

CostTables read_costs(const YamlCursor& workload, const PipelineBlock& pipeline) {
  CostTables tables;
  const auto costs = workload.require("costs", "forward, and backward or its halves");
  if (!costs || !costs->expect_map({"forward", "backward_input", "backward_weight", "backward"}))
    return tables;
  const auto fields = describe<StageCost>(kCostFields);
  if (const auto forward = costs->require("forward"))
    tables.forward = read_table(*forward, fields[0], pipeline.shape);
  read_backward(*costs, pipeline, fields, tables);
  return tables;
}

/// One field of StageBytes for every stage.
void fill_bytes(const ValueTable& table, const Field<StageBytes>& field, Workload& workload) {
  const auto member = std::get<Bytes StageBytes::*>(field.member);
  for (std::size_t stage = 0; stage < workload.bytes.size(); ++stage)
    workload.bytes[stage].*member = Bytes{table.at(stage, 0, 1)};
}

bool read_byte_fields(const YamlCursor& map, std::span<const Field<StageBytes>> table,
                      const KnownShape& shape, Workload& workload) {
  const auto infos = describe<StageBytes>(table);
  bool good = true;
  for (std::size_t i = 0; i < table.size(); ++i) {
    const auto given = map.find(infos[i].name);
    if (!given) continue;
    const auto values = read_bytes(*given, infos[i], shape);
    if (values) fill_bytes(*values, table[i], workload);
    good = good && values.has_value();
  }
  return good;
}

void check_release(const YamlCursor& activation, const Workload& workload) {
  const auto given = activation.find("released_by_backward_input");
  if (!given) return;
  for (std::size_t stage = 0; stage < workload.bytes.size(); ++stage) {
    const StageBytes& bytes = workload.bytes[stage];
    if (bytes.released_by_backward_input <= bytes.held_by_forward) continue;
    given->fault(fmt::format("stage {}: the input gradient releases {}, the forward holds only {}",
                             stage, format(bytes.released_by_backward_input),
                             format(bytes.held_by_forward)));
    return;
  }
}

}  // namespace

void read_measured_costs(const YamlCursor& block, const PipelineBlock& pipeline, Workload& costs) {
  const CostTables tables = read_costs(block, pipeline);
  costs.costs.clear();
  fill_costs(tables, costs);
}

Workload read_workload(const YamlCursor& block, const PipelineBlock& pipeline) {
  Workload workload;
  if (!block.expect_map({"costs", "activation", "message", "gradient_message", "parameters",
                         "gradients", "optimizer", "parallel", kSyncKeys[0], kSyncKeys[1],
                         kSyncKeys[2], kSyncKeys[3], kRuntimeKeys[0], kRuntimeKeys[1],
                         kRuntimeKeys[2], kGroupExchangeKey}))
    return workload;
  const CostTables tables = read_costs(block, pipeline);
  const bool known = pipeline.shape.stages() && pipeline.shape.microbatches;
  if (known) {
    workload.stages = *pipeline.shape.stages();
    workload.microbatches = *pipeline.shape.microbatches;
    workload.bytes.resize(static_cast<std::size_t>(workload.stages));
    fill_costs(tables, workload);
  }
  if (const auto activation = block.find("activation")) {
    if (activation->expect_map({"held_by_forward", "released_by_backward_input"})) {
      if (read_byte_fields(*activation, kActivationFields, pipeline.shape, workload))
        check_release(*activation, workload);
    }
  }
  read_byte_fields(block, kStageFields, pipeline.shape, workload);
  if (!block.has("gradient_message"))
    for (StageBytes& bytes : workload.bytes) bytes.message_backward = bytes.message_forward;
  read_stage_sync(block, pipeline.shape, workload);
  return workload;
}

}  // namespace pipecast
