#include "schedules/search_improve.hpp"

#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "schedules/search_anneal.hpp"
#include "schedules/search_block.hpp"
#include "schedules/search_bound.hpp"
#include "schedules/search_builder.hpp"
#include "schedules/search_policy.hpp"
#include "schedules/search_policy_v.hpp"
#include "schedules/search_random.hpp"
#include "schedules/search_timing.hpp"

namespace pipecast::search {
namespace {

constexpr Effort kPutCost = 2;  ///< of putting and timing an operation, in operations re-timed
constexpr Effort kAnnealingEffort = 4000;  ///< per operation, from which annealing gets half
constexpr Ticks kNever = std::numeric_limits<Ticks>::max();

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
  Ticks offer(const std::optional<Order>& order) { return order ? offer(*order) : kNever; }
  Ticks offer(std::optional<Built>&& built) {
    if (!built) return kNever;
    if (built->objective < found_.objective) return offer(std::move(built->order));
    return built->objective;
  }

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
    std::optional<Built> built = follow(problem, policy);
    if (!built) continue;
    const std::vector<Ticks> bubble = built->bubble;
    const Ticks objective = keeper.offer(std::move(built));
    if (objective <= best.objective) best = {policy, objective};
    policy.tolerated = bubble;
    const Ticks again = keeper.offer(follow(problem, policy));
    if (again < best.objective) best = {policy, again};
  }
  return best;
}

/// Simulated annealing over choices. Returns the effort spent.
template <class Choice>
Effort improve(const Problem& problem, Keeper& keeper, const Found& found, Judged<Choice> current,
               Effort effort, Random& random) {
  if (current.objective == kNever) return 0;
  const double unit = static_cast<double>(problem.cost(0, 0, 0));
  const Effort each = kPutCost * static_cast<Effort>(problem.duration.size());
  const std::int64_t steps = effort / each;
  std::int64_t step = 0;
  for (; step < steps && found.objective > found.bound; ++step) {
    const double part = static_cast<double>(step) / static_cast<double>(steps);
    const double temperature = unit * 0.1 * std::pow(0.1, part);
    Choice next = varied(current.policy, problem, random);
    const Ticks objective = keeper.offer(follow(problem, next));
    if (objective == kNever ||
        static_cast<double>(objective - current.objective) > temperature * random.exponential())
      continue;
    current = {std::move(next), objective};
  }
  return step * each;
}

/// Returns the effort spent.
template <class Choice>
Effort search_choices(const Problem& problem, Keeper& keeper, Found& found, Effort effort,
                      Random& random) {
  return improve(problem, keeper, found,
                 best_base(problem, keeper, static_cast<const Choice*>(nullptr)), effort, random);
}

}  // namespace

Found best_order(const Problem& problem, const SearchPlan& plan, const std::vector<Order>& extra) {
  Found found{{}, kNever, lower_bound(problem)};
  Random random(plan.seed);
  Keeper keeper(problem, found);
  for (const Order& order : extra) keeper.offer(order);
  keeper.offer(serial_order(problem));
  // Single moves need some thousand tries per operation to tell; choices of the greedy do not.
  const auto operations = static_cast<Effort>(problem.duration.size());
  const Effort for_choices =
      plan.effort >= kAnnealingEffort * operations ? plan.effort / 2 : plan.effort / 10 * 9;
  Effort left = plan.effort;
  if (problem.chunks == 1) {
    left -= search_choices<Policy>(problem, keeper, found, for_choices, random);
  } else {
    for (const Block& block : base_blocks(problem)) keeper.offer(follow(problem, block));
    left -= search_choices<VPolicy>(problem, keeper, found, for_choices, random);
  }
  anneal(problem, found, left, random);
  return found;
}

}  // namespace pipecast::search
