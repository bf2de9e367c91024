#pragma once
#include <string>
#include <vector>

#include "sim/base/diagnostic.hpp"
#include "sim/model/measured_run.hpp"
#include "sim/read/trace_import.hpp"

namespace pipecast {

/// One rank's steps from the annotations of its trace. The n-th time that an operation appears is
/// step n. `rank` is the stage of annotations that name none (`Forward 0`).
///
/// With device annotations an operation is what ran on the device. Without, it is the host's slice
/// less the wait for its input, the runtime's own work and the loss (see trace_extent.hpp). An
/// overlapped pair is cut where the backward begins. O(events · log events).
///
/// Error: no annotation of a pipeline; says what the trace holds instead.
Result<std::vector<MeasuredRank>> rank_steps(TraceContent content, int rank,
                                             const std::string& file);

}  // namespace pipecast
