#pragma once
#include <cstdint>
#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "sim/base/diagnostic.hpp"
#include "sim/read/study.hpp"
#include "sim/study/ranking.hpp"

namespace pipecast {

/// Fewer candidates than this are no question to ask of screening.
inline constexpr std::int64_t kSmallestSlice = 10;

/// What screening would have cost in one part of a study, of which SimGrid has run everything.
/// Losses are relative, by the first objective of what SimGrid says.
struct Regret {
  std::string slice;              ///< `all`, a cluster, or `key = value`
  std::int64_t candidates = 0;    ///< feasible ones
  std::int64_t winner_place = 1;  ///< of the eventual winner when screening ranks
  double screening_loss = 0;      ///< of taking screening's first
  bool winner_dropped = false;    ///< by the two tiers as they stand by default
  double two_tier_loss = 0;       ///< of taking what the two tiers put first
};

/// The whole study, every cluster and every value of every varied key, each as a study of its own
/// (kSmallestSlice candidates and more). Infeasible when a feasible candidate lacks its SimGrid
/// row. `rows` by candidate, then tier.
Result<std::vector<Regret>> screening_regret(const Study& study, std::span<const StudyRow> rows);

/// A line each, and what all of them come to.
void write_regret(std::span<const Regret> regrets, std::ostream& out);

}  // namespace pipecast
