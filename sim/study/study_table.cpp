#include "sim/study/study_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>

#include "sim/read/study_candidate.hpp"
#include "sim/study/candidate_text.hpp"

namespace pipecast {
namespace {

std::string quoted(std::string_view text) {
  if (text.find_first_of(",\"\n\r") == std::string_view::npos) return std::string(text);
  std::string result = "\"";
  for (const char letter : text) {
    if (letter == '"') result += '"';
    result += letter;
  }
  return result + '"';
}

std::string number(double value) { return std::isfinite(value) ? format_number(value) : ""; }

void write_head(const std::vector<std::string>& keys, std::ostream& out) {
  out << "candidate,rank,cluster";
  for (const std::string& key : keys) out << ',' << quoted(key);
  out << ",verdict,reason,excess,tier,limited_by,accelerators";
  for (const FigureColumn& column : figure_columns()) out << ',' << column.name;
  for (const WorthColumn& column : worth_columns()) out << ',' << column.name;
  out << '\n';
}

/// A candidate that was not run has no figures, not zero ones; of one that is too large its memory
/// is known.
void write_numbers(const Verdict& verdict, std::ostream& out) {
  const RowState state = verdict.row.state;
  const bool ran = state == RowState::Evaluated;
  out << ',' << tier_name(verdict.row.tier) << ','
      << (ran ? limited_by(verdict.row.figures) : std::string_view{}) << ','
      << quoted(verdict.row.accelerators);
  for (const FigureColumn& column : figure_columns()) {
    const bool known = ran || (state == RowState::TooLarge && column.needs_no_run);
    out << ',' << (known ? number(verdict.row.figures.*column.member) : "");
  }
  for (const WorthColumn& column : worth_columns())
    out << ',' << (ran ? number(verdict.worth.*column.member) : "");
  out << '\n';
}

/// Columns of the table on the terminal.
struct Cell {
  std::string title;
  std::vector<std::string> texts;
};

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U;
  }));
}

void print(const std::vector<Cell>& cells, std::ostream& out) {
  std::vector<std::size_t> widths;
  for (const Cell& cell : cells) {
    std::size_t width = width_of(cell.title);
    for (const std::string& text : cell.texts) width = std::max(width, width_of(text));
    widths.push_back(width);
  }
  const auto line = [&](auto text_of) {
    std::string result;
    for (std::size_t c = 0; c < cells.size(); ++c) {
      const std::string& text = text_of(cells[c]);
      result += (c == 0 ? "" : "  ") + text + std::string(widths[c] - width_of(text), ' ');
    }
    out << result.substr(0, result.find_last_not_of(' ') + 1) << '\n';
  };
  line([](const Cell& cell) -> const std::string& { return cell.title; });
  for (std::size_t row = 0; row < cells.front().texts.size(); ++row)
    line([row](const Cell& cell) -> const std::string& { return cell.texts[row]; });
}

bool wants(const Study& study, Objective objective) {
  return std::find(study.objectives.begin(), study.objectives.end(), objective) !=
         study.objectives.end();
}

