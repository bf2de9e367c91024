#include "schedules/search_improve.hpp"

#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "schedules/search_anneal.hpp"
#include "schedules/search_block.hpp"
#include "schedules/search_bound.hpp"
#include "schedules/search_policy.hpp"
#include "schedules/search_policy_v.hpp"
#include "schedules/search_random.hpp"
#include "schedules/search_timing.hpp"

namespace pipecast::search {
namespace {

constexpr Effort kPutCost = 2;  ///< of putting and timing an operation, in operations re-timed
constexpr Ticks kNever = std::numeric_limits<Ticks>::max();

/// The same problem with its first microbatches only.
Problem shortened(const Problem& problem, int microbatches) {
  Problem brief = problem;
  brief.microbatches = microbatches;
  brief.duration.clear();
  for (std::size_t row = 0; row < problem.row(problem.ranks, 0); ++row) {
    const auto begin =
        problem.duration.begin() +
        static_cast<std::ptrdiff_t>(row * static_cast<std::size_t>(problem.microbatches));
    brief.duration.insert(brief.duration.end(), begin, begin + microbatches);
  }
  return brief;
}

/// Times orders and keeps the best legal one.
class Keeper {
 public:
  Keeper(const Problem& problem, Found& found)
      : problem_(problem), found_(found), timing_(problem) {}

  Ticks offer(Order order) {
    if (!legal(problem_, order) || !timing_.assign(order)) return kNever;
    const Ticks objective = timing_.objective();
    if (objective < found_.objective) found_ = {std::move(order), objective, found_.bound};
    return objective;
  }
  Ticks offer(std::optional<Order> order) { return order ? offer(std::move(*order)) : kNever; }
  Ticks score(int rank) const { return timing_.score(rank); }

 private:
  const Problem& problem_;
  Found& found_;
  Timing timing_;
};

template <class Choice>
struct Judged {
  Choice policy;
  Ticks objective = kNever;
};

Judged<Policy> best_base(const Problem& problem, Keeper& keeper, const Policy*) {
  Judged<Policy> best;
  for (Policy& policy : base_policies(problem)) {
    const Ticks objective = keeper.offer(follow(problem, policy));
    if (objective <= best.objective) best = {std::move(policy), objective};
  }
  return best;
}

/// Each variant twice: the second time with the bubbles of the first as given.
Judged<VPolicy> best_base(const Problem& problem, Keeper& keeper, const VPolicy*) {
  Judged<VPolicy> best;
  for (VPolicy& policy : base_v_policies(problem)) {
    const Ticks objective = keeper.offer(follow(problem, policy));
    if (objective <= best.objective) best = {policy, objective};
    if (objective == kNever) continue;
    for (int rank = 0; rank < problem.ranks; ++rank)
      policy.tolerated.push_back(keeper.score(rank) - total_work(problem, rank));
    const Ticks again = keeper.offer(follow(problem, policy));
    if (again < best.objective) best = {policy, again};
  }
  return best;
}

/// Simulated annealing over choices. Returns the effort spent.
template <class Choice>
Effort improve(const Problem& problem, Keeper& keeper, Found& found, Judged<Choice>& best,
               Effort effort, Random& random) {
  if (best.objective == kNever) return 0;
  const double unit = static_cast<double>(problem.cost(0, 0, 0));
  const Effort each = kPutCost * static_cast<Effort>(problem.duration.size());
  const std::int64_t steps = effort / each;
  Judged<Choice> current = best;
  std::int64_t step = 0;
  for (; step < steps && found.objective > found.bound; ++step) {
    const double part = static_cast<double>(step) / static_cast<double>(steps);
    const double temperature = unit * 0.3 * std::pow(0.02 / 0.3, part);
    Choice next = varied(current.policy, problem, random);
    const Ticks objective = keeper.offer(follow(problem, next));
    if (objective == kNever ||
        static_cast<double>(objective - current.objective) > temperature * random.exponential())
      continue;
    current = {std::move(next), objective};
    if (objective < best.objective) best = current;
  }
  return step * each;
}

/// Choices first on a short step, where one costs little, then on the whole. Returns the effort
/// spent.
template <class Choice>
Effort search_choices(const Problem& problem, Keeper& keeper, Found& found, Effort effort,
                      Random& random) {
  Judged<Choice> best = best_base(problem, keeper, static_cast<const Choice*>(nullptr));
  Effort spent = 0;
  const int few = 3 * problem.ranks;
  if (effort > 0 && problem.microbatches > few + few / 2 && found.objective > found.bound) {
    const Problem brief = shortened(problem, few);
    Found brief_found{{}, kNever, lower_bound(brief)};
    Keeper brief_keeper(brief, brief_found);
    Judged<Choice> brief_best = best_base(brief, brief_keeper, static_cast<const Choice*>(nullptr));
    spent = improve(brief, brief_keeper, brief_found, brief_best, effort / 2, random);
    const Ticks objective = keeper.offer(follow(problem, brief_best.policy));
    if (objective < best.objective) best = {std::move(brief_best.policy), objective};
  }
  return spent + improve(problem, keeper, found, best, effort - spent, random);
}

}  // namespace

Found best_order(const Problem& problem, const SearchPlan& plan, const std::vector<Order>& extra) {
  Found found{{}, kNever, lower_bound(problem)};
  Random random(plan.seed);
  Keeper keeper(problem, found);
  for (const Order& order : extra) keeper.offer(order);
  keeper.offer(serial_order(problem));
  Effort left = plan.effort;
  if (problem.chunks == 1) {
    left -= search_choices<Policy>(problem, keeper, found, left / 2, random);
  } else {
    for (const Block& block : base_blocks(problem)) keeper.offer(follow(problem, block));
    left -= search_choices<VPolicy>(problem, keeper, found, left / 2, random);
  }
  anneal(problem, found, left, random);
  return found;
}

}  // namespace pipecast::search
