#pragma once
#include <array>
#include <cstdint>
#include <vector>

namespace pipecast::testing {

/// A small one-chunk problem in whole time units, memory in activations that the weight gradient
/// frees. Costs per rank: forward, input gradient, weight gradient.
struct SmallProblem {
  int ranks = 1;
  int microbatches = 1;
  std::vector<std::array<int, 3>> costs;  ///< [rank]
  int transfer = 0;
  int limit = 1;
};

enum class Goal : std::uint8_t { LargestSpan, Makespan };

/// The true optimum over all orders, by exhaustive enumeration: states are what every rank has done
/// so far, with all times that are not dominated; orders that cannot get below `known` are cut.
/// Returns min(optimum, known).
int optimum(const SmallProblem& problem, Goal goal, int known);

}  // namespace pipecast::testing
