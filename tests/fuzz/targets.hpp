#pragma once
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/fields.hpp"
#include "sim/base/quantity.hpp"
#include "sim/read/accelerator.hpp"
#include "sim/read/astra_network.hpp"
#include "sim/read/framework_run.hpp"
#include "sim/read/hf_config.hpp"
#include "sim/read/measured_file.hpp"
#include "sim/read/model_shape.hpp"
#include "sim/read/platform_preset.hpp"
#include "sim/read/platform_xml.hpp"
#include "sim/read/program_csv.hpp"
#include "sim/read/scenario.hpp"
#include "sim/read/serving_scenario.hpp"
#include "sim/read/trace_operations.hpp"

/// What is done with one input, by libFuzzer and by the plain test that replays the corpus: read
/// it, and hold what comes out to a few sentences that must be true of any input.
namespace pipecast::fuzzing {

inline void require(bool holds, const char* sentence) {
  if (holds) return;
  std::fprintf(stderr, "violated: %s\n", sentence);
  std::abort();
}

inline void require_sound(const Diagnostics& faults) {
  require(!faults.empty(), "a refused input has a reason");
  require(faults.size() <= 150, "the number of faults is bounded");
  for (const Diagnostic& fault : faults) {
    require(!fault.message.empty(), "a fault has a message");
    require(fault.where.line >= 0 && fault.where.column >= 0, "places count from 1");
    require(!render(fault).empty() && !render(fault, Color::Ansi).empty(), "a fault can be shown");
  }
}

/// Lines `--set key.path=value` at the begin of the input are overrides.
inline void scenario(std::string_view input) {
  static const std::vector<ScheduleInfo> schedules = builtin_schedules();
  static const std::vector<PlatformKind> kinds = builtin_platform_kinds();
  constexpr std::string_view kSet = "--set ";
  std::vector<Override> overrides;
  while (input.starts_with(kSet)) {
    const std::string_view line = input.substr(0, input.find('\n'));
    input.remove_prefix(std::min(line.size() + 1, input.size()));
    const std::size_t equals = line.find('=');
    overrides.push_back(
        {std::string(line.substr(kSet.size(), equals - kSet.size())),
         equals == std::string_view::npos ? "" : std::string(line.substr(equals + 1))});
  }
  const auto result =
      read_scenario(input, "nowhere/scenario.yaml", {schedules, kinds, {}}, overrides);
  if (!result) return require_sound(result.error());
  require(check(result->shape).empty(), "a scenario's shape is within bounds");
  require(check(result->workload).empty(), "a scenario's workload is sound");
  require(result->workload.stages == result->shape.stages(), "costs fit the shape");
}

inline void platform_preset(std::string_view input) {
  static const std::vector<PlatformKind> kinds = builtin_platform_kinds();
  const auto result = read_platform_preset(input, "nowhere/preset.yaml", kinds);
  if (!result) return require_sound(result.error());
  for (const PlatformKind& kind : kinds)
    if (kind.name == result->kind)
      require(result->values.size() == kind.fields.size(), "a preset has every field of its kind");
}

inline void hf_config(std::string_view input) {
  const auto shape = read_hf_config(input, "nowhere/config.json");
  if (!shape) return require_sound(shape.error());
  require(check(shape->model).empty(), "a model that was read is sound");
  require(total_parameters(shape->model) > 0, "a model has parameters");
}

inline void require_sound_run(const Result<FrameworkRun>& run) {
  if (!run) return require_sound(run.error());
  require(microbatches(run->layout) == run->microbatches, "the batch arithmetic holds");
  if (run->model) require(run->model->vocabulary > 0, "a model has a vocabulary");
  if (const auto stages = stages_of(*run); !stages) require_sound(stages.error());
  const auto arguments = write_megatron_arguments(*run);
  if (!arguments) require_sound(arguments.error());
}

inline void megatron_arguments(std::string_view input) {
  require_sound_run(read_megatron_arguments(input, "nowhere/run.sh"));
}

/// JSON and TOML by their first byte.
inline void framework_config(std::string_view input) {
  require_sound_run(read_deepspeed_config(input, "nowhere/ds.json"));
  require_sound_run(read_torchtitan_config(input, "nowhere/run.toml"));
}

inline void serving(std::string_view input) {
  const auto scenario = read_serving_scenario(input, "nowhere/serve.yaml", {});
  if (!scenario) return require_sound(scenario.error());
  require(check(scenario->model.model).empty(), "a model that was read is sound");
  require(scenario->groups >= 1 && scenario->batch >= 1, "something is in flight");
  for (const auto& request : scenario->requests)
    require(request.arrival_s >= 0 && request.prompt_tokens > 0 && request.output_tokens > 0,
            "a request is sound");
}

inline void model_preset(std::string_view input) {
  const auto shape = read_model_preset(input, "nowhere/model.yaml");
  if (!shape) return require_sound(shape.error());
  require(check(shape->model).empty(), "a model that was read is sound");
  require(total_parameters(shape->model) > 0, "a model has parameters");
}

inline void accelerator(std::string_view input) {
  const auto result = read_accelerator(input, "nowhere/x1.yaml");
  if (!result) return require_sound(result.error());
  require(result->id == "x1", "an accelerator is named after its file");
  for (const PropertyInfo& info : property_table()) {
    const auto& figure = result->figures[static_cast<std::size_t>(info.property)];
    const Result<double> value = known(*result, info.property);
    require(value.has_value() == (figure && figure->value), "what is unknown is an error to use");
    require(!value || *value > 0, "known numbers are greater than 0");
  }
}

/// Every route of a platform that a file describes either exists, or says why it does not.
inline void require_routes(const Platform& platform) {
  require(check(platform).empty(), "what the reader takes is a sound platform");
  const auto devices =
      static_cast<std::int32_t>(std::min<std::size_t>(platform.devices.size(), 48));
  for (std::int32_t from = 0; from < devices; ++from)
    for (std::int32_t to = 0; to < devices; ++to) {
      if (from == to) continue;
      const Result<Route> way = route(platform, {from}, {to});
      if (!way)
        require_sound(way.error());
      else
        require(!way->links.empty() && way->bandwidth.value > 0, "a route has links");
    }
}

/// By levels where they can be written so: the same platform comes back.
inline void platform_levels(const Platform& platform) {
  const Result<std::string> text = write_levels_xml(platform);
  if (!text) return require_sound(text.error());
  const auto again = read_platform_xml(*text, "nowhere/machine.xml");
  require(again.has_value(), "levels that we write can be read");
  require(again->devices == platform.devices && again->links == platform.links,
          "levels keep devices and links");
  const auto devices = static_cast<std::int32_t>(platform.devices.size());
  for (std::int32_t from = 0; from < devices; ++from)
    for (std::int32_t to = 0; to < devices; ++to) {
      if (from == to) continue;
      const Result<Route> way = route(platform, {from}, {to});
      const Result<Route> back = route(*again, {from}, {to});
      require(way.has_value() == back.has_value(), "levels keep what is reached");
      if (way) require(*way == *back, "levels keep every route");
    }
}

inline void platform_xml(std::string_view input) {
  const auto result = read_platform_xml(input, "nowhere/machine.xml");
  if (!result) return require_sound(result.error());
  require_routes(*result);
  if (result->devices.size() > 48) return;
  if (std::holds_alternative<LevelRouting>(result->routing)) return platform_levels(*result);
  const Result<std::string> text = write_platform_xml(*result);
  require(text.has_value(), "what was read can be written");
  const auto again = read_platform_xml(*text, "nowhere/machine.xml");
  require(again.has_value(), "what we write can be read");
  require(*again == *result, "reading what was written gives the same platform");
}

inline void astra_network(std::string_view input) {
  const auto result = read_astra_network(input, "nowhere/network.yml");
  if (!result) return require_sound(result.error());
  require_routes(*result);
  const auto last = static_cast<std::int32_t>(result->devices.size()) - 1;
  require(route(*result, {0}, {last}).has_value(), "every NPU is reached");
}

/// The first byte chooses dialect and notation.
inline void program_csv(std::string_view input) {
  if (input.empty()) return;
  const int choice = input.front();
  input.remove_prefix(1);
  const auto dialect = choice % 2 == 0 ? CsvDialect::ComputeOnly : CsvDialect::ComputeComms;
  const auto notation = choice / 2 % 2 == 0 ? CsvNotation::Current : CsvNotation::Torch25;
  const auto program = read_program_csv(input, "nowhere.csv", dialect, notation);
  if (!program) return require_sound(program.error());
  require(check(*program).empty(), "what the reader takes is a valid program");
  const std::string text = write_program_csv(*program);
  const auto again = read_program_csv(text, "again.csv", dialect);
  require(again.has_value(), "what we write can be read");
  require(*again == *program, "reading what was written gives the same program");
  require(write_program_csv(*again) == text, "writing is the inverse of reading");
}

/// The whole input as every kind of quantity, and as every parameter of the registries.
inline void fields(std::string_view input) {
  static const std::vector<ScheduleInfo> schedules = builtin_schedules();
  static const std::vector<PlatformKind> kinds = builtin_platform_kinds();
  for (const Dimension dimension :
       {Dimension::Time, Dimension::Memory, Dimension::Bandwidth, Dimension::Compute,
        Dimension::Power, Dimension::Money, Dimension::None}) {
    const auto value = parse_quantity(input, dimension);
    require(value || !value.error().empty(), "a refused quantity has a reason");
  }
  if (const auto number = parse_number(input))
    require(parse_number(format_number(*number)) == *number, "a printed number reads back");
  if (const auto whole = parse_integer(input))
    require(parse_integer(std::to_string(*whole)) == *whole, "a printed integer reads back");
  const auto try_all = [&](const std::vector<FieldInfo>& table) {
    for (const FieldInfo& field : table) {
      const auto value = parse_field(field, input);
      require(value || !value.error().empty(), "a refused parameter has a reason");
    }
  };
  for (const ScheduleInfo& schedule : schedules) try_all(schedule.fields);
  for (const PlatformKind& kind : kinds) try_all(kind.fields);
}

/// A trace, a CSV of intervals and lists by rank at once.
inline void measured(std::string_view input) {
  const auto content = read_trace(ByteSource::of_text(input), "nowhere.json");
  if (!content) require_sound(content.error());
  if (content) {
    const auto steps = rank_steps(*content, 0, "nowhere.json");
    if (!steps) require_sound(steps.error());
    if (steps) require(!steps->empty(), "a pipeline has a step");
  }
  for (auto run :
       {read_interval_csv(input, "nowhere.csv"), read_interval_tree(input, "nowhere.json", 0)}) {
    if (!run) {
      require_sound(run.error());
      continue;
    }
    if (tidy(*run).empty())
      for (const MeasuredStep& step : run->steps)
        if (const auto program = measured_program(step))
          require(check(*program).empty(), "what was measured is a valid program");
  }
}

}  // namespace pipecast::fuzzing
