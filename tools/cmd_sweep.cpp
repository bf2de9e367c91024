#include <fmt/format.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>

#include "sim/study/ranking.hpp"
#include "sim/study/study_table.hpp"
#include "sim/study/sweep.hpp"
#include "tools/commands.hpp"
#include "tools/console.hpp"
#include "tools/interrupt.hpp"
#include "tools/progress.hpp"
#include "tools/scenario_arguments.hpp"

namespace pipecast {
namespace {

constexpr int kMostJobs = 1024;
constexpr int kMostShards = 100'000;

void declare_sweep(CLI::App& app) {
  value_option(app, "study", "STUDY", "a study file")->required();
  value_option(app, "--out", "STUDY.db", "where the rows go; the same command again resumes")
      ->required();
  integer_option(app, "--jobs,-j", "N", "worker processes (default: one per processor)", 1,
                 kMostJobs);
  value_option(app, "--shard", "I/N",
               "only part I of N, from 1/N to N/N (0/N is N/N); join them with study merge");
  declare_presets_option(app);
  flag_option(app, "--quiet", "print nothing but errors");
}

tl::expected<Shard, std::string> shard_of(const CLI::App& app) {
  const std::optional<std::string> text = text_of(app, "--shard");
  if (!text) return Shard{};
  const std::size_t slash = text->find('/');
  const auto index = parse_integer(std::string_view(*text).substr(0, slash));
  const auto count = slash == std::string::npos
                         ? tl::expected<std::int64_t, std::string>(tl::unexpect, "")
                         : parse_integer(std::string_view(*text).substr(slash + 1));
  if (!index || !count || *count < 1 || *count > kMostShards || *index < 0 || *index > *count)
    return tl::unexpected(fmt::format(
        "--shard '{}' is not I/N with 0 ≤ I ≤ N and 1 ≤ N ≤ {}, such as 3/16", *text, kMostShards));
  return Shard{static_cast<int>(*index), static_cast<int>(*count)};
}

int jobs_of(const CLI::App& app) {
  const long processors = sysconf(_SC_NPROCESSORS_ONLN);
  return integer_of(app, "--jobs").value_or(static_cast<int>(std::max(1L, processors)));
}

ExitCode report_stop(const std::string& path) {
  spdlog::warn("stopped; what is done is in '{}', the same command goes on from there", path);
  return ExitCode::Stopped;
}

/// A part of a study says what it has; only the whole ends with an answer.
ExitCode report_end(const Study& study, const Store& store, const Shard& shard, bool quiet) {
  const Result<std::vector<StudyRow>> rows = rows_of(study, store);
  if (!rows) return report_faults(rows.error());
  const Ranking ranking = rank_rows(study, *rows);
  if (!quiet) write_study_text(study, ranking, 10, std::cout);
  return ranking.ranked.empty() && shard.count == 1 ? ExitCode::Infeasible : ExitCode::Done;
}

ExitCode act_sweep(const CLI::App& app, const Session& plain_session) {
  const auto shard = shard_of(app);
  if (!shard) return report_usage(shard.error());
  const Session session = with_presets(app, plain_session);
  const bool quiet = given(app, "--quiet");
  const ReadContext context = session.context();
  const Result<Study> study = read_study_file(*text_of(app, "study"), context);
  if (!study) return report_faults(study.error());
  signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is then an error like a full disk
  Result<Store> store = Store::open(*text_of(app, "--out"), StoreAccess::Write);
  if (!store) return report_faults(store.error());

  ProgressLine line(quiet);
  const Interrupt interrupt;
  SweepOptions options;
  options.jobs = jobs_of(app);
  options.shard = *shard;
  options.stop_descriptor = interrupt.descriptor();
  options.progress = [&](const SweepProgress& progress) {
    line.show(tier_name(progress.tier), progress.done, progress.total, progress.resumed);
  };
  const Result<SweepEnd> end = sweep(*study, context, *store, options);
  line.finish();
  if (!end) return report_faults(end.error());
  const ExitCode code = *end == SweepEnd::Stopped ? report_stop(store->path())
                                                  : report_end(*study, *store, *shard, quiet);
  if (Result<void> closed = store->close(); !closed) return report_faults(closed.error());
  return code;
}

}  // namespace

Command sweep_command() {
  return {.name = "sweep",
          .summary = "run a what-if study: every candidate of a grid, ranked",
          .example = "pipecast sweep scenarios/studies/which-schedule.yaml --out study.db",
          .declare = declare_sweep,
          .act = act_sweep};
}

}  // namespace pipecast
