#pragma once
#include <span>
#include <vector>

#include "sim/graph/task.hpp"
#include "sim/model/memory_parts.hpp"
#include "sim/model/program.hpp"
#include "sim/model/timeline.hpp"
#include "sim/model/workload.hpp"

namespace pipecast {

/// All of a rank's memory from `time_s` on, by what it is used for.
struct FootprintPoint {
  double time_s = 0;
  MemoryParts parts;

  bool operator==(const FootprintPoint&) const = default;
};
using FootprintCurve = std::vector<FootprintPoint>;

/// Memory of every rank over a run: what is fixed, what each microbatch holds from its forward to
/// its backward (between input and weight gradient: what the weight gradient needs), and what an
/// operation needs while it runs. An offloaded share leaves when the forward ends and is back when
/// the backward begins. What one operation gives back at an instant is free for the next. `stages`
/// is indexed by stage. Allowances and capacity are the caller's: see judge(). O(tasks log tasks).
std::vector<RankFootprint> measure_footprints(const Program& program, const Workload& workload,
                                              std::span<const StageFootprint> stages,
                                              Bytes workspace, std::span<const Task> tasks,
                                              const Timeline& timeline);

/// The same as curves: a point wherever something changes. O(tasks log tasks).
std::vector<FootprintCurve> footprint_curves(const Program& program, const Workload& workload,
                                             std::span<const StageFootprint> stages,
                                             Bytes workspace, std::span<const Task> tasks,
                                             const Timeline& timeline);

}  // namespace pipecast
