#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/diagnostic.hpp"
#include "sim/base/fields.hpp"
#include "sim/model/program.hpp"
#include "sim/model/workload.hpp"

namespace pipecast {

/// What a generator gets: the shape, its own parameters (already parsed and bounded by its field
/// table), and the costs, which only cost-aware schedules look at.
struct ScheduleRequest {
  Shape shape;
  FieldValues params;
  const Workload& workload;
  Seconds transfer_hint = {};  ///< expected time of a message between neighbouring ranks, the
                               ///< workload's message overhead not included
};

/// A time that no order of a schedule can beat under the same request.
struct TimeBound {
  enum class Of : std::uint8_t { LargestRankSpan, Makespan };
  Seconds at_least;
  Of of = Of::LargestRankSpan;
};

/// How a schedule's program computes gradients.
enum class BackwardKind : std::uint8_t { None, Full, Split };

/// A row of the registry. `check` holds the schedule's constraints on shape and parameters: one
/// diagnostic (infeasible) for each violated one, naming the nearest valid values. `generate` may
/// assume that `check` found nothing.
struct ScheduleInfo {
  std::string_view name;
  std::string_view summary;     ///< one line
  std::string_view provenance;  ///< whose code or paper the order is
  BackwardKind backward = BackwardKind::Full;
  bool asynchronous = false;  ///< trains on stale weights: not the algorithm of the others
  int default_chunks = 1;     ///< chunks when the user names none
  std::vector<FieldInfo> fields;
  Diagnostics (*check)(const ScheduleRequest&) = nullptr;
  Result<Program> (*generate)(const ScheduleRequest&) = nullptr;
  TimeBound (*lower_bound)(const ScheduleRequest&) = nullptr;  ///< null: none is known
  Placement (*placement)(const ScheduleRequest&) = nullptr;    ///< of its programs, whatever the
                                                               ///< costs; null: loop_placement
};

/// Which rank holds which stage, before a program is generated. `check` must have found nothing.
inline Placement placement_of(const ScheduleInfo& schedule, const ScheduleRequest& request) {
  return schedule.placement != nullptr ? schedule.placement(request)
                                       : loop_placement(request.shape);
}

/// Every schedule we know, in the order `pipecast schedule list` prints.
std::vector<ScheduleInfo> builtin_schedules();

const ScheduleInfo* find_schedule(std::span<const ScheduleInfo> schedules, std::string_view name);

/// The one gate: bounds of the shape, the schedule's constraints, the generator, then
/// check(Program). A program that fails its own check is our bug and is reported as such.
Result<Program> make_program(const ScheduleInfo& schedule, const ScheduleRequest& request);

}  // namespace pipecast
