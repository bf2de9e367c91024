#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <iostream>
#include <vector>

#include "sim/report/exporters.hpp"
#include "sim/study/simulate.hpp"
#include "tools/commands.hpp"
#include "tools/console.hpp"
#include "tools/memory_fit.hpp"
#include "tools/output_file.hpp"
#include "tools/scenario_arguments.hpp"

namespace pipecast {
namespace {

/// An option that names a file, and the exporters that write it: by suffix where there are two.
struct OutputOption {
  const char* option;
  const char* value_name;
  const char* help;
  const char* exporter;
};

std::vector<OutputOption> output_options() {
  return {
      {"--json", "F.json", "write every figure of the run; - is the standard output", "json"},
      {"--trace", "F.json[.gz]", "write a Chrome trace, for Perfetto or chrome://tracing", "trace"},
      {"--timeline", "F.csv", "write the start and end of every task", "timeline"},
      {"--report", "F.html", "write a report to open in a browser", "html"},
      {"--svg", "F.svg", "write the pipeline diagram as papers print them", "svg"},
  };
}

/// Options whose exporter this build has.
std::vector<OutputOption> offered_outputs() {
  const std::vector<ExporterInfo> exporters = builtin_exporters();
  std::vector<OutputOption> offered = output_options();
  std::erase_if(offered, [&](const OutputOption& output) {
    return find_exporter(exporters, output.exporter) == nullptr;
  });
  return offered;
}

void declare_run(CLI::App& app) {
  value_option(app, "scenario", "SCENARIO", "a scenario file")->required();
  for (const OutputOption& output : offered_outputs())
    value_option(app, output.option, output.value_name, output.help);
  declare_trace_detail(app);
  value_option(app, "--engine", "NAME",
               "simgrid: messages share links (default); longest-path: they do not, microseconds "
               "per run")
      ->check(CLI::IsMember({"simgrid", "longest-path"}));
  declare_scenario_options(app);
  flag_option(app, "--quiet", "print nothing but errors");
}

struct Output {
  OutputFile file;
  const ExporterInfo* exporter;
};

/// Opens every file the command line names, before time is spent on the run.
Result<std::vector<Output>> open_outputs(const CLI::App& app,
                                         const std::vector<ExporterInfo>& exporters) {
  std::vector<Output> outputs;
  for (const OutputOption& option : offered_outputs()) {
    const std::optional<std::string> path = text_of(app, option.option);
    if (!path) continue;
    const bool repeated = std::any_of(outputs.begin(), outputs.end(), [&](const Output& output) {
      return output.file.path() == *path;
    });
    if (repeated) return fail(input_error("'" + *path + "' is named for two outputs"));
    Result<OutputFile> file = OutputFile::open(*path);
    if (!file) return fail(std::move(file.error()));
    const bool packed = path->ends_with(".gz");
    const bool coarse =
        option.exporter == std::string_view("trace") && text_of(app, "--trace-detail") == "coarse";
    const std::string exporter =
        std::string(option.exporter) + (coarse ? "-coarse" : "") + (packed ? "-gz" : "");
    const ExporterInfo* found = find_exporter(exporters, exporter);
    if (found == nullptr)
      return fail(input_error("'" + *path + "' asks for a compressed file, which " + option.option +
                              " does not write"));
    outputs.push_back({std::move(*file), found});
  }
  return outputs;
}

Result<void> write_outputs(std::vector<Output>& outputs, const RunView& view) {
  for (Output& output : outputs) {
    output.exporter->write(view, output.file.stream());
    if (Result<void> written = output.file.commit(); !written) return written;
    if (output.file.path() != "-") spdlog::info("wrote {}", output.file.path());
  }
  return {};
}

Engine engine_of(const CLI::App& app) {
  return text_of(app, "--engine") == "longest-path" ? Engine::LongestPath : Engine::Simgrid;
}

ExitCode act_run(const CLI::App& app, const Session& plain_session) {
  const auto overrides = overrides_of(app);
  if (!overrides) return report_usage(overrides.error());
  const Session session = with_presets(app, plain_session);
  const bool quiet = given(app, "--quiet");
  if (quiet) spdlog::set_level(spdlog::level::warn);

  const Result<Scenario> scenario =
      read_scenario_file(*text_of(app, "scenario"), session.context(), *overrides);
  if (!scenario) return report_faults(scenario.error());
  Result<PreparedRun> prepared = prepare(*scenario, session.context());
  if (!prepared) return report_faults(prepared.error());
  const std::vector<ExporterInfo> exporters = builtin_exporters();
  Result<std::vector<Output>> outputs = open_outputs(app, exporters);
  if (!outputs) return report_faults(outputs.error());

  spdlog::info("running {} tasks", prepared->graph.tasks.size());
  const Result<FinishedRun> run = execute(std::move(*prepared), engine_of(app));
  if (!run) return report_faults(run.error());
  RunView view = run->view();
  const std::string source = scenario_source(*text_of(app, "scenario"), *overrides);
  view.scenario_text = source;
  const bool stdout_taken = std::any_of(outputs->begin(), outputs->end(), [](const Output& output) {
    return output.file.path() == "-";
  });
  if (!quiet && !stdout_taken) write_text_summary(view, std::cout);
  if (Result<void> written = write_outputs(*outputs, view); !written)
    return report_faults(written.error());
  if (const Diagnostics faults = does_not_fit(view, scenario->where("platform")); !faults.empty())
    return report_faults(faults);
  return ExitCode::Done;
}

}  // namespace

Command run_command() {
  return {.name = "run",
          .summary = "forecast one step of a scenario: summary, trace, timeline",
          .example =
              "pipecast run scenarios/zero-bubble-1.5b.yaml --set pipeline.schedule=1f1b "
              "--json out.json",
          .declare = declare_run,
          .act = act_run};
}

}  // namespace pipecast
