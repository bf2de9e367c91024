#include "tests/support/optimal_order.hpp"

#include <algorithm>
#include <map>

namespace pipecast::testing {
namespace {

using Counts = std::vector<std::array<int, 3>>;  ///< [rank] forwards, input and weight gradients

/// Times that decide the future: when each rank is free, and the ends of values that the next rank
/// has not taken yet.
struct Front {
  std::vector<int> free_at;
  std::vector<std::vector<int>> forwards;   ///< [rank] ends not yet taken by the next rank
  std::vector<std::vector<int>> gradients;  ///< [rank] ends not yet taken by the rank before
};

bool no_later(const std::vector<int>& left, const std::vector<int>& right) {
  return std::equal(left.begin(), left.end(), right.begin(),
                    [](int one, int other) { return one <= other; });
}

bool dominates(const Front& left, const Front& right) {
  if (!no_later(left.free_at, right.free_at)) return false;
  for (std::size_t rank = 0; rank < left.free_at.size(); ++rank)
    if (!no_later(left.forwards[rank], right.forwards[rank]) ||
        !no_later(left.gradients[rank], right.gradients[rank]))
      return false;
  return true;
}

using Level = std::map<Counts, std::vector<Front>>;

class Enumeration {
 public:
  Enumeration(const SmallProblem& problem, Goal goal, int known)
      : problem_(problem), ranks_(static_cast<std::size_t>(problem.ranks)), best_(known) {
    int start = 0;
    for (std::size_t rank = 0; rank < ranks_; ++rank) {
      offset_.push_back(goal == Goal::Makespan ? 0 : start);
      start += problem.costs[rank][0] + problem.transfer;
    }
  }

  int run() {
    Level level;
    level[Counts(ranks_)] = {{std::vector<int>(ranks_), std::vector<std::vector<int>>(ranks_),
                              std::vector<std::vector<int>>(ranks_)}};
    for (int step = 0; step < 3 * problem_.ranks * problem_.microbatches; ++step) {
      Level next;
      for (const auto& [counts, fronts] : level)
        for (std::size_t rank = 0; rank < ranks_; ++rank)
          for (std::size_t part = 0; part < 3; ++part) extend(counts, fronts, rank, part, next);
      level = std::move(next);
    }
    for (const auto& [counts, fronts] : level)
      for (const Front& front : fronts) best_ = std::min(best_, value(front));
    return best_;
  }

 private:
  int value(const Front& front) const {
    int worst = 0;
    for (std::size_t rank = 0; rank < ranks_; ++rank)
      worst = std::max(worst, front.free_at[rank] - offset_[rank]);
    return worst;
  }

  bool allowed(const Counts& counts, std::size_t rank, std::size_t part) const {
    const std::array<int, 3>& done = counts[rank];
    if (done[part] == problem_.microbatches) return false;
    if (part == 0)
      return done[0] - done[2] < problem_.limit && (rank == 0 || counts[rank - 1][0] > done[0]);
    if (part == 1)
      return done[0] > done[1] && (rank + 1 == ranks_ || counts[rank + 1][1] > done[1]);
    return done[1] > done[2];
  }

  /// Even without any further wait the rank ends too late.
  bool hopeless(const Counts& counts, const Front& front, std::size_t rank) const {
    int end = front.free_at[rank];
    for (std::size_t part = 0; part < 3; ++part)
      end += (problem_.microbatches - counts[rank][part]) * problem_.costs[rank][part];
    return end - offset_[rank] >= best_;
  }

  static int take(std::vector<int>& waiting) {
    const int end = waiting.front();
    waiting.erase(waiting.begin());
    return end;
  }

  void extend(const Counts& counts, const std::vector<Front>& fronts, std::size_t rank,
              std::size_t part, Level& next) const {
    if (!allowed(counts, rank, part)) return;
    Counts more = counts;
    ++more[rank][part];
    std::vector<Front>& known = next[more];
    for (Front front : fronts) {
      int start = front.free_at[rank];
      if (part == 0 && rank > 0)
        start = std::max(start, take(front.forwards[rank - 1]) + problem_.transfer);
      if (part == 1 && rank + 1 < ranks_)
        start = std::max(start, take(front.gradients[rank + 1]) + problem_.transfer);
      const int end = start + problem_.costs[rank][part];
      front.free_at[rank] = end;
      if (part == 0 && rank + 1 < ranks_) front.forwards[rank].push_back(end);
      if (part == 1 && rank > 0) front.gradients[rank].push_back(end);
      if (hopeless(more, front, rank)) continue;
      if (std::any_of(known.begin(), known.end(),
                      [&](const Front& other) { return dominates(other, front); }))
        continue;
      std::erase_if(known, [&](const Front& other) { return dominates(front, other); });
      known.push_back(std::move(front));
    }
    if (known.empty()) next.erase(more);
  }

  const SmallProblem& problem_;
  std::size_t ranks_;
  int best_;
  std::vector<int> offset_;
};

}  // namespace

int optimum(const SmallProblem& problem, Goal goal, int known) {
  return Enumeration(problem, goal, known).run();
}

}  // namespace pipecast::testing
