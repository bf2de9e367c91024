#pragma once
#include <optional>
#include <string>
#include <vector>

#include "sim/read/study.hpp"
#include "sim/study/evaluator.hpp"
#include "sim/study/ranking.hpp"

namespace pipecast {

/// What a change of one assumption does to a candidate.
struct Sensitivity {
  std::string what;   ///< `bandwidth +10 %`
  double step_s = 0;  ///< with the change
  double value = 0;   ///< of the study's first objective
  double change = 0;  ///< of that value, relative
};

/// Rates of devices, bandwidths and latencies of links, prices and power each 10 % lower and
/// higher, and a middle rank 10 % slower. Step times are the row's, scaled by what the longest path
/// does under the change. About ten longest paths.
std::vector<Sensitivity> sensitivity_of(const Study& study, Evaluator& evaluator,
                                        const Verdict& verdict);

/// How a candidate fares when everything that is known only as a range is drawn.
struct Sampled {
  std::size_t verdict = 0;  ///< index into Ranking::verdicts
  int wins = 0;             ///< samples in which it is the best by the first objective
  double low = 0;           ///< 5th percentile of the first objective
  double median = 0;
  double high = 0;  ///< 95th
};

/// Draws each range uniformly, `Sampling::samples` times, alike for all candidates of a cluster,
/// and ranks the first `candidates` ranked ones and the best of every cluster anew each time. The
/// same numbers for the same seed. Empty when the study has no ranges to sample. O(samples ×
/// candidates) longest paths.
std::vector<Sampled> sample_ranges(const Study& study, Evaluator& evaluator, const Ranking& ranking,
                                   std::size_t candidates);

/// Two clusters, each with its best candidate by money per token.
struct BreakEven {
  std::size_t cheaper = 0;  ///< indices of verdicts
  std::size_t dearer = 0;
  double price_factor = 0;       ///< of the dearer one's prices at which both cost the same
  std::optional<double> tokens;  ///< one bought, one rented: tokens from which buying is cheaper
};
std::vector<BreakEven> break_evens(const Study& study, const Ranking& ranking);

/// Command lines for a candidate: pipecast's, and Megatron's where the study varies a layout.
std::vector<std::string> launch_lines(const Study& study, std::int64_t candidate);

}  // namespace pipecast
