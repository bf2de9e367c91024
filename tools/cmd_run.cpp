#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <iostream>
#include <vector>

#include "sim/report/exporters.hpp"
#include "sim/study/simulate.hpp"
#include "tools/commands.hpp"
#include "tools/console.hpp"
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

/// A result like any other, but one that no machine can have: said at the end, with its exit code.
Diagnostics does_not_fit(const RunView& run, const SourceSpan& platform) {
  std::vector<RankSummary> ranks = run.summary.ranks;
  // A model's memory is known part by part, buffers and allowances included.
  for (std::size_t rank = 0; rank < run.footprints.size(); ++rank) {
    ranks[rank].peak_memory = run.footprints[rank].needed;
    ranks[rank].fits = run.footprints[rank].fits;
  }
  const auto over = [](const RankSummary& rank) { return !rank.fits; };
  const auto count = std::count_if(ranks.begin(), ranks.end(), over);
  if (count == 0) return {};
  const RankSummary& worst =
      *std::max_element(ranks.begin(), ranks.end(), [](const RankSummary& a, const RankSummary& b) {
        return a.peak_memory - a.capacity < b.peak_memory - b.capacity;
      });
  return {infeasible(fmt::format("{} of {} ranks need more memory than their device has; rank {} "
                                 "needs {} of {}",
                                 count, ranks.size(), worst.rank.value, format(worst.peak_memory),
                                 format(worst.capacity)),
                     "more ranks or chunks, another schedule, or recomputation", platform)};
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
