#pragma once
#include <optional>
#include <vector>

#include "schedules/search_builder.hpp"
#include "schedules/search_problem.hpp"
#include "schedules/search_random.hpp"

namespace pipecast::search {

/// What a rank does with a wait that is shorter than a weight gradient.
struct WaitRule {
  enum class Kind : std::uint8_t {
    Slack,  ///< a weight gradient when waiting would make this rank the worst
    Share,  ///< a weight gradient when the wait exceeds `share` of it
    Fill,   ///< always a weight gradient
  };
  Kind kind = Kind::Fill;
  double share = 0.5;
};

/// Fills the wait of `rank` for `input_at` as the rule says; `slack` is what the rank may still
/// wait without becoming the worst.
void fill_wait(Builder& builder, int rank, Ticks input_at, const WaitRule& rule, Ticks slack);

/// The free choices of the one-chunk greedy on one rank.
struct RankPolicy {
  int fewer_warmup = 0;  ///< forwards left out before the first gradient
  bool held = true;      ///< no forward that is late for the next rank's gradient
  double patience = 1;   ///< times the slack, plus (patience − 1) weight gradients, is not late
  bool alone = false;    ///< runs a forward even if the next rank does not
  WaitRule early;
  WaitRule late;        ///< in the last `late_rounds` rounds
  int late_rounds = 0;  ///< a round is one input gradient on every rank
  int reserve = 0;      ///< weight gradients run ahead of a forward that nearly fills the memory
};

struct Policy {
  /// Whether the forward that is running when the first gradient arrives is still started.
  enum class BeforeFirst : std::uint8_t { KeepGap, RunAcross };
  BeforeFirst before_first = BeforeFirst::KeepGap;
  std::vector<RankPolicy> ranks;
};

/// Adaptive one-chunk order: forwards until the first gradient arrives, then rounds of at most one
/// forward and exactly one input gradient per rank, with weight gradients where memory or a wait
/// asks for them (the heuristic of Qi et al. 2024, its choices made per rank). Nothing when the
/// limit cannot be kept that way. O(operations).
std::optional<Built> follow(const Problem& problem, const Policy& policy);

/// The same choice on every rank, all combinations: the variants of the published heuristic.
std::vector<Policy> base_policies(const Problem& problem);

/// The policy with one choice of a rank, or of a stretch of ranks, made anew.
Policy varied(const Policy& policy, const Problem& problem, Random& random);

/// A stretch of ranks, a single one two times out of three.
struct Stretch {
  std::size_t first = 0;
  std::size_t last = 0;
};
Stretch random_stretch(int ranks, Random& random);
WaitRule random_wait_rule(Random& random);

}  // namespace pipecast::search
