#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <filesystem>
#include <iostream>

#include "sim/study/ranking.hpp"
#include "sim/study/screening_regret.hpp"
#include "sim/study/study_page.hpp"
#include "sim/study/study_rank.hpp"
#include "sim/study/study_table.hpp"
#include "sim/study/sweep.hpp"
#include "tools/commands.hpp"
#include "tools/console.hpp"
#include "tools/output_file.hpp"
#include "tools/scenario_arguments.hpp"

namespace pipecast {
namespace {

/// A study and its rows, as a database keeps them.
struct KeptStudy {
  Study study;
  std::vector<StudyRow> rows;
  Ranking ranking;
  std::size_t unrefined = 0;  ///< candidates that SimGrid is to run and has not
};

Result<KeptStudy> open_study(const std::string& path, const Session& session) {
  const Result<Store> store = Store::open(path, StoreAccess::Read);
  if (!store) return fail(store.error());
  const Result<StoreHeader> header = store->header();
  if (!header) return fail(header.error());
  Result<Study> study = read_study_texts(header->texts, session.context());
  if (!study) {
    study.error().push_back(
        input_error(fmt::format("the study that '{}' keeps cannot be read again", path),
                    "the file is damaged, or was written by another version of pipecast"));
    return fail(std::move(study.error()));
  }
  if (fingerprint(*study) != header->fingerprint)
    return fail(input_error(
        "'" + path + "' holds rows that this version, with the presets as they are, would not make",
        "sweep the study again, or use what made them"));
  Result<std::vector<StudyRow>> rows = rows_of(*study, *store);
  if (!rows) return fail(rows.error());
  Ranking ranking = rank_rows(*study, *rows);
  const std::size_t unrefined = plan_refinement(*study, *rows).missing.size();
  return KeptStudy{std::move(*study), std::move(*rows), std::move(ranking), unrefined};
}

void declare_export(CLI::App& app) {
  value_option(app, "database", "STUDY.db", "what sweep or merge wrote")->required();
  value_option(app, "--csv", "F.csv", "one line per candidate; - is the standard output")
      ->required();
}

ExitCode act_export(const CLI::App& app, const Session& session) {
  const Result<KeptStudy> kept = open_study(*text_of(app, "database"), session);
  if (!kept) return report_faults(kept.error());
  const Result<void> written = write_output(*text_of(app, "--csv"), [&](std::ostream& out) {
    write_study_csv(kept->study, kept->ranking, out);
  });
  return written ? ExitCode::Done : report_faults(written.error());
}

void declare_merge(CLI::App& app) {
  value_option(app, "parts", "PART.db", "databases of shards")
      ->required()
      ->expected(1, 1 << 20)
      ->allow_extra_args();
  value_option(app, "--out", "STUDY.db", "the joined study")->required();
}

ExitCode act_merge(const CLI::App& app, const Session& session) {
  const std::string path = *text_of(app, "--out");
  const std::vector<std::string> parts = texts_of(app, "parts");
  for (const std::string& part : parts)
    if (!std::filesystem::exists(part))
      return report_faults({input_error("there is no study database '" + part + "'")});
  Result<Store> store = Store::open(path, StoreAccess::Write);
  if (!store) return report_faults(store.error());
  if (Result<void> merged = merge(*store, parts); !merged) return report_faults(merged.error());
  if (Result<void> closed = store->close(); !closed) return report_faults(closed.error());
  const Result<KeptStudy> kept = open_study(path, session);
  if (!kept) return report_faults(kept.error());
  write_study_text(kept->study, kept->ranking, 10, std::cout);
  const auto missing =
      kept->study.candidates() - static_cast<std::int64_t>(kept->ranking.verdicts.size());
  if (missing > 0)
    spdlog::warn("{} of {} candidates have no row yet: a part is missing or not finished", missing,
                 kept->study.candidates());
  else if (kept->unrefined > 0)
    spdlog::warn("SimGrid has not run {} of the best yet: a part is not finished", kept->unrefined);
  return kept->ranking.ranked.empty() ? ExitCode::Infeasible : ExitCode::Done;
}

void declare_report(CLI::App& app) {
  value_option(app, "database", "STUDY.db", "what sweep or merge wrote")->required();
  value_option(app, "--out", "F.html", "the page; - is the standard output")->required();
}

ExitCode act_report(const CLI::App& app, const Session& session) {
  const Result<KeptStudy> kept = open_study(*text_of(app, "database"), session);
  if (!kept) return report_faults(kept.error());
  Evaluator evaluator(kept->study, session.context());
  const Page page = study_page(kept->study, evaluator, kept->ranking);
  const Result<void> written =
      write_output(*text_of(app, "--out"), [&](std::ostream& out) { write_page(page, out); });
  return written ? ExitCode::Done : report_faults(written.error());
}

constexpr std::size_t kStandingsShown = 20;

void declare_rank(CLI::App& app) {
  value_option(app, "database", "STUDY.db", "what sweep or merge wrote")->required();
  value_option(app, "conditions", "KEY=VALUE",
               "what the candidates have: a varied key, its last word is enough, or cluster")
      ->required()
      ->expected(1, 1 << 10)
      ->allow_extra_args();
}

ExitCode act_rank(const CLI::App& app, const Session& session) {
  std::vector<Condition> conditions;
  for (const std::string& text : texts_of(app, "conditions")) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      return report_usage("'" + text + "' is not KEY=VALUE, such as tensor=8");
    conditions.push_back({text.substr(0, equals), text.substr(equals + 1)});
  }
  const Result<KeptStudy> kept = open_study(*text_of(app, "database"), session);
  if (!kept) return report_faults(kept.error());
  const auto found = standings(kept->study, kept->ranking, conditions);
  if (!found) return report_faults(found.error());
  write_standings(kept->study, kept->ranking, *found, kStandingsShown, std::cout);
  return ExitCode::Done;
}

void declare_regret(CLI::App& app) {
  value_option(app, "database", "STUDY.db", "of a study with simgrid: all")->required();
}

ExitCode act_regret(const CLI::App& app, const Session& session) {
  const Result<KeptStudy> kept = open_study(*text_of(app, "database"), session);
  if (!kept) return report_faults(kept.error());
  const auto regrets = screening_regret(kept->study, kept->rows);
  if (!regrets) return report_faults(regrets.error());
  write_regret(*regrets, std::cout);
  return ExitCode::Done;
}

Command rank_subcommand() {
  return {.name = "rank",
          .summary = "where candidates of a study stand in their cluster, such as a layout in use",
          .example = "pipecast study rank study.db tensor=8 ranks=16 schedule=1f1b",
          .declare = declare_rank,
          .act = act_rank};
}

Command regret_subcommand() {
  return {.name = "regret",
          .summary = "how often screening would have dropped the winner, and what that costs",
          .example = "pipecast study regret study.db",
          .declare = declare_regret,
          .act = act_regret};
}

Command report_subcommand() {
  return {.name = "report",
          .summary = "the answers of a study as one HTML page that opens offline",
          .example = "pipecast study report study.db --out study.html",
          .declare = declare_report,
          .act = act_report};
}

Command export_subcommand() {
  return {.name = "export",
          .summary = "the rows of a study as a table",
          .example = "pipecast study export study.db --csv study.csv",
          .declare = declare_export,
          .act = act_export};
}

Command merge_subcommand() {
  return {.name = "merge",
          .summary = "join the parts of a study that was run in shards",
          .example = "pipecast study merge part-1.db part-2.db --out study.db",
          .declare = declare_merge,
          .act = act_merge};
}

}  // namespace

Command study_command() {
  return {.name = "study",
          .summary = "what came out of a sweep: tables, reports, merging of shards",
          .example = "pipecast study export study.db --csv study.csv",
          .subcommands = {report_subcommand(), export_subcommand(), merge_subcommand(),
                          rank_subcommand(), regret_subcommand()}};
}

}  // namespace pipecast
