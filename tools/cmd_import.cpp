#include <array>
#include <iostream>

#include "sim/read/measured_file.hpp"
#include "sim/read/program_csv.hpp"
#include "sim/report/chrome_trace.hpp"
#include "sim/study/measured_compare.hpp"
#include "tools/arguments.hpp"
#include "tools/commands.hpp"
#include "tools/console.hpp"
#include "tools/output_file.hpp"

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
  value_option(app, "--report", "F.html", "write both timelines and the tables as one page");
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

Result<void> write_files(const CLI::App& app, const ImportReport& report) {
  if (const auto path = text_of(app, "--scenario"))
    if (Result<void> written = write_scenario(report.profile, *path); !written) return written;
  if (const auto path = text_of(app, "--json"))
    if (Result<void> written =
            write_output(*path, [&](std::ostream& out) { write_import_json(report, out); });
        !written)
      return written;
  if (const auto path = text_of(app, "--report"))
    if (Result<void> written =
            write_output(*path, [&](std::ostream& out) { write_import_html(report, out); });
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

ExitCode act_import(const CLI::App& app, const Session& session) {
  Result<MeasuredRun> run = read_measured_files(texts_of(app, "traces"));
  if (!run) return report_faults(run.error());
  const Result<ImportReport> report = import_report(std::move(*run), session.schedules);
  if (!report) return report_faults(report.error());
  const Result<void> written = write_files(app, *report);
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
