#pragma once
#include "sim/base/diagnostic.hpp"
#include "sim/model/program.hpp"

namespace pipecast {

/// Every exchange names an activation of the program and another rank as its host, each activation
/// at most once, and comes back after a backward that stands before its own. For programs that pass
/// the other checks. O(operations + exchanges).
Diagnostics check_exchanges(const Program& program);

}  // namespace pipecast
