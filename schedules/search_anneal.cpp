#include "schedules/search_anneal.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "schedules/search_timing.hpp"

namespace pipecast::search {
namespace {

constexpr Effort kMoveCost = 8;  ///< of proposing a move, in operations timed
constexpr double kReach = 4;     ///< mean distance of a far move

/// One cooling: temperatures in ticks, and how much the mean score counts beside the largest.
struct Cooling {
  double hottest = 0;
  double coldest = 0;
  double mean_weight = 0;
};

class Annealing {
 public:
  Annealing(const Problem& problem, Found& found, Random& random)
      : problem_(problem), found_(found), random_(random), timing_(problem) {
    Ticks work = 0;
    for (const Ticks duration : problem.duration) work += duration + problem.gap;
    mean_work_ = static_cast<double>(work) / problem.ranks;
  }

  void run(const Cooling& cooling, Effort effort) {
    if (found_.objective <= found_.bound || !timing_.assign(found_.order)) return;
    // Without effort or without work there is nothing to divide by.
    if (effort <= 0 || cooling.hottest <= 0) return;
    cooling_ = cooling;
    energy_ = energy();
    path_is_old_ = true;
    const Effort before = spent();
    double temperature = cooling.hottest;
    for (std::int64_t step = 0;; ++step) {
      if (step % 64 == 0) {
        const double part = static_cast<double>(spent() - before) / static_cast<double>(effort);
        if (part >= 1 || found_.objective <= found_.bound) return;
        temperature = cooling.hottest * std::pow(cooling.coldest / cooling.hottest, part);
      }
      try_one(temperature);
    }
  }

 private:
  Effort spent() const { return timing_.retimed() + proposed_ * kMoveCost; }

  double energy() const {
    double sum = 0;
    Ticks worst = 0;
    for (int rank = 0; rank < problem_.ranks; ++rank) {
      const Ticks score = timing_.score(rank);
      worst = std::max(worst, score);
      sum += static_cast<double>(score);
    }
    return static_cast<double>(worst) + cooling_.mean_weight * sum / problem_.ranks;
  }

  int far() { return random_.flip() ? 0 : static_cast<int>(kReach * random_.exponential()); }

  /// An operation of the longest path, out of its stretch of operations without a wait.
  Move on_path() {
    if (path_is_old_) timing_.critical_path(path_);
    path_is_old_ = false;
    const auto chosen = static_cast<std::size_t>(random_.below(static_cast<int>(path_.size())));
    const int rank = path_[chosen].rank;
    std::size_t last = chosen;
    while (last > 0 && path_[last - 1].rank == rank) --last;
    std::size_t first = chosen;
    while (first + 1 < path_.size() && path_[first + 1].rank == rank) ++first;
    Move move{rank, path_[chosen].position, 0};
    move.to = random_.flip() ? path_[last].position + far() : path_[first].position - far();
    if (move.to == move.from) move.to += random_.flip() ? 1 : -1;
    return move;
  }
  Move anywhere() {
    Move move{random_.below(problem_.ranks), random_.below(problem_.length()), 0};
    const int distance = 1 + far();
    move.to = random_.flip() ? move.from + distance : move.from - distance;
    return move;
  }

  void try_one(double temperature) {
    ++proposed_;
    const Move move = random_.flip() ? on_path() : anywhere();
    if (move.from < 1 || move.to < 1 || move.to >= problem_.length() || move.from == move.to ||
        !timing_.movable(move))
      return;
    const double most = energy_ + temperature * random_.exponential();
    const auto ceiling = static_cast<Ticks>(most - cooling_.mean_weight * mean_work_);
    if (!timing_.try_move(move, ceiling)) return;
    const double reached = energy();
    if (reached > most) return timing_.undo();
    energy_ = reached;
    path_is_old_ = true;
    if (const Ticks objective = timing_.objective(); objective < found_.objective)
      found_ = {timing_.order(), objective, found_.bound};
  }

  const Problem& problem_;
  Found& found_;
  Random& random_;
  Timing timing_;
  Cooling cooling_;
  std::vector<Place> path_;
  bool path_is_old_ = true;
  double energy_ = 0;
  double mean_work_ = 0;
  std::int64_t proposed_ = 0;
};

/// The grid all times lie on: below it a temperature only wanders on plateaus.
Ticks grain(const Problem& problem) {
  Ticks grain = std::gcd(problem.transfer, problem.gap);
  for (const Ticks duration : problem.duration) grain = std::gcd(grain, duration);
  return grain;
}

double mean_forward(const Problem& problem) {
  double sum = 0;
  for (int rank = 0; rank < problem.ranks; ++rank)
    sum += static_cast<double>(problem.cost(rank, problem.symbol(Part::Forward, 0), 0));
  return sum / problem.ranks;
}

}  // namespace

void anneal(const Problem& problem, Found& found, Effort effort, Random& random) {
  const double unit = mean_forward(problem);
  const double coarse = static_cast<double>(grain(problem)) / unit;
  std::vector<Cooling> coolings;
  if (coarse < 0.02) coolings.push_back({0.004 * unit, 0.0004 * unit, 0});
  if (coarse < 0.2) coolings.push_back({0.05 * unit, 0.002 * unit, 0});
  if (coarse > 0.02) coolings.push_back({0.5 * unit, 0.1 * unit, 1});
  Annealing annealing(problem, found, random);
  for (const Cooling& cooling : coolings)
    annealing.run(cooling, effort / static_cast<Effort>(coolings.size()));
}

}  // namespace pipecast::search
