#include "sim/study/study_rank.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <ostream>

#include "sim/read/study_candidate.hpp"
#include "sim/study/candidate_text.hpp"

namespace pipecast {
namespace {

constexpr std::size_t kCluster = static_cast<std::size_t>(-1);

bool names(std::string_view key, std::string_view words) {
  return key.ends_with(words) &&
         (key.size() == words.size() || key[key.size() - words.size() - 1] == '.');
}

/// The column of varied_keys() that a condition means, or kCluster.
Result<std::size_t> column_of(const std::vector<std::string>& keys, const std::string& words) {
  if (words == "cluster") return kCluster;
  for (std::size_t k = 0; k < keys.size(); ++k)
    if (names(keys[k], words)) return k;
  std::vector<std::string> known{"cluster"};
  for (const std::string& key : keys) known.push_back(short_key(key));
  return fail(input_error(fmt::format("the study does not vary '{}'", shown(words)),
                          suggest(words, known)));
}

struct Filter {
  std::vector<std::size_t> columns;
  std::span<const Condition> conditions;

  bool accepts(const Study& study, const Verdict& verdict) const {
    const auto values = varied_values(study, choice_of(study, verdict.row.candidate));
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const std::string& value =
          columns[i] == kCluster ? study.clusters[verdict.cluster].name : values[columns[i]];
      if (value != conditions[i].value) return false;
    }
    return true;
  }
};

}  // namespace

Result<std::vector<Standing>> standings(const Study& study, const Ranking& ranking,
                                        std::span<const Condition> conditions) {
  const std::vector<std::string> keys = varied_keys(study);
  Filter filter{{}, conditions};
  for (const Condition& condition : conditions) {
    const Result<std::size_t> column = column_of(keys, condition.key);
    if (!column) return fail(column.error());
    filter.columns.push_back(*column);
  }
  std::map<std::size_t, std::vector<std::size_t>> ranked;  // by cluster
  for (const std::size_t index : ranking.ranked)
    ranked[ranking.verdicts[index].cluster].push_back(index);
  std::vector<Standing> result;
  for (const auto& [cluster, order] : ranked)
    for (std::size_t place = 0; place < order.size(); ++place) {
      const Verdict& verdict = ranking.verdicts[order[place]];
      if (!filter.accepts(study, verdict)) continue;
      const Objective objective = study.objectives.front();
      result.push_back({order[place], place + 1, order.size(), order.front(),
                        objective_value(verdict, objective) /
                            objective_value(ranking.verdicts[order.front()], objective)});
    }
  for (std::size_t index = 0; index < ranking.verdicts.size(); ++index) {
    const Verdict& verdict = ranking.verdicts[index];
    if (!verdict.feasible() && filter.accepts(study, verdict))
      result.push_back({index, 0, ranked[verdict.cluster].size(), index, 0});
  }
  if (result.empty())
    return fail(input_error("no candidate meets the conditions",
                            "study export writes the values that there are"));
  return result;
}

void write_standings(const Study& study, const Ranking& ranking,
                     std::span<const Standing> standings, std::size_t most, std::ostream& out) {
  const Objective objective = study.objectives.front();
  const auto value = [&](std::size_t index) {
    return fmt::format("{} {:.6g}", objective_name(objective),
                       objective_value(ranking.verdicts[index], objective));
  };
  std::size_t cluster = kCluster;
  for (std::size_t i = 0; i < std::min(most, standings.size()); ++i) {
    const Standing& standing = standings[i];
    const Verdict& verdict = ranking.verdicts[standing.verdict];
    if (standing.place > 0 && verdict.cluster != cluster) {
      cluster = verdict.cluster;
      const Verdict& winner = ranking.verdicts[standing.winner];
      const std::string& name = study.clusters[cluster].name;
      out << fmt::format("{}{}winner of {}: {} ({})\n", name, name.empty() ? "" : ", ", standing.of,
                         value(standing.winner), candidate_text(study, winner.row.candidate));
    }
    if (standing.place > 0)
      out << fmt::format(
          "rank {} of {} ({:.1f} %): {}, {:.4f} of the winner's ({})\n", standing.place,
          standing.of,
          100.0 * static_cast<double>(standing.place) / static_cast<double>(standing.of),
          value(standing.verdict), standing.of_the_winner,
          candidate_text(study, verdict.row.candidate));
    else
      out << fmt::format("{}: {} ({})\n", miss_name(verdict.miss), verdict.reason,
                         candidate_text(study, verdict.row.candidate));
  }
  if (standings.size() > most) out << fmt::format("and {} more\n", standings.size() - most);
}

}  // namespace pipecast
