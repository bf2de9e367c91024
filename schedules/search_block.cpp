#include "schedules/search_block.hpp"

#include <algorithm>
#include <utility>

namespace pipecast::search {
namespace {

constexpr int kInterval = 6;  ///< slots after which a rank repeats its block

/// First slots of F0, F1, I1 and I0, per rank.
using Slots = std::vector<std::array<int, 4>>;

Slots slots(const Block& block, int ranks) {
  Slots first(static_cast<std::size_t>(ranks));
  int slot = 0;
  for (std::size_t leg = 0; leg < 4; ++leg) {
    for (std::size_t i = 0; i < first.size(); ++i) {
      const std::size_t rank = leg % 2 == 0 ? i : first.size() - 1 - i;
      first[rank][leg] = slot;
      if (i + 1 < first.size()) slot += block.step[leg];
    }
    if (leg < 3) slot += block.turn[leg];
  }
  return first;
}

bool collides(const Block& block, int ranks) {
  for (const std::array<int, 4>& rank : slots(block, ranks)) {
    unsigned taken = 0;
    for (const int slot : rank) {
      const unsigned bit = 1U << (slot % kInterval);
      if ((taken & bit) != 0) return true;
      taken |= bit;
    }
  }
  return false;
}

std::optional<Block> with_shortest_turns(const std::array<int, 4>& steps, int ranks) {
  Block block;
  block.step = steps;
  std::optional<Block> best;
  int shortest = 3 * kInterval + 1;
  for (int first = 1; first <= kInterval; ++first)
    for (int second = 1; second <= kInterval; ++second)
      for (int third = 1; third <= kInterval; ++third) {
        block.turn = {first, second, third};
        if (first + second + third >= shortest || collides(block, ranks)) continue;
        best = block;
        shortest = first + second + third;
      }
  return best;
}

/// Slot by slot; a free slot runs the oldest pending weight gradient.
Word block_word(const Problem& problem, const std::array<int, 4>& first) {
  constexpr std::array<Symbol, 4> kCodes{0, 1, 3, 2};
  std::vector<std::pair<int, Symbol>> events;
  events.reserve(static_cast<std::size_t>(4 * problem.microbatches));
  for (int microbatch = 0; microbatch < problem.microbatches; ++microbatch)
    for (std::size_t leg = 0; leg < first.size(); ++leg)
      events.emplace_back(first[leg] + kInterval * microbatch, kCodes[leg]);
  std::sort(events.begin(), events.end());
  Word word;
  word.reserve(static_cast<std::size_t>(problem.length()));
  std::vector<Symbol> pending;
  std::size_t run = 0;
  int slot = 0;
  for (const auto& [at, code] : events) {
    for (; slot < at && run < pending.size(); ++slot) word.push_back(pending[run++]);
    slot = at + 1;
    word.push_back(code);
    if (problem.part(code) == Part::BackwardInput)
      pending.push_back(static_cast<Symbol>(code + problem.chunks));
  }
  word.insert(word.end(), pending.begin() + static_cast<std::ptrdiff_t>(run), pending.end());
  return word;
}

}  // namespace

std::optional<Order> follow(const Problem& problem, const Block& block) {
  if (collides(block, problem.ranks)) return std::nullopt;
  Order order;
  for (const std::array<int, 4>& first : slots(block, problem.ranks))
    order.push_back(block_word(problem, first));
  return order;
}

std::vector<Block> base_blocks(const Problem& problem) {
  constexpr std::array<std::array<int, 4>, 7> kSteps{{{1, 1, 1, 1},
                                                      {1, 1, 2, 1},
                                                      {2, 1, 2, 1},
                                                      {2, 2, 2, 2},
                                                      {3, 1, 3, 1},
                                                      {3, 2, 3, 2},
                                                      {4, 2, 4, 2}}};
  std::vector<Block> blocks;
  for (const std::array<int, 4>& steps : kSteps)
    if (std::optional<Block> block = with_shortest_turns(steps, problem.ranks))
      blocks.push_back(std::move(*block));
  return blocks;
}

}  // namespace pipecast::search
