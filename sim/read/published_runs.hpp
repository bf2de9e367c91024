#pragma once
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/read/scenario.hpp"

namespace pipecast {

/// A run that somebody published, as a scenario, and how long its step took.
struct PublishedRun {
  std::string name;
  double measured_s = 0;
  std::string calibrates;  ///< which constants this row set; empty: none
  std::string group;       ///< rows whose ratios are compared; may be empty
  Scenario scenario;
};

/// Runs of one source.
struct PublishedSource {
  std::string source;
  std::string reference;
  std::string note;
  std::vector<PublishedRun> runs;
  std::vector<std::pair<std::string, std::string>> outside;  ///< what is left out, and why
};

/// Text of a file of published runs → value, or every fault of it:
///
///     source: Korthikanti et al. 2022
///     reference: arXiv 2205.05198
///     note: …
///     rows:
///       - {name: 22B, measured: 1.42 s, scenario: {pipeline: …, workload: …, platform: …}}
///     outside:
///       - {what: …, why: …}
///
/// A row may say `calibrates` (the constants it set) and `group`. Every override is put over the
/// scenario of each row: what the errors would be with one cause switched off.
Result<PublishedSource> read_published_runs(std::string_view text, const std::string& file,
                                            const ReadContext& context,
                                            std::span<const Override> overrides = {});

}  // namespace pipecast
