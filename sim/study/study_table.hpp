#pragma once
#include <iosfwd>

#include "sim/read/study.hpp"
#include "sim/study/ranking.hpp"

namespace pipecast {

/// Every candidate in grid order, one line each: candidate, rank among the feasible, cluster, the
/// varied keys, verdict, tier, every figure and what it is worth. Empty where a number is not
/// known. The same bytes for the same study, however it was run.
void write_study_csv(const Study& study, const Ranking& ranking, std::ostream& out);

/// For the terminal: the `best` first, counts of the others by reason, the nearest misses.
void write_study_text(const Study& study, const Ranking& ranking, std::size_t best,
                      std::ostream& out);

}  // namespace pipecast
