#include <iostream>

#include "sim/study/compare.hpp"
#include "sim/study/compare_report.hpp"
#include "tools/commands.hpp"
#include "tools/console.hpp"
#include "tools/output_file.hpp"
#include "tools/scenario_arguments.hpp"

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
  value_option(app, "--engine", "NAME", "simgrid (default) or longest-path")
      ->check(CLI::IsMember({"simgrid", "longest-path"}));
  declare_scenario_options(app);
}

tl::expected<CompareOptions, std::string> compare_options(const CLI::App& app) {
  CompareOptions options;
  if (const auto names = text_of(app, "--schedules")) options.schedules = listed(*names);
  if (text_of(app, "--engine") == "longest-path") options.engine = Engine::LongestPath;
  if (const auto text = text_of(app, "--memory-limit")) {
    const auto bytes = parse_quantity(*text, Dimension::Memory);
    if (!bytes) return tl::unexpected("--memory-limit: " + bytes.error());
    options.activation_limit = Bytes{*bytes};
  }
  return options;
}

ExitCode act_compare(const CLI::App& app, const Session& plain_session) {
  const auto overrides = overrides_of(app);
  if (!overrides) return report_usage(overrides.error());
  const auto options = compare_options(app);
  if (!options) return report_usage(options.error());
  const Session session = with_presets(app, plain_session);
  const Result<Scenario> scenario =
      read_scenario_file(*text_of(app, "scenario"), session.context(), *overrides);
  if (!scenario) return report_faults(scenario.error());
  const Result<std::vector<CompareRow>> rows = compare(*scenario, session.context(), *options);
  if (!rows) return report_faults(rows.error());
  const auto json = text_of(app, "--json");
  if (json != "-") write_compare_text(*rows, std::cout);
  if (json) {
    const Result<void> written = write_output(*json, [&](std::ostream& out) {
      write_compare_json(*rows, scenario->name, engine_name(options->engine), out);
    });
    if (!written) return report_faults(written.error());
  }
  const bool any = std::any_of(rows->begin(), rows->end(),
                               [](const CompareRow& row) { return row.refused.empty(); });
  return any ? ExitCode::Done : ExitCode::Infeasible;
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
