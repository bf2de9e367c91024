#pragma once
#include <functional>
#include <span>

#include "sim/graph/task_graph.hpp"
#include "sim/model/imperfections.hpp"
#include "sim/model/parallel_layout.hpp"
#include "sim/model/timeline.hpp"
#include "sim/report/delays.hpp"

namespace pipecast {

/// The platform with its slow devices and degraded links. Errors: a device or a link that it does
/// not have, with the nearest name.
Result<Platform> imperfect(Platform platform, const Imperfections& imperfections);

/// The platform with the devices of slow ranks slowed down, in every replica, and every device as
/// slow as the slowest of those it computes a stage with: tensor and context groups exchange in
/// every layer. `devices` are those of the layout, in its order. Errors: a rank that the pipeline
/// does not have.
Result<Platform> in_step(Platform platform, const Imperfections& imperfections,
                         const ParallelLayout& layout, std::span<const DeviceId> devices);

/// Infeasible when a task of the graph needs a link that is broken.
Diagnostics broken_ways(const TaskGraph& graph, const Imperfections& imperfections,
                        const Platform& platform);

using Evaluate = std::function<Result<Timeline>(const TaskGraph&)>;

/// [task] what it takes on an ordinary device; on a mixed machine whose costs were derived, on the
/// fastest accelerator. `graph` may hold several replicas of the program.
std::vector<double> ordinary_seconds(const TaskGraph& graph, const Program& program,
                                     const Workload& workload, const Platform& platform);

/// Who causes the delay: of `timeline`, and with jitter of as many sampled steps. `ordinary` are
/// the ordinary_seconds(), `ranks` is that of one pipeline; replicas of a rank are counted
/// together. The factor of an operation depends on seed, step and operation alone. O(samples ·
/// run).
Result<Delays> delays_of(const TaskGraph& graph, const std::vector<double>& ordinary, int ranks,
                         const Timeline& timeline, const Jitter& jitter, const Evaluate& evaluate);

}  // namespace pipecast
