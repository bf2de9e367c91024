#include <array>
#include <iostream>

#include "sim/read/measured_file.hpp"
#include "sim/read/program_csv.hpp"
#include "sim/report/chrome_trace.hpp"
#include "sim/study/import_page.hpp"
#include "sim/study/measured_compare.hpp"
#include "tools/commands.hpp"
#include "tools/console.hpp"
#include "tools/output_file.hpp"
#include "tools/scenario_arguments.hpp"

namespace pipecast {
namespace {

void declare_import(CLI::App& app) {
  value_option(app, "traces", "TRACE...",
               "a trace per rank (Kineto JSON), intervals as CSV, begins and ends by rank")
      ->required()
      ->expected(1, kMaxRanks)
      ->allow_extra_args();
  value_option(
      app, "--scenario", "F.yaml",
      "write the measured costs as a scenario for 'pipecast run'; an order of no registered "
      "schedule goes to F.csv");
  value_option(app, "--json", "F.json", "write profile and comparison; - is the standard output");
  value_option(app, "--trace", "F.json[.gz]", "write both timelines as one Chrome trace");
  value_option(app, "--report", "F.html",
               "write a report to open in a browser: both timelines, and where the time goes");
  value_option(app, "--against", "SCENARIO",
               "hold the measured run against this scenario's forecast instead of its own profile");
  value_option(
      app, "--engine", "NAME",
      "of the forecast: simgrid: messages share links (default); longest-path: they do not")
      ->check(CLI::IsMember({"simgrid", "longest-path"}));
  declare_scenario_options(app);
}

/// The scenario of `--against` and its run.
struct Against {
  std::optional<Forecast> forecast;
  std::string scenario_text;
};

Result<Against> against_of(const CLI::App& app, const Session& session,
                           const std::vector<Override>& overrides) {
  const auto path = text_of(app, "--against");
  if (!path) return Against{};
  const Result<Scenario> scenario = read_scenario_file(*path, session.context(), overrides);
  if (!scenario) return fail(scenario.error());
  const bool plain = text_of(app, "--engine") == "longest-path";
  Result<FinishedRun> run =
      simulate(*scenario, session.context(), plain ? Engine::LongestPath : Engine::Simgrid);
  if (!run) return fail(std::move(run.error()));
  return Against{Forecast{scenario->name, std::move(*run), scenario->where("pipeline")},
                 scenario_source(*path, overrides)};
}

Result<void> write_scenario(const MeasuredProfile& profile, const std::string& path) {
  std::string csv = path;
  if (csv.ends_with(".yaml")) csv.resize(csv.size() - 5);
  csv += ".csv";
  if (profile.schedule.empty()) {
    const Result<void> written =
        write_output(csv, [&](std::ostream& out) { out << write_program_csv(profile.program); });
    if (!written) return written;
  }
  return write_output(path, [&](std::ostream& out) {
    out << scenario_text(profile, csv.substr(csv.find_last_of('/') + 1));
  });
}

Result<void> write_files(const CLI::App& app, const ImportReport& report,
                         std::string_view scenario_text) {
  if (const auto path = text_of(app, "--scenario"))
    if (Result<void> written = write_scenario(report.profile, *path); !written) return written;
  if (const auto path = text_of(app, "--json"))
    if (Result<void> written =
            write_output(*path, [&](std::ostream& out) { write_import_json(report, out); });
        !written)
      return written;
  if (const auto path = text_of(app, "--report"))
    if (Result<void> written = write_output(
            *path, [&](std::ostream& out) { write_page(import_page(report, scenario_text), out); });
        !written)
      return written;
  const auto path = text_of(app, "--trace");
  if (!path) return {};
  return write_output(*path, [&](std::ostream& out) {
    RunView measured = report.comparison.measured.view();
    RunView predicted = report.comparison.predicted.view();
    measured.schedule = "measured";
    predicted.schedule = "predicted";
    const std::array<RunView, 2> both{measured, predicted};
    write_chrome_trace(
        both, out,
        {.detail = TraceDetail::Full,
         .compression = path->ends_with(".gz") ? Compression::Gzip : Compression::None});
  });
}

ExitCode act_import(const CLI::App& app, const Session& plain_session) {
  const auto overrides = overrides_of(app);
  if (!overrides) return report_usage(overrides.error());
  if (!given(app, "--against") && !overrides->empty())
    return report_usage("--set changes the scenario of --against, which is not given");
  const Session session = with_presets(app, plain_session);
  Result<MeasuredRun> run = read_measured_files(texts_of(app, "traces"));
  if (!run) return report_faults(run.error());
  Result<Against> against = against_of(app, session, *overrides);
  if (!against) return report_faults(against.error());
  const Result<ImportReport> report =
      import_report(std::move(*run), session.schedules, std::move(against->forecast));
  if (!report) return report_faults(report.error());
  const Result<void> written = write_files(app, *report, against->scenario_text);
  if (!written) return report_faults(written.error());
  if (text_of(app, "--json") != "-") write_import_text(*report, std::cout);
  return ExitCode::Done;
}

}  // namespace

Command import_command() {
  return {.name = "import",
          .summary = "measured timelines: cost profile, and where they differ from the prediction",
          .example = "pipecast import scenarios/measured/primus-pp8.csv --scenario measured.yaml",
          .declare = declare_import,
          .act = act_import};
}

}  // namespace pipecast
