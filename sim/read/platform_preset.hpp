#pragma once
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "platforms/platform_kind.hpp"
#include "sim/base/diagnostic.hpp"
#include "sim/base/fields.hpp"

namespace pipecast {

/// A number of a preset as its author wrote it.
struct StatedValue {
  std::string text;       ///< `450 GB/s`
  std::string source;     ///< where the number is from; may be empty
  std::string certainty;  ///< how sure it is, e.g. `vendor`, `measured`; may be empty
  std::string note;

  bool operator==(const StatedValue&) const = default;
};

/// A file of platforms/: a kind of fabric, its parameters, and where each of them comes from.
///
///     kind: nvlink-node
///     description: one node of eight devices
///     nvlink_latency: 600 ns
///     nvlink_bandwidth: {value: 450 GB/s, source: vendor's data sheet, certainty: vendor}
///     sources: {…}            # any text, kept for documentation
struct PlatformPreset {
  std::string name;  ///< the file's name without `.yaml`
  std::string kind;
  std::string description;
  FieldValues values;  ///< complete: what the file says over the kind's defaults
  std::map<std::string, StatedValue, std::less<>> stated;    ///< only what the file says
  std::vector<std::pair<std::string, std::string>> sources;  ///< key path below `sources` → text

  bool operator==(const PlatformPreset&) const = default;
};

/// Text of a preset → value, or every fault of the file. `file` gives the name.
Result<PlatformPreset> read_platform_preset(std::string_view text, const std::string& file,
                                            std::span<const PlatformKind> kinds);

/// `<name>.yaml` in the first folder that has it.
Result<PlatformPreset> find_platform_preset(const std::string& name,
                                            std::span<const std::string> folders,
                                            std::span<const PlatformKind> kinds);

/// Names of all presets in the folders, sorted, each once.
std::vector<std::string> platform_preset_names(std::span<const std::string> folders);

}  // namespace pipecast
