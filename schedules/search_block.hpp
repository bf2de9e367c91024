#pragma once
#include <array>
#include <optional>
#include <vector>

#include "schedules/search_problem.hpp"

namespace pipecast::search {

/// An order on the V in which every rank repeats four slots (F0, F1, I1, I0) every six, with
/// weight gradients in the free ones: the building block of Qi et al. 2024, Controllable Memory.
/// Longer lifespans need more memory and wait less.
struct Block {
  std::array<int, 4> step{1, 1, 1, 1};  ///< [leg of the V] slots to the next rank of the leg
  std::array<int, 3> turn{1, 1, 1};     ///< slots from one leg to the next
};

/// Nothing when two operations of a rank fall into one slot. The limit is not looked at.
/// O(operations · log).
std::optional<Order> follow(const Problem& problem, const Block& block);

/// V-Min, V-Half, V-ZB and shapes between them, with the shortest turns that keep the slots apart.
std::vector<Block> base_blocks(const Problem& problem);

}  // namespace pipecast::search
