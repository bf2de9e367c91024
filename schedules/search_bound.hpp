#pragma once
#include "schedules/search_problem.hpp"

namespace pipecast::search {

/// A time that no order of the problem beats, for its objective. The largest of, per rank r:
///
/// - its work plus what it must wait before its first gradient: the first forward has to travel to
///   the last stage and back, and memory allows only k forwards meanwhile. For one chunk and equal
///   stages this is m(F+I+W) + max(0, (P−1)(I+2c) + (P−k)F);
/// - the work before the last gradient of a later rank, plus that gradient's way to r;
/// - for one chunk, the turns memory forces: forward k+i starts after gradient i has come back.
///
/// O(operations).
Ticks lower_bound(const Problem& problem);

}  // namespace pipecast::search
