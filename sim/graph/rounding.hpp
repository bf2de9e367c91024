#pragma once

namespace pipecast {

/// Seconds below which two dates of a run are the same. SimGrid adds up its dates, so after a step
/// they differ from the sums of the durations in the last bits; a wait of that length is no wait.
constexpr double rounding_s(double makespan_s) { return 1e-12 * makespan_s; }

}  // namespace pipecast
