#pragma once
#include "sim/model/program.hpp"
#include "sim/model/workload.hpp"

namespace pipecast {

/// Bubble fraction of a program's order alone: every stage takes the mean of all, messages take no
/// time, runtimes add nothing. What closed forms such as (P − 1) ÷ (m + P − 1) speak of. `workload`
/// is fitted to the program. O(tasks).
double bubble_of_even_stages(const Program& program, const Workload& workload);

}  // namespace pipecast
