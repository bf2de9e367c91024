#pragma once
#include <functional>
#include <vector>

#include "sim/base/diagnostic.hpp"
#include "sim/model/timeline.hpp"

namespace pipecast {

/// Runs `simulate` in a forked child and returns the intervals it returned there.
///
/// Whatever the child does to its process (globals, an abort, a kill from outside) stays there: an
/// exception or a death becomes a diagnostic that quotes what the child last wrote to stderr.
/// Call it before the process has threads. About 1 ms plus the copy of the intervals.
Result<std::vector<Interval>> run_in_child(const std::function<std::vector<Interval>()>& simulate);

}  // namespace pipecast
