#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "sim/read/scenario_parts.hpp"

namespace pipecast {
namespace {

const std::array<Field<Shape>, 3> kShapeFields{{
    {"ranks", &Shape::ranks, "pipeline ranks", 1, kMaxRanks, {}},
    {"chunks", &Shape::chunks, "model chunks (virtual stages) per rank", 1, kMaxChunks, {}},
    {"microbatches", &Shape::microbatches, "microbatches per step", 1, kMaxMicrobatches, {}},
}};

NeededBackward needed(BackwardKind kind) {
  switch (kind) {
    case BackwardKind::None:
      return NeededBackward::None;
    case BackwardKind::Full:
      return NeededBackward::Full;
    case BackwardKind::Split:
      return NeededBackward::Split;
  }
  return NeededBackward::Unknown;
}

NeededBackward needed(const Program& program) {
  if (has_split_backward(program)) return NeededBackward::Split;
  return has_backward(program) ? NeededBackward::Full : NeededBackward::None;
}

CsvNotation read_notation(const YamlCursor& schedule) {
  const std::array<std::string, 2> words{"current", "torch-2.5"};
  const auto given = schedule.find("notation");
  const auto word = given ? given->choice(words) : std::nullopt;
  return word == "torch-2.5" ? CsvNotation::Torch25 : CsvNotation::Current;
}

CsvDialect read_dialect(const YamlCursor& schedule) {
  const std::array<std::string, 2> words{"compute_only", "compute_comms"};
  const auto given = schedule.find("dialect");
  const auto word = given ? given->choice(words) : std::nullopt;
  return word == "compute_comms" ? CsvDialect::ComputeComms : CsvDialect::ComputeOnly;
}

void read_csv(const YamlCursor& schedule, const std::string& file, ScheduleChoice& choice,
              FaultList& faults) {
  if (!schedule.expect_map({"csv", "dialect", "notation"})) return;
  choice.csv_dialect = read_dialect(schedule);
  const CsvNotation notation = read_notation(schedule);
  const auto given = schedule.require("csv", "the path of a schedule file");
  const auto path = given ? given->text() : std::nullopt;
  if (!path) return;
  choice.csv_path = (std::filesystem::path(file).parent_path() / *path).string();
  auto program = read_program_csv_file(choice.csv_path, choice.csv_dialect, notation);
  if (program)
    choice.csv_program = std::move(*program);
  else
    faults.add(located(std::move(program.error()), given->where()));
}

const ScheduleInfo* read_registered(const YamlCursor& schedule,
                                    std::span<const ScheduleInfo> schedules) {
  const auto name = schedule.text();
  if (!name) return nullptr;
  std::vector<std::string> names;
  for (const ScheduleInfo& info : schedules) {
    if (info.name == *name) return &info;
    names.emplace_back(info.name);
  }
  schedule.fault(fmt::format("unknown schedule '{}'", shown(*name)), suggest(*name, names));
  return nullptr;
}

/// Parameters of a schedule when the scenario gives none; a parameter whose default is out of
/// bounds must be given.
FieldValues default_params(const YamlCursor& pipeline, const ScheduleInfo& info) {
  FieldValues values = parse_fields(info.fields, {}).value_or(FieldValues{});
  for (const FieldInfo& field : info.fields)
    if (!pipeline.has("params") && !values.contains(field.name))
      pipeline.fault_at_key(fmt::format("{} needs params.{}", info.name, field.name), field.help);
  return values;
}

/// A number of the shape. A CSV file knows it already: then the key may be left out, and must agree
/// when it is there.
std::optional<int> read_size(const YamlCursor& pipeline, const FieldInfo& field,
                             std::optional<int> of_file, std::optional<int> otherwise) {
  const bool optional = of_file || otherwise;
  const auto given =
      optional ? pipeline.find(field.name) : pipeline.require(field.name, field.help);
  if (!given) {
    if (pipeline.has(field.name) || !optional) return std::nullopt;
    return of_file ? of_file : otherwise;
  }
  const auto value = given->field(field);
  if (!value) return std::nullopt;
  const int number = static_cast<int>(std::get<std::int64_t>(*value));
  if (of_file && number != *of_file) {
    given->fault(fmt::format("{} is {}, the schedule file has {}", field.name, number, *of_file),
                 fmt::format("leave {} out to take the file's", field.name));
    return std::nullopt;
  }
  return number;
}

KnownShape read_shape(const YamlCursor& pipeline, const std::optional<Program>& program,
                      bool broken_csv, int default_chunks) {
  const auto fields = describe<Shape>(kShapeFields);
  const auto of_file = [&](int Shape::*member) {
    return program ? std::optional(program->shape.*member) : std::nullopt;
  };
  KnownShape shape;
  // The numbers of a file that could not be read are not missing from the scenario.
  if (!broken_csv || pipeline.has("ranks"))
    shape.ranks = read_size(pipeline, fields[0], of_file(&Shape::ranks), std::nullopt);
  if (!broken_csv || pipeline.has("chunks"))
    shape.chunks = read_size(pipeline, fields[1], of_file(&Shape::chunks), default_chunks);
  if (!broken_csv || pipeline.has("microbatches"))
    shape.microbatches =
        read_size(pipeline, fields[2], of_file(&Shape::microbatches), std::nullopt);
  if (!shape.stages() || !shape.microbatches) return shape;
  const Diagnostics bounds = check(Shape{*shape.ranks, *shape.chunks, *shape.microbatches});
  for (const Diagnostic& fault : bounds) pipeline.fault_at_key(fault.message, fault.hint);
  return bounds.empty() ? shape : KnownShape{};
}

}  // namespace

PipelineBlock read_pipeline(const YamlCursor& pipeline, const std::string& file,
                            const ReadContext& context, FaultList& faults) {
  PipelineBlock block;
  if (!pipeline.expect_map({"schedule", "ranks", "chunks", "microbatches", "params"})) return block;
  const auto params = pipeline.find("params");
  const auto schedule =
      pipeline.require("schedule", "a name from `pipecast schedule list`, or {csv: file}");
  const ScheduleInfo* info = nullptr;
  bool broken_csv = false;
  if (schedule && schedule->is_map()) {
    read_csv(*schedule, file, block.schedule, faults);
    broken_csv = !block.schedule.csv_program;
    if (params) params->expect_map(std::span<const std::string>{});
  } else if (schedule) {
    info = read_registered(*schedule, context.schedules);
  }
  if (schedule) block.schedule.where = schedule->where();
  if (info != nullptr) {
    block.schedule.name = std::string(info->name);
    block.schedule.params = params ? params->fields(info->fields) : default_params(pipeline, *info);
    block.backward = needed(info->backward);
  } else if (block.schedule.csv_program) {
    block.backward = needed(*block.schedule.csv_program);
  }
  block.shape = read_shape(pipeline, block.schedule.csv_program, broken_csv,
                           info != nullptr ? info->default_chunks : 1);
  return block;
}

}  // namespace pipecast
