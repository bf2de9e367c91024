#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/graph/task_graph.hpp"
#include "sim/model/program.hpp"
#include "sim/model/timeline.hpp"
#include "sim/report/run_index.hpp"

namespace pipecast {

/// Where in a rank's step an idle stretch lies.
enum class Phase : std::uint8_t {
  WarmUp,    ///< before the rank's first backward; before its first operation if it has none
  Steady,    ///< between the two
  CoolDown,  ///< after the rank's last forward
};

enum class IdleCause : std::uint8_t {
  Dependency,  ///< nothing to do yet: the work is elsewhere, or all done
  Transfer,    ///< the message that ends the wait is on its way
  Gap,         ///< the runtime pauses between two operations
};

/// A stretch of time in which a rank computes nothing, for one reason.
struct IdleStretch {
  double start_s = 0;
  double end_s = 0;
  Phase phase = Phase::Steady;
  IdleCause cause = IdleCause::Dependency;
  std::int32_t message = kNoTask;  ///< cause Transfer: the task waited for

  double seconds() const { return end_s - start_s; }
  bool operator==(const IdleStretch&) const = default;
};

/// The idle time of one rank, in time order, without empty stretches. Together with the rank's work
/// it covers [0, makespan] without overlap.
///
/// The idle time before an operation is cut into: the runtime's gap; then the part in which the
/// message that arrived last was on its way; the rest is dependency. Time before the first and
/// after the last operation is included. O(operations of the rank).
std::vector<IdleStretch> idle_stretches(const Program& program, const TaskGraph& graph,
                                        const Timeline& timeline, const RunIndex& index, Rank rank);

/// `warm-up`, `steady`, `cool-down`.
std::string_view phase_name(Phase phase);

}  // namespace pipecast
