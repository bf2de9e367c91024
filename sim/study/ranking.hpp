#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "sim/read/study.hpp"
#include "sim/study/row.hpp"
#include "sim/study/verdict.hpp"

namespace pipecast {

/// Which candidates SimGrid is to run, and which of those still lack its row.
///
/// By each objective, candidates are walked from the best screening result on. The walk goes on
/// over `best` candidates; while screening is within `margin` of the best; and while screening,
/// which knows no contention and is the more hopeful of the two, promises more than the `best`-th
/// SimGrid result so far. So nothing that was left out can be among the best, if contention only
/// ever delays. The walk over a part of the candidates goes at least as far as that over all of
/// them: what shards have run is enough for the whole.
struct RefinementPlan {
  std::vector<std::int64_t> chosen;   ///< increasing
  std::vector<std::int64_t> missing;  ///< those of the chosen without a SimGrid row, increasing
};

/// `rows` by candidate, then tier. O(rows · log · objectives).
RefinementPlan plan_refinement(const Study& study, std::span<const StudyRow> rows);

/// Every candidate once, with the row that counts: SimGrid's where the plan chose it, else
/// screening's. `verdicts` by candidate; `ranked` lists the feasible ones, best first by the first
/// objective, ties by the next ones and the candidate.
struct Ranking {
  std::vector<Verdict> verdicts;
  std::vector<std::size_t> ranked;  ///< indices of verdicts
};
Ranking rank_rows(const Study& study, std::span<const StudyRow> rows);

/// How many verdicts missed for which reason.
std::vector<std::int64_t> count_misses(const Ranking& ranking);  ///< [Miss]

/// Up to `most` of the nearest misses, indices of verdicts: what breaks a limit by the least first,
/// then shapes; one of each reason text.
std::vector<std::size_t> nearest_misses(const Ranking& ranking, std::size_t most);

/// The candidates that no other beats in both (less is better): indices of verdicts, by the first.
std::vector<std::size_t> pareto_front(const Ranking& ranking, Objective first, Objective second);

}  // namespace pipecast
