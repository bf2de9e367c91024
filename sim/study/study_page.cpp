#include "sim/study/study_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/read/study_candidate.hpp"
#include "sim/study/candidate_text.hpp"

namespace pipecast {
namespace {

constexpr std::size_t kListed = 1000;
constexpr std::size_t kSampledCandidates = 20;

PageCell number(double value) {
  if (!std::isfinite(value)) return {"–", {}};
  return {figure_text(value, "–"), value};
}
PageCell share(double value) { return {fmt::format("{:.1f} %", 100 * value), value}; }
PageCell text(std::string_view words) { return {std::string(words), {}}; }

/// Cluster and varied values in one line.
std::string name_of(const Study& study, const Verdict& verdict) {
  const std::string name = named_candidate(study, verdict.row.candidate);
  return name.empty() ? "the scenario" : name;
}

/// The answer: the best candidate and what it comes to by each objective.
PageFigures winner_figures(const Study& study, const Verdict& winner) {
  PageFigures block;
  const std::string& cluster = study.clusters[winner.cluster].name;
  const std::string varied = candidate_text(study, winner.row.candidate);
  block.figures.push_back({fmt::format("best by {}", objective_name(study.objectives.front())),
                           cluster.empty() ? varied : cluster, cluster.empty() ? "" : varied});
  for (const Objective objective : study.objectives)
    block.figures.push_back({std::string(objective_name(objective)),
                             number(objective_value(winner, objective)).text, "of the best"});
  const Figures& figures = winner.row.figures;
  block.figures.push_back(
      {"step", format(Seconds{figures.step_s}), fmt::format("limited by {}", limited_by(figures))});
  block.figures.push_back(
      {"peak memory", format(Bytes{figures.peak_memory_bytes}), "of the fullest rank"});
  return block;
}

PageTable ranked_table(const Study& study, const Ranking& ranking) {
  PageTable table{.title = "Feasible candidates, best first",
                  .note = "",
                  .columns = {"rank", "cluster"},
                  .rows = {}};
  if (ranking.ranked.size() > kListed)
    table.note =
        fmt::format("The first {} of {}; study export writes all.", kListed, ranking.ranked.size());
  for (const std::string& key : varied_keys(study)) table.columns.push_back(short_key(key));
  for (const Objective objective : study.objectives)
    table.columns.emplace_back(objective_name(objective));
  for (const char* name : {"step", "bubble", "peak memory", "limited by", "tier"})
    table.columns.emplace_back(name);
  for (std::size_t place = 0; place < std::min(kListed, ranking.ranked.size()); ++place) {
    const Verdict& verdict = ranking.verdicts[ranking.ranked[place]];
    const Figures& figures = verdict.row.figures;
    std::vector<PageCell> row{number(static_cast<double>(place + 1)),
                              text(study.clusters[verdict.cluster].name)};
    for (const std::string& value : varied_values(study, choice_of(study, verdict.row.candidate)))
      row.push_back(text(value));
    for (const Objective objective : study.objectives)
      row.push_back(number(objective_value(verdict, objective)));
    row.push_back({format(Seconds{figures.step_s}), figures.step_s});
    row.push_back(share(figures.bubble_fraction));
    row.push_back({format(Bytes{figures.peak_memory_bytes}), figures.peak_memory_bytes});
    row.push_back(text(limited_by(figures)));
    row.push_back(text(tier_name(verdict.row.tier)));
    table.rows.push_back(std::move(row));
  }
  return table;
}

/// What throughput is held against: money or energy where the study knows them, else memory.
Objective rival_of(const Ranking& ranking) {
  for (const Objective objective : {Objective::UsdPerMillionTokens, Objective::Energy})
    if (std::isfinite(objective_value(ranking.verdicts[ranking.ranked.front()], objective)))
      return objective;
  return Objective::PeakMemory;
}

PageChart front_chart(const Study& study, const Ranking& ranking) {
  const Objective rival = rival_of(ranking);
  const bool tokens = std::isfinite(
      objective_value(ranking.verdicts[ranking.ranked.front()], Objective::TokensPerSecond));
  const Objective speed = tokens ? Objective::TokensPerSecond : Objective::StepTime;
  PageChart chart{
      .title = fmt::format("{} against {}", objective_name(speed), objective_name(rival)),
      .note = "On the front no other candidate is better in both. Point at one for its name.",
      .kind = PageChartKind::Scatter,
      .x = {.name = std::string(objective_name(rival))},
      .y = {.name = std::string(objective_name(speed))}};
  const std::vector<std::size_t> front = pareto_front(ranking, speed, rival);
  PageSeries on{.name = "on the front", .x = {}, .y = {}};
  PageSeries behind{.name = "behind it", .x = {}, .y = {}};
  for (std::size_t place = 0; place < std::min(kListed, ranking.ranked.size()); ++place) {
    const std::size_t index = ranking.ranked[place];
    const Verdict& verdict = ranking.verdicts[index];
    PageSeries& series = std::find(front.begin(), front.end(), index) != front.end() ? on : behind;
    series.x.push_back(objective_value(verdict, rival));
    series.y.push_back(objective_value(verdict, speed));
    series.labels.push_back(name_of(study, verdict));
  }
  chart.series = {std::move(on), std::move(behind)};
  return chart;
}

PageTable sensitivity_table(const Study& study, Evaluator& evaluator, const Verdict& winner) {
  PageTable table{.title = "What the winner hangs on",
                  .note = name_of(study, winner) +
                          "; step times scale as its longest path does under the change.",
                  .columns = {"change", "step",
                              std::string(objective_name(study.objectives.front())), "relative"},
                  .rows = {}};
  for (const Sensitivity& line : sensitivity_of(study, evaluator, winner))
    table.rows.push_back({text(line.what),
                          {format(Seconds{line.step_s}), line.step_s},
                          number(line.value),
                          {fmt::format("{:+.2f} %", 100 * line.change), line.change}});
  return table;
}

PageTable sampled_table(const Study& study, const Ranking& ranking,
                        const std::vector<Sampled>& sampled) {
  PageTable table{.title = "When ranges are drawn",
                  .note =
                      "Every range of the study drawn evenly, seeded; alike for all candidates "
                      "of a cluster.",
                  .columns = {"candidate", "wins", "5th percentile", "median", "95th percentile"},
                  .rows = {}};
  for (const Sampled& line : sampled)
    table.rows.push_back({text(name_of(study, ranking.verdicts[line.verdict])), number(line.wins),
                          number(line.low), number(line.median), number(line.high)});
  return table;
}

PageTable even_table(const Study& study, const Ranking& ranking,
                     const std::vector<BreakEven>& evens) {
  PageTable table{
      .title = "Where clusters cost the same",
      .note =
          "The best candidate of each cluster by money per token. Price factor: of the dearer "
          "cluster's prices. Tokens: from there on buying is cheaper than renting the other.",
      .columns = {"cheaper", "dearer", "price factor", "tokens"},
      .rows = {}};
  for (const BreakEven& even : evens)
    table.rows.push_back({text(name_of(study, ranking.verdicts[even.cheaper])),
                          text(name_of(study, ranking.verdicts[even.dearer])),
                          number(even.price_factor),
                          even.tokens ? number(*even.tokens) : text("–")});
  return table;
}

PageTable misses_table(const Study& study, const Ranking& ranking) {
  const std::vector<std::int64_t> counts = count_misses(ranking);
  PageTable table{.title = "What fell out, and why",
                  .note = "Of each reason the nearest miss.",
                  .columns = {"reason", "candidates", "nearest", "what is missing"},
                  .rows = {}};
  const std::vector<std::size_t> nearest = nearest_misses(ranking, ranking.verdicts.size());
  for (std::size_t miss = 1; miss < counts.size(); ++miss) {
    if (counts[miss] == 0) continue;
    const auto found = std::find_if(nearest.begin(), nearest.end(), [&](std::size_t index) {
      return ranking.verdicts[index].miss == static_cast<Miss>(miss);
    });
    const Verdict* verdict = found == nearest.end() ? nullptr : &ranking.verdicts[*found];
    table.rows.push_back({text(miss_name(static_cast<Miss>(miss))),
                          number(static_cast<double>(counts[miss])),
                          text(verdict != nullptr ? name_of(study, *verdict) : "–"),
                          text(verdict != nullptr ? verdict->reason : "–")});
  }
  return table;
}

void add_answers(Page& page, const Study& study, Evaluator& evaluator, const Ranking& ranking) {
  const Verdict& winner = ranking.verdicts[ranking.ranked.front()];
  page.blocks.emplace_back(winner_figures(study, winner));
  page.blocks.emplace_back(front_chart(study, ranking));
  page.blocks.emplace_back(ranked_table(study, ranking));
  page.blocks.emplace_back(sensitivity_table(study, evaluator, winner));
  if (const auto sampled = sample_ranges(study, evaluator, ranking, kSampledCandidates);
      !sampled.empty())
    page.blocks.emplace_back(sampled_table(study, ranking, sampled));
  if (const auto evens = break_evens(study, ranking); !evens.empty())
    page.blocks.emplace_back(even_table(study, ranking, evens));
  std::string lines;
  for (const std::string& line : launch_lines(study, winner.row.candidate)) lines += line + "\n";
  page.blocks.emplace_back(PageText{"The winner again", lines});
}

}  // namespace

Page study_page(const Study& study, Evaluator& evaluator, const Ranking& ranking) {
  Page page;
  page.title = study.name;
  page.subtitle =
      fmt::format("{} candidates, {} feasible", ranking.verdicts.size(), ranking.ranked.size());
  if (!ranking.ranked.empty()) add_answers(page, study, evaluator, ranking);
  if (ranking.ranked.size() < ranking.verdicts.size())
    page.blocks.emplace_back(misses_table(study, ranking));
  for (const QuotedCluster& cluster : study.clusters)
    if (!cluster.no_layout.empty())
      page.blocks.emplace_back(
          PageText{"No layout divides on " + cluster.name, cluster.no_layout + "\n"});
  for (const auto& [file, source] : study.texts) page.blocks.emplace_back(PageText{file, source});
  return page;
}

}  // namespace pipecast
