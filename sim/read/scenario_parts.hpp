#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/read/scenario.hpp"
#include "sim/read/yaml_cursor.hpp"

/// The blocks of a scenario, one reader each. All of them report what is wrong and go on, so that
/// one reading finds every fault of the file.
namespace pipecast {

/// What is known of the shape while the rest is read; empty where its key was wrong.
struct KnownShape {
  std::optional<int> ranks;
  std::optional<int> chunks;
  std::optional<int> microbatches;

  std::optional<int> stages() const {
    if (!ranks || !chunks) return std::nullopt;
    return *ranks * *chunks;
  }
};

/// What the schedule asks of the costs.
enum class NeededBackward : std::uint8_t { Unknown, None, Full, Split };

struct PipelineBlock {
  ScheduleChoice schedule;
  KnownShape shape;
  NeededBackward backward = NeededBackward::Unknown;
};

PipelineBlock read_pipeline(const YamlCursor& pipeline, const std::string& file,
                            const ReadContext& context, FaultList& faults);

/// `workload:`; the faults of lengths are left out where the shape is not known.
Workload read_workload(const YamlCursor& workload, const PipelineBlock& pipeline);

/// Only `costs:` of a workload, over the seconds that are there already.
void read_measured_costs(const YamlCursor& workload, const PipelineBlock& pipeline,
                         Workload& costs);

/// `overheads`, `first_stage_input_gradient` and `overlap`: at the top of the scenario or in its
/// workload, not in both.
void read_runtime(const YamlCursor& root, const std::optional<YamlCursor>& workload,
                  Workload& costs);
inline constexpr std::string_view kRuntimeKeys[] = {"overheads", "first_stage_input_gradient",
                                                    "overlap"};

/// A whole scenario from a map; its spans are left to the caller.
Scenario read_scenario_block(const YamlCursor& root, const std::string& file,
                             const ReadContext& context, FaultList& faults);

/// A preset that was read already, or `<name>.yaml` in the preset folders.
Result<PlatformPreset> preset_named(const std::string& name, const ReadContext& context);

/// `file` is the scenario's: paths of platform files are relative to it.
PlatformChoice read_platform(const YamlCursor& platform, const std::string& file,
                             std::optional<int> ranks, const ReadContext& context,
                             FaultList& faults);

}  // namespace pipecast
