#include "sim/study/ranking.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <queue>
#include <set>

namespace pipecast {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

/// The rows of one candidate.
struct Pair {
  const StudyRow* screening = nullptr;
  const StudyRow* simgrid = nullptr;
};

std::vector<Pair> paired(std::span<const StudyRow> rows) {
  std::vector<Pair> pairs;
  for (const StudyRow& row : rows) {
    if (row.tier == Tier::Screening)
      pairs.push_back({&row, nullptr});
    else if (!pairs.empty() && pairs.back().screening->candidate == row.candidate)
      pairs.back().simgrid = &row;
  }
  return pairs;
}

/// What the walks ask of a feasible candidate; a study may have a million.
struct Hopeful {
  std::int64_t candidate = 0;
  double step_s = 0;
  std::array<double, kObjectives> keys{};  ///< [Objective] those of the study
  const StudyRow* simgrid = nullptr;
};

/// The `count` smallest numbers seen so far.
class Smallest {
 public:
  explicit Smallest(int count) : count_(static_cast<std::size_t>(count)) {}

  void add(double number) {
    if (count_ == 0) return;
    if (heap_.size() == count_) {
      if (number >= heap_.top()) return;
      heap_.pop();
    }
    heap_.push(number);
  }
  /// The largest of them; until there are enough, nothing is too large. With a count of none,
  /// everything is.
  double largest() const {
    if (count_ == 0) return -kNever;
    return heap_.size() < count_ ? kNever : heap_.top();
  }

 private:
  std::size_t count_;
  std::priority_queue<double> heap_;
};

bool within(double key, double best, double margin) {
  return best >= 0 ? key <= best * (1 + margin) : key <= best / (1 + margin);
}

void walk(const Study& study, Objective objective, const std::vector<Hopeful>& hopefuls,
          std::set<std::int64_t>& chosen, std::set<std::int64_t>& missing) {
  std::vector<std::pair<std::pair<double, double>, const Hopeful*>> order;
  for (const Hopeful& hopeful : hopefuls) {
    const double key = hopeful.keys[static_cast<std::size_t>(objective)];
    if (key < kNever) order.push_back({{key, hopeful.step_s}, &hopeful});
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  const bool timed = depends_on_time(objective);
  Smallest best(study.refinement.best);
  int taken = 0;
  for (const auto& [keys, hopeful] : order) {
    const double key = keys.first;
    const bool close = timed && study.refinement.best > 0 &&
                       within(key, order.front().first.first, study.refinement.margin);
    const bool beats = timed ? key <= best.largest() : best.largest() == kNever;
    if (taken == study.refinement.at_most || (!close && !beats)) return;
    ++taken;
    chosen.insert(hopeful->candidate);
    if (hopeful->simgrid == nullptr) {
      missing.insert(hopeful->candidate);
      best.add(key);
      continue;
    }
    const Verdict verdict = judge(study, *hopeful->simgrid);
    if (verdict.feasible()) best.add(objective_key(verdict, objective));
  }
}

RefinementPlan plan(const Study& study, const std::vector<Pair>& pairs) {
  std::vector<Hopeful> hopefuls;
  for (const Pair& pair : pairs) {
    if (pair.screening->state != RowState::Evaluated) continue;
    const Verdict verdict = judge(study, *pair.screening);
    if (!verdict.feasible()) continue;
    Hopeful& hopeful = hopefuls.emplace_back();
    hopeful.candidate = pair.screening->candidate;
    hopeful.step_s = pair.screening->figures.step_s;
    for (const Objective objective : study.objectives)
      hopeful.keys[static_cast<std::size_t>(objective)] = objective_key(verdict, objective);
    hopeful.simgrid = pair.simgrid;
  }
  std::set<std::int64_t> chosen;
  std::set<std::int64_t> missing;
  for (const Objective objective : study.objectives)
    walk(study, objective, hopefuls, chosen, missing);
  return {{chosen.begin(), chosen.end()}, {missing.begin(), missing.end()}};
}

std::vector<double> keys_of(const Study& study, const Verdict& verdict) {
  std::vector<double> keys;
  for (const Objective objective : study.objectives)
    keys.push_back(objective_key(verdict, objective));
  keys.push_back(verdict.row.figures.step_s);
  return keys;
}

}  // namespace

RefinementPlan plan_refinement(const Study& study, std::span<const StudyRow> rows) {
  return plan(study, paired(rows));
}

Ranking rank_rows(const Study& study, std::span<const StudyRow> rows) {
  const std::vector<Pair> pairs = paired(rows);
  const RefinementPlan chosen = plan(study, pairs);
  Ranking ranking;
  ranking.verdicts.reserve(pairs.size());
  std::vector<std::pair<std::vector<double>, std::size_t>> order;
  for (const Pair& pair : pairs) {
    const bool refined =
        pair.simgrid != nullptr &&
        std::binary_search(chosen.chosen.begin(), chosen.chosen.end(), pair.screening->candidate);
    ranking.verdicts.push_back(judge(study, refined ? *pair.simgrid : *pair.screening));
    if (ranking.verdicts.back().feasible())
      order.emplace_back(keys_of(study, ranking.verdicts.back()), ranking.verdicts.size() - 1);
  }
  std::sort(order.begin(), order.end());
  for (const auto& [keys, index] : order) ranking.ranked.push_back(index);
  return ranking;
}

std::vector<std::int64_t> count_misses(const Ranking& ranking) {
  std::vector<std::int64_t> counts(kMisses, 0);
  for (const Verdict& verdict : ranking.verdicts) ++counts[static_cast<std::size_t>(verdict.miss)];
  return counts;
}

std::vector<std::size_t> nearest_misses(const Ranking& ranking, std::size_t most) {
  std::vector<std::pair<double, std::size_t>> limits;
  std::vector<std::size_t> shapes;
  for (std::size_t i = 0; i < ranking.verdicts.size(); ++i) {
    const Verdict& verdict = ranking.verdicts[i];
    if (verdict.miss >= Miss::Memory)
      limits.emplace_back(verdict.excess, i);
    else if (verdict.miss != Miss::None)
      shapes.push_back(i);
  }
  std::sort(limits.begin(), limits.end());
  std::vector<std::size_t> result;
  std::set<std::string_view> said;
  const auto add = [&](std::size_t index) {
    if (result.size() < most && said.insert(ranking.verdicts[index].reason).second)
      result.push_back(index);
  };
  for (const auto& [excess, index] : limits) add(index);
  for (const std::size_t index : shapes) add(index);
  return result;
}

std::vector<std::size_t> pareto_front(const Ranking& ranking, Objective first, Objective second) {
  std::vector<std::pair<std::pair<double, double>, std::size_t>> order;
  for (const std::size_t index : ranking.ranked) {
    const Verdict& verdict = ranking.verdicts[index];
    const std::pair keys{objective_key(verdict, first), objective_key(verdict, second)};
    if (keys.first < kNever && keys.second < kNever) order.emplace_back(keys, index);
  }
  std::sort(order.begin(), order.end());
  std::vector<std::size_t> front;
  double least = kNever;
  for (const auto& [keys, index] : order) {
    if (keys.second >= least) continue;
    least = keys.second;
    front.push_back(index);
  }
  return front;
}

}  // namespace pipecast
