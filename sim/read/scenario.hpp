#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "platforms/platform_kind.hpp"
#include "schedules/schedule.hpp"
#include "sim/base/diagnostic.hpp"
#include "sim/base/fields.hpp"
#include "sim/graph/transfers.hpp"
#include "sim/model/imperfections.hpp"
#include "sim/model/parallel_layout.hpp"
#include "sim/model/program.hpp"
#include "sim/model/workload.hpp"
#include "sim/read/platform_preset.hpp"
#include "sim/read/program_csv.hpp"
#include "sim/read/scenario_model.hpp"

namespace pipecast {

struct YamlDocument;

/// Where the program comes from: a registered schedule with its parameters, or a CSV file.
struct ScheduleChoice {
  std::string name;      ///< registry name; empty when a CSV file is given
  FieldValues params;    ///< complete: defaults filled in from the schedule's field table
  std::string csv_path;  ///< resolved against the scenario's folder; empty when a name is given
  CsvDialect csv_dialect = CsvDialect::ComputeOnly;
  std::optional<Program> csv_program;  ///< what the CSV file holds, already checked
  SourceSpan where;

  bool operator==(const ScheduleChoice&) const = default;
};

/// Where devices and links come from: a kind of fabric with its parameters (a preset is a file that
/// names both), a platform file of another tool, or one constant delay per message.
struct PlatformChoice {
  std::string kind;    ///< registry name of the kind; empty for a file or the constant delay
  std::string preset;  ///< name of the preset file that was read, or empty
  FieldValues values;  ///< complete: preset and overrides over the kind's defaults
  std::vector<NodePart> parts;          ///< nodes of other accelerators
  std::vector<std::string> unverified;  ///< the preset's numbers from memory or estimated, in the
                                        ///< order of their names, that are not given anew
  Seconds delay;                        ///< with neither kind nor file
  std::string file;         ///< SimGrid's or ASTRA-sim's, resolved against the scenario's folder
  std::string file_format;  ///< `xml` or `astra`
  std::optional<Platform> file_platform;  ///< what the file holds, already checked
  std::vector<int> devices;  ///< device of each rank of the layout, in its order; empty: in order
  SourceSpan where;

  bool operator==(const PlatformChoice&) const = default;
};

/// The devices of a layout, in its order: as listed, or from the first. Whether they exist is not
/// asked.
std::vector<DeviceId> devices_of(const PlatformChoice& choice, const ParallelLayout& layout);

/// What a scenario file said, checked key by key but not yet put together.
struct Scenario {
  std::string name;
  ScheduleChoice schedule;
  Shape shape;
  Workload workload;        ///< from a model: what a device keeps; else before ZeRO cuts anything
  ParallelLayout parallel;  ///< with the pipeline and chunks of the shape
  PlatformChoice platform;
  Imperfections imperfections;
  std::optional<ModelRun> model;  ///< where the workload comes from, when it comes from a model
  TransferPolicy transfers = TransferPolicy::Overlapped;
  std::map<std::string, SourceSpan, std::less<>>
      spans;  ///< key path → where it stands, for later complaints

  /// Where a key was written; the closest enclosing key when it was left out.
  SourceSpan where(std::string_view key_path) const;
};

class ReadCache;

/// Registries and folders a reader needs; it links none of the concrete schedules or platforms.
struct ReadContext {
  std::span<const ScheduleInfo> schedules;
  std::span<const PlatformKind> platform_kinds;
  std::vector<std::string> preset_folders;       ///< searched in order for `<preset>.yaml`
  std::span<const PlatformPreset> presets = {};  ///< read already; they come before the folders
  ReadCache* cache = nullptr;  ///< for a caller that reads many scenarios on few machines
};

/// One `--set key.path=value`. The value is YAML text.
struct Override {
  std::string key_path;
  std::string value;
};

/// Text of a scenario → value, or every fault of the file in one go. `file` is used in messages and
/// to resolve relative paths. Files above 16 MiB, nesting above 64 levels and shapes above the
/// bounds of model/program.hpp are refused before memory is taken for them.
Result<Scenario> read_scenario(std::string_view text, const std::string& file,
                               const ReadContext& context,
                               std::span<const Override> overrides = {});

/// The same from a parsed document, for a caller that changes one key after another. Without spans,
/// `Scenario::spans` stays empty.
enum class KeepSpans : std::uint8_t { Yes, No };
Result<Scenario> read_scenario_document(const YamlDocument& document, const std::string& file,
                                        const ReadContext& context, KeepSpans spans);

/// The same from a file on disk.
Result<Scenario> read_scenario_file(const std::string& path, const ReadContext& context,
                                    std::span<const Override> overrides = {});

}  // namespace pipecast
