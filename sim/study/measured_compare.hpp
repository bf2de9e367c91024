#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/base/diagnostic.hpp"
#include "sim/study/measured_excess.hpp"
#include "sim/study/measured_forecast.hpp"
#include "sim/study/measured_profile.hpp"
#include "sim/study/simulate.hpp"

namespace pipecast {

struct RankComparison {
  Rank rank;
  double measured_busy_s = 0;
  double predicted_busy_s = 0;
  double measured_end_s = 0;
  double predicted_end_s = 0;
};

/// A difference that a person can look at, largest first.
struct Difference {
  enum class Sort : std::uint8_t { SlowerOperation, LateMessage, MissingOverlap, Straggler };
  Sort sort = Sort::SlowerOperation;
  Rank rank;
  Op op;  ///< of a straggler: its stage
  double seconds = 0;
};

struct MeasuredComparison {
  std::string step;
  bool in_sample = false;  ///< the profile was taken from the compared step
  std::string against;     ///< the scenario that is the prediction; empty: the profile
  double measured_s = 0;
  double predicted_s = 0;
  MeasuredExcess excess;  ///< over the scenario's durations, else over the fastest of the step
  std::vector<RankComparison> ranks;
  std::vector<OperationProfile> operations;  ///< of the compared step alone
  std::vector<OperationProfile> foreseen;    ///< the same of the prediction
  std::vector<Difference> differences;
  FinishedRun measured;   ///< the measured timeline on the graph of its order
  FinishedRun predicted;  ///< the scenario's run, or the order with median costs, mean pause and
                          ///< median message delay

  double error() const { return predicted_s / measured_s - 1; }
};

/// Everything that came out of an import.
struct ImportReport {
  MeasuredRun run;
  MeasuredProfile profile;
  MeasuredComparison comparison;
};

std::string_view difference_name(Difference::Sort sort);

/// Profile from all steps but the last, which is predicted; of one step from itself. With a
/// forecast, that is the prediction. Error: the forecast is of another pipeline.
Result<ImportReport> import_report(MeasuredRun run, std::span<const ScheduleInfo> schedules,
                                   std::optional<Forecast> forecast = {});

/// For a person; JSON (`"format": "pipecast.import/1"`).
void write_import_text(const ImportReport& report, std::ostream& out);
void write_import_json(const ImportReport& report, std::ostream& out);

}  // namespace pipecast
