#include <iostream>

#include "sim/study/serving_report.hpp"
#include "tools/arguments.hpp"
#include "tools/commands.hpp"
#include "tools/console.hpp"
#include "tools/output_file.hpp"

namespace pipecast {
namespace {

void declare_serve(CLI::App& app) {
  value_option(app, "file", "SERVE.yaml", "a serving file (docs/inference.md)")->required();
  value_option(app, "--json", "F", "write the figures as JSON");
  value_option(app, "--requests", "F.csv", "write what became of every request");
  flag_option(app, "--quiet", "print nothing");
}

ExitCode act_serve(const CLI::App& app, const Session& session) {
  const std::string file = *text_of(app, "file");
  const auto text = read_text_file(file, kMaxYamlBytes);
  if (!text) return report_faults(text.error());
  const auto scenario = read_serving_scenario(*text, file, session.preset_folders);
  if (!scenario) return report_faults(scenario.error());
  const auto report = serving_report(*scenario);
  if (!report) return report_faults(report.error());
  if (!given(app, "--quiet")) write_serving_text(*report, std::cout);
  using Writer = void (*)(const ServingReport&, std::ostream&);
  for (const auto& [option, write] : {std::pair<const char*, Writer>{"--json", write_serving_json},
                                      {"--requests", write_serving_csv}}) {
    const auto path = text_of(app, option);
    if (!path) continue;
    const auto written =
        write_output(*path, [&, write = write](std::ostream& out) { write(*report, out); });
    if (!written) return report_faults(written.error());
  }
  return ExitCode::Done;
}

}  // namespace

Command serve_command() {
  return {"serve", "inference: batch size against latency, request lists through a pipeline",
          "pipecast serve scenarios/serving/llama2-70b-chat.yaml", declare_serve, act_serve};
}

}  // namespace pipecast