std::vector<Cell> table(const Study& study, const Ranking& ranking,
                        std::span<const std::size_t> shown) {
  std::vector<Cell> cells(1, {"", {}});
  const bool named = study.clusters.size() > 1 || !study.clusters.front().name.empty();
  if (named) cells.push_back({"cluster", {}});
  const std::size_t first_key = cells.size();
  for (const std::string& key : varied_keys(study)) cells.push_back({short_key(key), {}});
  const std::size_t first_objective = cells.size();
  for (const Objective objective : study.objectives)
    cells.push_back({std::string(objective_name(objective)), {}});
  if (!wants(study, Objective::StepTime)) cells.push_back({"step_s", {}});
  for (const char* title : {"bubble", "peak", "limited by", "tier"}) cells.push_back({title, {}});
  for (std::size_t place = 0; place < shown.size(); ++place) {
    const Verdict& verdict = ranking.verdicts[shown[place]];
    const Figures& figures = verdict.row.figures;
    cells[0].texts.push_back(std::to_string(place + 1));
    if (named) cells[1].texts.push_back(study.clusters[verdict.cluster].name);
    const auto values = varied_values(study, choice_of(study, verdict.row.candidate));
    for (std::size_t k = 0; k < values.size(); ++k) cells[first_key + k].texts.push_back(values[k]);
    std::size_t at = first_objective;
    for (const Objective objective : study.objectives)
      cells[at++].texts.push_back(figure_text(objective_value(verdict, objective), "-"));
    if (!wants(study, Objective::StepTime))
      cells[at++].texts.push_back(figure_text(figures.step_s, "-"));
    cells[at++].texts.push_back(fmt::format("{:.1f} %", 100 * figures.bubble_fraction));
    cells[at++].texts.push_back(format(Bytes{figures.peak_memory_bytes}));
    cells[at++].texts.emplace_back(limited_by(figures));
    cells[at++].texts.emplace_back(tier_name(verdict.row.tier));
  }
  return cells;
}

void write_misses(const Study& study, const Ranking& ranking, std::ostream& out) {
  const std::vector<std::size_t> nearest = nearest_misses(ranking, 5);
  if (nearest.empty()) return;
  out << "nearest misses:\n";
  for (const std::size_t index : nearest) {
    const Verdict& verdict = ranking.verdicts[index];
    const std::string where = named_candidate(study, verdict.row.candidate);
    out << fmt::format("  {}: {}{}\n", miss_name(verdict.miss), verdict.reason,
                       where.empty() ? "" : " (" + where + ")");
  }
}

}  // namespace

void write_study_csv(const Study& study, const Ranking& ranking, std::ostream& out) {
  std::vector<std::size_t> rank_of(ranking.verdicts.size(), 0);
  for (std::size_t place = 0; place < ranking.ranked.size(); ++place)
    rank_of[ranking.ranked[place]] = place + 1;
  write_head(varied_keys(study), out);
  for (std::size_t i = 0; i < ranking.verdicts.size(); ++i) {
    const Verdict& verdict = ranking.verdicts[i];
    out << verdict.row.candidate << ','
        << (rank_of[i] > 0 ? std::to_string(rank_of[i]) : std::string{}) << ','
        << quoted(study.clusters[verdict.cluster].name);
    for (const std::string& value : varied_values(study, choice_of(study, verdict.row.candidate)))
      out << ',' << quoted(value);
    out << ',' << (verdict.feasible() ? std::string_view("feasible") : miss_name(verdict.miss))
        << ',' << quoted(verdict.reason) << ','
        << (verdict.excess > 0 ? number(verdict.excess) : "");
    write_numbers(verdict, out);
  }
}

void write_study_text(const Study& study, const Ranking& ranking, std::size_t best,
                      std::ostream& out) {
  const std::span<const std::size_t> shown =
      std::span(ranking.ranked).first(std::min(best, ranking.ranked.size()));
  out << fmt::format("{}: {} candidates, {} feasible\n", study.name, ranking.verdicts.size(),
                     ranking.ranked.size());
  if (!shown.empty()) print(table(study, ranking, shown), out);
  const std::vector<std::int64_t> misses = count_misses(ranking);
  std::string counts;
  for (std::size_t miss = 1; miss < misses.size(); ++miss)
    if (misses[miss] > 0)
      counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ",
                            miss_name(static_cast<Miss>(miss)), misses[miss]);
  if (!counts.empty()) out << "infeasible by reason: " << counts << '\n';
  for (const QuotedCluster& cluster : study.clusters)
    if (!cluster.no_layout.empty())
      out << fmt::format("no layout divides on {}: {}\n", cluster.name, cluster.no_layout);
  if (ranking.ranked.empty()) write_misses(study, ranking, out);
}

}  // namespace pipecast
