#pragma once
#include <cstddef>
#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "sim/base/diagnostic.hpp"
#include "sim/read/study.hpp"
#include "sim/study/ranking.hpp"

namespace pipecast {

/// What a candidate must have: the value of a varied key, of which the last words are enough
/// (`tensor` for `workload.parallel.tensor`), or the name of its `cluster`.
struct Condition {
  std::string key;
  std::string value;
};

/// Where a candidate stands among those of its cluster.
struct Standing {
  std::size_t verdict = 0;   ///< index into Ranking::verdicts
  std::size_t place = 0;     ///< from 1; 0: it is not feasible
  std::size_t of = 0;        ///< feasible candidates of the cluster
  std::size_t winner = 0;    ///< verdict of the cluster's first
  double of_the_winner = 0;  ///< first objective ÷ the winner's
};

/// The candidates that meet every condition, feasible ones by their place, then the others. Errors:
/// a key that the study does not vary, a value no candidate has.
Result<std::vector<Standing>> standings(const Study& study, const Ranking& ranking,
                                        std::span<const Condition> conditions);

/// One line each, the first `most`; the winner of their cluster before them.
void write_standings(const Study& study, const Ranking& ranking,
                     std::span<const Standing> standings, std::size_t most, std::ostream& out);

}  // namespace pipecast
