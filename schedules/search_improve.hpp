#pragma once
#include <cstdint>
#include <vector>

#include "schedules/search_problem.hpp"

namespace pipecast::search {

/// Work a search may spend, counted in operations timed, so that a result never depends on a clock.
using Effort = std::int64_t;
inline constexpr double kEffortPerSecond = 5e7;  ///< what one core does, roughly

struct SearchPlan {
  Effort effort = 0;  ///< 0: the best constructed order
  std::uint64_t seed = 1;
};

struct Found {
  Order order;
  Ticks objective = 0;
  Ticks bound = 0;  ///< lower_bound()
};

/// The best order found: constructed starts and `extra` ones, then simulated annealing over the
/// choices of the greedy, then over single moves of operations, half of them on the longest path.
/// Never worse than a legal order of `extra`; ends early at the lower bound. Precondition:
/// smallest_limit() fits on every rank.
Found best_order(const Problem& problem, const SearchPlan& plan, const std::vector<Order>& extra);

}  // namespace pipecast::search
