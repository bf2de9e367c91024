#include <algorithm>
#include <iostream>
#include <memory>
#include <sstream>

#include "sim/report/chrome_trace.hpp"
#include "sim/study/compare.hpp"
#include "sim/study/compare_page.hpp"
#include "sim/study/compare_report.hpp"
#include "tools/commands.hpp"
#include "tools/console.hpp"
#include "tools/output_file.hpp"
#include "tools/scenario_arguments.hpp"
#include "tools/schedule_arguments.hpp"

namespace pipecast {
namespace {

void declare_compare(CLI::App& app) {
  value_option(app, "scenario", "SCENARIO", "a scenario file")->required();
  value_option(app, "--schedules", "A,B,...",
               "only these schedules (default: every one that is valid)");
  value_option(app, "--memory-limit", "BYTES",
               "only what keeps every rank's activations within this, such as '40 GiB'; schedules "
               "that search "
               "under a limit use all of it");
  value_option(app, "--json", "F.json", "write every figure; - is the standard output");
  value_option(app, "--report", "F.html", "write a report of all of them to open in a browser");
  value_option(app, "--trace", "F.json[.gz]", "write one Chrome trace of all of them");
  declare_trace_detail(app);
  value_option(app, "--engine", "NAME", "simgrid (default) or longest-path")
      ->check(CLI::IsMember({"simgrid", "longest-path"}));
  declare_scenario_options(app);
}

tl::expected<CompareOptions, std::string> compare_options(const CLI::App& app) {
  CompareOptions options;
  if (text_of(app, "--engine") == "longest-path") options.engine = Engine::LongestPath;
  if (const auto text = text_of(app, "--memory-limit")) {
    const auto bytes = parse_quantity(*text, Dimension::Memory);
    if (!bytes) return tl::unexpected("--memory-limit: " + bytes.error());
    options.activation_limit = Bytes{*bytes};
  }
  return options;
}

/// What a run leaves behind before the next one is made.
struct RunOutputs {
  std::unique_ptr<OutputFile> trace_file;  ///< stays where it is: the trace writes to its stream
  std::unique_ptr<OutputFile> report_file;
  std::unique_ptr<ChromeTrace> trace;
  std::vector<ComparedRun> runs;
};

Result<RunOutputs> open_outputs(const CLI::App& app, std::size_t runs) {
  RunOutputs outputs;
  if (const auto path = text_of(app, "--trace")) {
    Result<OutputFile> file = OutputFile::open(*path);
    if (!file) return fail(std::move(file.error()));
    outputs.trace_file = std::make_unique<OutputFile>(std::move(*file));
    const TraceOptions options{
        text_of(app, "--trace-detail") == "coarse" ? TraceDetail::Coarse : TraceDetail::Full,
        path->ends_with(".gz") ? Compression::Gzip : Compression::None};
    outputs.trace = std::make_unique<ChromeTrace>(outputs.trace_file->stream(), runs, options);
  }
  if (const auto path = text_of(app, "--report")) {
    Result<OutputFile> file = OutputFile::open(*path);
    if (!file) return fail(std::move(file.error()));
    outputs.report_file = std::make_unique<OutputFile>(std::move(*file));
  }
  return outputs;
}

Result<void> close_outputs(RunOutputs& outputs, const Page& page) {
  if (outputs.trace) {
    outputs.trace->finish();
    if (Result<void> written = outputs.trace_file->commit(); !written) return written;
  }
  if (!outputs.report_file) return {};
  write_page(page, outputs.report_file->stream());
  return outputs.report_file->commit();
}

/// Takes what the outputs show of each run.
void watch_runs(CompareOptions& options, RunOutputs& outputs, std::size_t runs) {
  options.on_run = [&outputs, runs](const RunView& run) {
    if (outputs.trace) outputs.trace->add(run);
    if (outputs.report_file) outputs.runs.push_back(compared_run(run, compared_boxes(runs)));
  };
}

ExitCode write_rows(const CLI::App& app, const std::vector<CompareRow>& rows,
                    const Scenario& scenario, Engine engine) {
  const auto json = text_of(app, "--json");
  if (json != "-") write_compare_text(rows, std::cout);
  if (json) {
    const Result<void> written = write_output(*json, [&](std::ostream& out) {
      write_compare_json(rows, scenario.name, engine_name(engine), out);
    });
    if (!written) return report_faults(written.error());
  }
  const bool any = std::any_of(rows.begin(), rows.end(),
                               [](const CompareRow& row) { return row.refused.empty(); });
  return any ? ExitCode::Done : ExitCode::Infeasible;
}

ExitCode act_compare(const CLI::App& app, const Session& plain_session) {
  const auto overrides = overrides_of(app);
  if (!overrides) return report_usage(overrides.error());
  auto options = compare_options(app);
  if (!options) return report_usage(options.error());
  const Session session = with_presets(app, plain_session);
  if (given(app, "--schedules")) {
    Result<std::vector<std::string>> names = named_schedules(app, session);
    if (!names) return report_usage(names.error());
    options->schedules = std::move(*names);
  }
  const std::string path = *text_of(app, "scenario");
  const Result<Scenario> scenario = read_scenario_file(path, session.context(), *overrides);
  if (!scenario) return report_faults(scenario.error());
  const std::size_t runs =
      options->schedules.empty() ? session.schedules.size() : options->schedules.size();
  Result<RunOutputs> outputs = open_outputs(app, runs);
  if (!outputs) return report_faults(outputs.error());
  watch_runs(*options, *outputs, runs);
  const Result<std::vector<CompareRow>> rows = compare(*scenario, session.context(), *options);
  if (!rows) return report_faults(rows.error());
  const Page page =
      compare_page(scenario->name, engine_name(options->engine), scenario_source(path, *overrides),
                   *rows, std::move(outputs->runs));
  if (const Result<void> written = close_outputs(*outputs, page); !written)
    return report_faults(written.error());
  return write_rows(app, *rows, *scenario, options->engine);
}

}  // namespace

Command compare_command() {
  return {
      .name = "compare",
      .summary = "a scenario under several schedules, fastest first",
      .example = "pipecast compare scenarios/zero-bubble-1.5b.yaml --schedules 1f1b,zb-h1,zb-h2",
      .declare = declare_compare,
      .act = act_compare};
}

}  // namespace pipecast
