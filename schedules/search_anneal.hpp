#pragma once
#include <cstdint>

#include "schedules/search_improve.hpp"
#include "schedules/search_random.hpp"

namespace pipecast::search {

/// Simulated annealing over single moves of operations, starting at `found` and improving it, for
/// about `effort` operations timed. Temperatures follow the problem's own scales.
void anneal(const Problem& problem, Found& found, Effort effort, Random& random);

}  // namespace pipecast::search
