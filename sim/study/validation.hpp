#pragma once
#include <string>
#include <vector>

#include "sim/read/published_runs.hpp"
#include "sim/report/step_estimate.hpp"

namespace pipecast {

/// A published run beside its prediction.
struct ValidationRow {
  std::string name;
  double measured_s = 0;
  double predicted_s = 0;
  std::string calibrates;
  std::string group;
  StepEstimate estimate;
  std::string refused;  ///< why it could not be run; empty: it was

  /// Predicted ÷ measured − 1.
  double error() const { return measured_s > 0 ? predicted_s / measured_s - 1 : 0; }
};

/// Rows of one source and how far off they are; rows that set constants are not counted.
struct ValidationSource {
  PublishedSource source;
  std::vector<ValidationRow> rows;
  int counted = 0;
  double mean_absolute_error = 0;
  double worst_error = 0;                ///< signed
  double mean_absolute_ratio_error = 0;  ///< of ratios to the first row of the group
  double worst_ratio_error = 0;
  int ratios = 0;
};

/// Runs every row on the longest-path evaluator (the links of a step are not shared then).
ValidationSource validate(PublishedSource source, const ReadContext& context);

/// The page docs/validation.md: every row, per source mean absolute and worst error, constants and
/// rows that set them, what is outside and why. Same input, same bytes.
std::string validation_page(const std::vector<ValidationSource>& sources,
                            const std::string& constants);

/// The constants of the accelerators the rows use, as lines of a Markdown table.
std::string constants_table(const std::vector<ValidationSource>& sources,
                            const ReadContext& context);

}  // namespace pipecast
