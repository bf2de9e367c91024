#pragma once
#include <optional>
#include <string>
#include <vector>

#include "schedules/schedule.hpp"
#include "sim/base/diagnostic.hpp"
#include "sim/model/measured_run.hpp"
#include "sim/model/workload.hpp"

namespace pipecast {

/// Seconds of one kind of operation on one stage, over microbatches and steps.
struct OperationProfile {
  Stage stage;
  Rank rank;
  OpKind kind = OpKind::Forward;
  int count = 0;
  double shortest_s = 0;
  double median_s = 0;
  double spread_s = 0;  ///< median distance from the median, × 1.4826: σ of a normal distribution
  double longest_s = 0;
};

/// An operation far from the median of its kind: by more than 4 spreads and 10 % of the median.
/// Counted over the steps in which it is; `seconds` is the median of those.
struct MeasuredOutlier {
  Rank rank;
  Op op;
  int steps = 0;     ///< in how many steps
  int of_steps = 0;  ///< of how many
  double seconds = 0;
  double median_s = 0;  ///< of its kind on its stage
};

/// Pauses of the runtime and messages, where they were what an operation waited for.
struct LagProfile {
  int count = 0;
  double median_s = 0;
  double mean_s = 0;  ///< of the middle 90 %
};

/// What a measured run says about costs.
struct MeasuredProfile {
  Shape shape;
  std::string schedule;  ///< registry name whose order was executed; empty: none
  Program program;       ///< the executed order
  std::vector<OperationProfile> operations;  ///< by stage, then kind
  std::vector<MeasuredOutlier> outliers;     ///< in most steps first, then by excess
  LagProfile
      gap;  ///< end of an operation to the begin of the rank's next that waits for no message
  LagProfile message;  ///< end of the producer to the begin of the consumer that waited for it
  std::optional<Stage> slow_stage;  ///< its operations take over 3 % more than the median stage's
  double slow_excess = 0;           ///< of the slow stage: 0.11 is 11 % more
};

/// Profile over the given steps. Error: the operations are not those of a step.
Result<MeasuredProfile> profile_of(std::span<const MeasuredStep> steps,
                                   std::span<const ScheduleInfo> schedules);

/// Median costs per stage, with the pauses of the runtime as overhead. Messages have no bytes:
/// their delay is `profile.message`.
Workload profiled_workload(const MeasuredProfile& profile);
/// Every operation at its fastest, nothing else.
Workload fastest_workload(const MeasuredProfile& profile);

/// A scenario that `pipecast run` reads; `csv_name` is where the order is when no registered
/// schedule has it.
std::string scenario_text(const MeasuredProfile& profile, const std::string& csv_name);

}  // namespace pipecast
