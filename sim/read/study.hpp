#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/diagnostic.hpp"
#include "sim/read/layout_search.hpp"
#include "sim/read/scenario.hpp"
#include "sim/read/yaml_cursor.hpp"
#include "sim/read/yaml_tree.hpp"

namespace pipecast {

/// Bounds of a study, checked before memory is taken.
inline constexpr std::int64_t kMaxCandidates = 1'000'000;
inline constexpr std::size_t kMaxAxes = 64;
inline constexpr std::size_t kMaxAxisEntries = 100'000;
inline constexpr std::size_t kMaxClusters = 256;

/// A number that may be known only as a range; studies sample ranges and use the middle elsewhere.
struct Uncertain {
  double low = 0;
  double high = 0;

  double middle() const { return low + (high - low) / 2; }
  bool is_range() const { return high > low; }
  bool operator==(const Uncertain&) const = default;
};

/// Keys of the scenario that change together, and the values they take.
struct Axis {
  std::vector<std::string> keys;
  YamlMark mark;                               ///< where the keys stand
  std::vector<std::vector<YamlNode>> entries;  ///< [entry][key]
  bool generated = false;                      ///< by a layout search: nobody wrote the entries
};

/// What one device of an accelerator costs, in place of the quote's amounts per device.
struct AcceleratorQuote {
  std::string accelerator;  ///< as the platform's devices name it
  Uncertain price_per_device;
  Uncertain rent_per_device_hour;
  Uncertain power_per_device;

  bool operator==(const AcceleratorQuote&) const = default;
};

/// What a cluster costs. Amounts per node are divided by `node_devices` and added to those per
/// device. US dollars, watts, hours.
struct Quote {
  int devices = 0;  ///< bought or rented as a whole; 0: those the layout uses
  int node_devices = 8;
  Uncertain price_per_device;
  Uncertain price_per_node;
  Uncertain network_per_device;
  Uncertain network_per_node;
  Uncertain facility_per_node;  ///< over the amortisation
  Uncertain rent_per_device_hour;
  double amortisation_hours = 4 * 365.25 * 24;
  Uncertain power_per_device;
  Uncertain power_per_node;
  Uncertain power_usage_effectiveness{1, 1};
  Uncertain electricity_per_kwh;
  Uncertain goodput{1, 1};  ///< share of wall-clock time that is useful training
  std::string source;
  std::vector<AcceleratorQuote> accelerators;  ///< of mixed machines

  bool operator==(const Quote&) const = default;
};

/// A machine on offer: what it changes in the scenario, axes of its own, and its price.
struct QuotedCluster {
  std::string name;
  std::vector<std::pair<std::string, YamlNode>> settings;  ///< key path → value
  std::vector<Axis> axes;
  Quote quote;
  std::optional<LayoutBounds> layouts;  ///< searched; what was found is the last of `axes`
  YamlMark layouts_mark;
  std::string no_layout;  ///< why the search found nothing: the cluster has no candidates
};

enum class Objective : std::uint8_t {
  StepTime,
  TokensPerSecond,
  TokensPerSecondPerDevice,
  UsdPerMillionTokens,
  Usd,
  Days,
  Energy,
  Devices,
  PeakMemory,
  Bubble,
};
inline constexpr std::size_t kObjectives = 10;

/// The word of a study file, which is also the column: `tokens_per_s`, `usd_per_million_tokens` …
std::string_view objective_name(Objective objective);

/// Limits that a row must keep; absent ones do not bind.
struct Constraints {
  double memory_margin = 0;       ///< share of a device's memory that must stay free
  std::optional<double> usd;      ///< for the whole training run
  std::optional<double> power_w;  ///< at the meter
  std::optional<double> days;
  std::optional<double> tokens_per_s;  ///< at least
  std::optional<double> devices;       ///< at most

  bool operator==(const Constraints&) const = default;
};

/// The run that money and days are counted for. tokens(B) = tokens · (B + critical) ÷ (reference +
/// critical), which is steps(B) = S_min (1 + B_crit ÷ B) with S_min = tokens ÷ (reference +
/// critical); McCandlish et al. 2018. Batches are tokens.
struct Training {
  double tokens = 0;          ///< 0: the study has no token budget
  double critical_batch = 0;  ///< 0: every batch needs the same tokens
  double reference_batch = 0;
  double tokens_per_microbatch = 0;  ///< for scenarios with explicit costs; of one pipeline

  bool operator==(const Training&) const = default;
};

/// Which rows SimGrid runs again: by each objective the `best` ones and all that screening puts
/// within `margin` of the best.
struct Refinement {
  int best = 10;
  double margin = 0.02;
  int at_most = 1000;  ///< per objective

  bool operator==(const Refinement&) const = default;
};

/// Ranges that are not prices, and how they are sampled. Factors multiply what the scenario says.
struct Sampling {
  int samples = 0;
  std::int64_t seed = 1;
  Uncertain compute{1, 1};    ///< rate of every device
  Uncertain bandwidth{1, 1};  ///< of every link
  Uncertain latency{1, 1};
  Uncertain jitter;  ///< standard deviation of an operation's time ÷ its time

  bool operator==(const Sampling&) const = default;
};

/// A what-if study: a base scenario, what is varied, and what counts.
struct Study {
  std::string name;
  std::string base_file;  ///< of the base scenario; its relative paths start here
  YamlDocument base;      ///< the base scenario's tree, `set` applied; also knows the study's text
  std::vector<QuotedCluster> clusters;  ///< at least one; unnamed when the file lists none
  std::vector<Axis> axes;               ///< for every cluster
  std::vector<Objective> objectives;
  Constraints constraints;
  Training training;
  Refinement refinement;
  Sampling sampling;
  std::vector<std::pair<std::string, std::string>> texts;  ///< file → text of all that was read
  std::vector<PlatformPreset> presets;                     ///< those it names, read once

  std::int64_t candidates() const;
};

/// Text of a study → value, or every fault of it in one go. The base scenario is read from the
/// folder of `file`. Values of axes that no scenario can take are faults at their place.
Result<Study> read_study(std::string_view text, const std::string& file,
                         const ReadContext& context);
Result<Study> read_study_file(const std::string& path, const ReadContext& context);

/// A study again from the texts it kept (`Study::texts`), without touching the file system, except
/// for schedule files in CSV.
Result<Study> read_study_texts(const std::vector<std::pair<std::string, std::string>>& texts,
                               const ReadContext& context);

}  // namespace pipecast
