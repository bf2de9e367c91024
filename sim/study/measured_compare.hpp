#pragma once
#include <string>
#include <vector>

#include "sim/base/diagnostic.hpp"
#include "sim/study/measured_profile.hpp"
#include "sim/study/simulate.hpp"

namespace pipecast {

/// Where a measured step's time beyond the ideal went, along its critical path: the chain of
/// operations that each waited for the one before. measured = ideal + start + operations + gaps +
/// messages − slack, exactly.
struct ExcessTime {
  double ideal_s = 0;       ///< makespan with every operation at its fastest and nothing else
  double start_s = 0;       ///< before the first operation of the path
  double operations_s = 0;  ///< operations longer than the fastest of their kind and stage
  double gaps_s = 0;        ///< between operations of a rank, and after the last
  double messages_s = 0;    ///< end of a producer to the begin of the consumer that waited for it
  double slack_s = 0;  ///< the ideal's own path is longer than the measured one's ideal by this
};

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
  double measured_s = 0;
  double predicted_s = 0;
  ExcessTime excess;
  std::vector<RankComparison> ranks;
  std::vector<OperationProfile> operations;  ///< of the compared step alone
  std::vector<Difference> differences;
  FinishedRun measured;   ///< the measured timeline on the graph of its order
  FinishedRun predicted;  ///< median costs, mean pause and median message delay

  double error() const { return predicted_s / measured_s - 1; }
};

/// Everything that came out of an import.
struct ImportReport {
  MeasuredRun run;
  MeasuredProfile profile;
  MeasuredComparison comparison;
};

std::string_view difference_name(Difference::Sort sort);

/// Profile from all steps but the last, which is predicted; of one step from itself.
Result<ImportReport> import_report(MeasuredRun run, std::span<const ScheduleInfo> schedules);

/// For a person; JSON (`"format": "pipecast.import/1"`); one self-contained page with both
/// timelines.
void write_import_text(const ImportReport& report, std::ostream& out);
void write_import_json(const ImportReport& report, std::ostream& out);
void write_import_html(const ImportReport& report, std::ostream& out);

}  // namespace pipecast
