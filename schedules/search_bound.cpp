#include "schedules/search_bound.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

namespace pipecast::search {
namespace {

class Bound {
 public:
  explicit Bound(const Problem& problem) : problem_(problem) {
    for (std::size_t row = 0; row < problem.row(problem.ranks, 0); ++row) {
      const auto begin =
          problem.duration.begin() +
          static_cast<std::ptrdiff_t>(row * static_cast<std::size_t>(problem.microbatches));
      least_.push_back(*std::min_element(begin, begin + problem.microbatches));
      total_.push_back(
          std::accumulate(begin, begin + problem.microbatches, problem.gap * problem.microbatches));
    }
    for (int rank = 0; rank < problem.ranks; ++rank) first_wait_.push_back(first_wait(rank));
  }

  Ticks best() const {
    Ticks most = 0;
    Ticks start = 0;
    for (int rank = 0; rank < problem_.ranks; ++rank) {
      Ticks span = total_work(problem_, rank) + first_wait_[static_cast<std::size_t>(rank)];
      if (problem_.chunks == 1) span = std::max(span, turns(rank));
      span = std::max(span, behind_later_ranks(rank));
      most = std::max(most, span + (problem_.objective == Objective::Makespan ? start : 0));
      start += shortest(rank, Part::Forward, 0) + problem_.transfer;
    }
    return most;
  }

 private:
  Ticks shortest(int rank, Part part, int chunk) const {
    return least_[problem_.row(rank, problem_.symbol(part, chunk))];
  }
  Ticks total(int rank, Part part) const {
    Ticks sum = 0;
    for (int chunk = 0; chunk < problem_.chunks; ++chunk)
      sum += total_[problem_.row(rank, problem_.symbol(part, chunk))];
    return sum;
  }
  std::int64_t forwards_that_fit(int rank) const {
    std::int64_t least = problem_.limit[static_cast<std::size_t>(rank)];
    for (int chunk = 0; chunk < problem_.chunks; ++chunk)
      least = std::min(
          least, std::max<std::int64_t>(
                     1, problem_.delta[problem_.row(rank, problem_.symbol(Part::Forward, chunk))]));
    return problem_.limit[static_cast<std::size_t>(rank)] / std::max<std::int64_t>(1, least);
  }

  /// From the start of a forward of chunk 0 on the rank until the first gradient of the rank can
  /// start.
  Ticks round_trip(int rank) const {
    Ticks time = 0;
    for (int other = rank; other < problem_.ranks; ++other)
      time += shortest(other, Part::Forward, 0);
    time += (problem_.ranks - 1 - rank) * problem_.transfer;
    if (problem_.chunks == 1) {
      for (int other = rank + 1; other < problem_.ranks; ++other)
        time += shortest(other, Part::BackwardInput, 0) + problem_.transfer;
      return time;
    }
    for (int other = 0; other < problem_.ranks; ++other) time += shortest(other, Part::Forward, 1);
    for (int other = 0; other < rank; ++other) time += shortest(other, Part::BackwardInput, 1);
    return time + (problem_.ranks - 1 + rank) * problem_.transfer;
  }

  Ticks first_wait(int rank) const {
    std::vector<Ticks> forwards;
    for (int chunk = 0; chunk < problem_.chunks; ++chunk)
      for (int microbatch = 0; microbatch < problem_.microbatches; ++microbatch)
        forwards.push_back(problem_.cost(rank, problem_.symbol(Part::Forward, chunk), microbatch) +
                           problem_.gap);
    std::sort(forwards.begin(), forwards.end(), std::greater<>());
    const auto fit =
        std::min<std::int64_t>(forwards_that_fit(rank), static_cast<std::int64_t>(forwards.size()));
    const Ticks busy = std::accumulate(
        forwards.begin(), forwards.begin() + static_cast<std::ptrdiff_t>(fit), Ticks{0});
    return std::max<Ticks>(0, round_trip(rank) - busy);
  }

  /// After the last gradient of chunk 0 on a later rank come its way to this one and a weight
  /// gradient; before it all forwards and input gradients of the later rank.
  Ticks behind_later_ranks(int rank) const {
    Ticks most = 0;
    Ticks way = shortest(rank, Part::BackwardWeight, 0);
    for (int later = rank + 1; later < problem_.ranks; ++later) {
      way += shortest(later - 1, Part::Forward, 0) + shortest(later - 1, Part::BackwardInput, 0) +
             2 * problem_.transfer;
      most = std::max(most, way + first_wait_[static_cast<std::size_t>(later)] +
                                total(later, Part::Forward) + total(later, Part::BackwardInput));
    }
    return most;
  }

  Ticks turns(int rank) const {
    const auto fit = static_cast<int>(
        std::clamp<std::int64_t>(forwards_that_fit(rank), 1, problem_.microbatches));
    const int turns = (problem_.microbatches - 1) / fit;
    const Ticks turn = round_trip(rank) + shortest(rank, Part::BackwardInput, 0);
    const int rest = problem_.microbatches - turns * fit;
    const Ticks rest_work =
        rest * (shortest(rank, Part::Forward, 0) + shortest(rank, Part::BackwardInput, 0) +
                shortest(rank, Part::BackwardWeight, 0));
    return turns * turn + std::max(rest_work, turn + shortest(rank, Part::BackwardWeight, 0));
  }

  const Problem& problem_;
  std::vector<Ticks> least_;       ///< [rank · symbols + symbol] shortest duration
  std::vector<Ticks> total_;       ///< [rank · symbols + symbol] durations and gaps
  std::vector<Ticks> first_wait_;  ///< [rank]
};

}  // namespace

Ticks lower_bound(const Problem& problem) { return Bound(problem).best(); }

}  // namespace pipecast::search
