#pragma once
#include <iosfwd>
#include <optional>
#include <span>
#include <vector>

#include "schedules/schedule.hpp"
#include "sim/cost/memory.hpp"
#include "sim/read/framework_run.hpp"

namespace pipecast {

/// A framework's run, its stages, and what its ranks need under its schedule.
struct LayoutReport {
  FrameworkRun run;
  std::vector<StageLayers> stages;           ///< empty when the model is not known
  std::vector<DeviceParameters> parameters;  ///< [stage], of one device
  std::vector<RankFootprint> ranks;          ///< [rank]; empty when the model is not known
};

/// The memory comes from the schedule's order with equal costs. Infeasible when the layout does not
/// fit the model or the schedule does not fit the layout. At most 4,096 ranks are simulated.
Result<LayoutReport> layout_report(const FrameworkRun& run, std::span<const ScheduleInfo> schedules,
                                   Bytes capacity);

void write_layout_text(const LayoutReport& report, std::ostream& out);
/// `"format": "pipecast.layout/1"`.
void write_layout_json(const LayoutReport& report, std::ostream& out);

}  // namespace pipecast
