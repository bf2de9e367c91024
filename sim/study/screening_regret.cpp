#include "sim/study/screening_regret.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <set>

#include "sim/read/study_candidate.hpp"

namespace pipecast {
namespace {

/// A candidate that both tiers find feasible.
struct Both {
  std::size_t first_row = 0;  ///< its screening row; SimGrid's follows
  double screening_key = 0;
  double simgrid_key = 0;
  std::int64_t candidate = 0;
};

/// Candidates closer than this are equally good: what lies between them is rounding.
constexpr double kTied = 1e-9;

/// Relative, of keys of which less is better (negative ones where more of the value is).
double loss(double key, double best) {
  if (best == 0) return 0;
  const double lost = best < 0 ? 1 - key / best : key / best - 1;
  return lost > kTied ? lost : 0;
}

using Slices = std::vector<std::pair<std::string, std::vector<std::size_t>>>;  ///< indices of Both

Slices slices_of(const Study& study, const std::vector<Both>& all) {
  Slices slices(1, {"all", {}});
  for (std::size_t i = 0; i < all.size(); ++i) slices[0].second.push_back(i);
  const std::vector<std::string> keys = varied_keys(study);
  std::map<std::pair<std::size_t, std::string>, std::size_t> known;
  const auto add = [&](std::size_t column, const std::string& value, const std::string& name,
                       std::size_t index) {
    const auto [entry, is_new] = known.try_emplace({column, value}, slices.size());
    if (is_new) slices.push_back({name, {}});
    slices[entry->second].second.push_back(index);
  };
  for (std::size_t i = 0; i < all.size(); ++i) {
    const CandidateChoice choice = choice_of(study, all[i].candidate);
    const std::string& cluster = study.clusters[choice.cluster].name;
    if (study.clusters.size() > 1) add(keys.size(), cluster, cluster, i);
    const std::vector<std::string> values = varied_values(study, choice);
    for (std::size_t k = 0; k < keys.size(); ++k)
      if (!values[k].empty()) add(k, values[k], fmt::format("{} = {}", keys[k], values[k]), i);
  }
  const auto small = [&](const auto& slice) {
    return static_cast<std::int64_t>(slice.second.size()) < kSmallestSlice ||
           (&slice != &slices[0] && slice.second.size() == all.size());
  };
  Slices result;
  for (const auto& slice : slices)
    if (!small(slice)) result.push_back(slice);
  return result;
}

/// What the two tiers put first, when this is the whole study.
const Both& two_tier_winner(const Study& by_default, std::span<const StudyRow> rows,
                            const std::vector<Both>& all, const std::vector<std::size_t>& slice) {
  std::vector<StudyRow> own;
  for (const std::size_t i : slice) {
    own.push_back(rows[all[i].first_row]);
    own.push_back(rows[all[i].first_row + 1]);
  }
  const RefinementPlan plan = plan_refinement(by_default, own);
  const Both* best = nullptr;
  for (const std::size_t i : slice)
    if (std::binary_search(plan.chosen.begin(), plan.chosen.end(), all[i].candidate) &&
        (best == nullptr || all[i].simgrid_key < best->simgrid_key))
      best = &all[i];
  return best != nullptr ? *best : all[slice.front()];
}

Regret regret_of(const Study& by_default, std::span<const StudyRow> rows,
                 const std::vector<Both>& all, const std::string& name,
                 const std::vector<std::size_t>& slice) {
  const auto least = [&](double Both::*key) -> const Both& {
    return all[*std::min_element(slice.begin(), slice.end(), [&](std::size_t a, std::size_t b) {
      return all[a].*key < all[b].*key;
    })];
  };
  const Both& screened = least(&Both::screening_key);
  const Both* tied = &least(&Both::simgrid_key);
  for (const std::size_t i : slice)
    if (all[i].screening_key < tied->screening_key &&
        loss(all[i].simgrid_key, tied->simgrid_key) == 0)
      tied = &all[i];
  const Both& winner = *tied;
  const Both& kept = two_tier_winner(by_default, rows, all, slice);
  Regret regret;
  regret.slice = name;
  regret.candidates = static_cast<std::int64_t>(slice.size());
  for (const std::size_t i : slice)
    if (loss(winner.screening_key, all[i].screening_key) > 0) ++regret.winner_place;
  regret.screening_loss = loss(screened.simgrid_key, winner.simgrid_key);
  regret.two_tier_loss = loss(kept.simgrid_key, winner.simgrid_key);
  regret.winner_dropped = regret.two_tier_loss > 0;
  return regret;
}

}  // namespace

Result<std::vector<Regret>> screening_regret(const Study& study, std::span<const StudyRow> rows) {
  const Objective objective = study.objectives.front();
  std::vector<Both> all;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].tier != Tier::Screening || rows[i].state != RowState::Evaluated) continue;
    const Verdict screening = judge(study, rows[i]);
    if (!screening.feasible()) continue;
    if (i + 1 == rows.size() || rows[i + 1].candidate != rows[i].candidate)
      return fail(infeasible(
          fmt::format("SimGrid has not run candidate {}", rows[i].candidate),
          "put simgrid: all into the study and sweep again; the rows that are there stay"));
    const Verdict shared = judge(study, rows[i + 1]);
    if (shared.feasible())
      all.push_back({i, objective_key(screening, objective), objective_key(shared, objective),
                     rows[i].candidate});
  }
  if (all.empty()) return fail(infeasible("the study has no feasible candidates"));
  Study by_default = study;
  by_default.refinement = Refinement{};
  by_default.objectives = {objective};
  std::vector<Regret> result;
  for (const auto& [name, slice] : slices_of(study, all))
    result.push_back(regret_of(by_default, rows, all, name, slice));
  return result;
}

void write_regret(std::span<const Regret> regrets, std::ostream& out) {
  std::size_t differs = 0;
  std::size_t dropped = 0;
  double sum = 0;
  double worst = 0;
  double worst_of_two = 0;
  for (const Regret& regret : regrets) {
    out << fmt::format(
        "{}: {} candidates, screening ranks the winner {}, its own first loses {:.3f} %{}\n",
        regret.slice, regret.candidates, regret.winner_place, 100 * regret.screening_loss,
        regret.winner_dropped
            ? fmt::format("; the two tiers drop it and lose {:.3f} %", 100 * regret.two_tier_loss)
            : "");
    if (regret.screening_loss > 0) ++differs;
    if (regret.winner_dropped) ++dropped;
    sum += regret.screening_loss;
    worst = std::max(worst, regret.screening_loss);
    worst_of_two = std::max(worst_of_two, regret.two_tier_loss);
  }
  if (regrets.empty()) return;
  out << fmt::format(
      "screening alone drops the winner in {} of {} parts, losing {:.3f} % on average and {:.3f} % "
      "at worst; the two tiers in {}, {:.3f} % at worst\n",
      differs, regrets.size(), 100 * sum / static_cast<double>(regrets.size()), 100 * worst,
      dropped, 100 * worst_of_two);
}

}  // namespace pipecast
