#pragma once
#include <optional>
#include <vector>

#include "schedules/search_builder.hpp"
#include "schedules/search_policy.hpp"
#include "schedules/search_problem.hpp"
#include "schedules/search_random.hpp"

namespace pipecast::search {

/// The free choices of the greedy on the V on one rank.
struct VRankPolicy {
  int fewer_warmup = 0;     ///< forwards of chunk 0 left out (or added) before its first of chunk 1
  int fewer_fill = 0;       ///< forwards left out (or added) between that and the first gradient
  WaitRule before_forward;  ///< in waits for the input of a forward
  WaitRule before_input;    ///< in waits for the gradient of an input gradient
  WaitRule late;            ///< in both, in the last `late_rounds` rounds
  int late_rounds = 0;      ///< a round is one input gradient on every rank
  bool far_forward_first = true;  ///< a forward of chunk 1 as soon as its input is put
  bool far_input_first = false;   ///< input gradients of chunk 1 before those of chunk 0
  int pause_from = 0;             ///< no forward in `pauses` rounds from this one on
  int pauses = 0;
};

struct VPolicy {
  std::vector<VRankPolicy> ranks;
  std::vector<Ticks> tolerated;  ///< [rank] bubble that counts as given; empty: none
};

/// Adaptive order on the V: warm-up along the V as far as memory allows, then rounds of one input
/// gradient and at most one forward per rank (the heuristic of Qi et al. 2024 for ZB-V, its choices
/// made per rank). Nothing when the limit cannot be kept that way. O(operations).
std::optional<Built> follow(const Problem& problem, const VPolicy& policy);

/// The same choice on every rank, all combinations: the variants of the published heuristic.
std::vector<VPolicy> base_v_policies(const Problem& problem);

/// The policy with one choice of a rank, or of a stretch of ranks, made anew.
VPolicy varied(const VPolicy& policy, const Problem& problem, Random& random);

}  // namespace pipecast::search
