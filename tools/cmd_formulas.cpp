#include <algorithm>
#include <iostream>
#include <utility>

#include "sim/study/formulas.hpp"
#include "tools/arguments.hpp"
#include "tools/commands.hpp"
#include "tools/console.hpp"
#include "tools/output_file.hpp"
#include "tools/schedule_arguments.hpp"

namespace pipecast {
namespace {

void declare_formulas(CLI::App& app) {
  value_option(app, "--schedules", "A,B,...", "only the forms of these schedules (default: all)");
  value_option(app, "--json", "F.json", "write every figure; - is the standard output");
  value_option(app, "--markdown", "F.md",
               "write the page docs/formulas.md; - is the standard output");
}

/// The schedules asked for, in the order of the registry.
Result<std::vector<ScheduleInfo>> chosen(const CLI::App& app, const Session& session) {
  const Result<std::vector<std::string>> wanted = named_schedules(app, session);
  if (!wanted) return fail(wanted.error());
  std::vector<ScheduleInfo> result;
  for (const ScheduleInfo& info : session.schedules)
    if (std::find(wanted->begin(), wanted->end(), info.name) != wanted->end())
      result.push_back(info);
  return result;
}

using Writer = void (*)(std::span<const FormulaFinding>, std::ostream&);

ExitCode act_formulas(const CLI::App& app, const Session& session) {
  const Result<std::vector<ScheduleInfo>> subjects = chosen(app, session);
  if (!subjects) return report_usage(subjects.error());
  const auto findings = check_formulas(*subjects, session.schedules, known_formulas());
  if (!findings) return report_faults(findings.error());
  bool stdout_taken = false;
  const std::pair<const char*, Writer> outputs[] = {{"--json", write_formulas_json},
                                                    {"--markdown", write_formulas_markdown}};
  for (const auto& [option, write] : outputs) {
    const auto path = text_of(app, option);
    if (!path) continue;
    stdout_taken = stdout_taken || *path == "-";
    const Result<void> written =
        write_output(*path, [&, write = write](std::ostream& out) { write(*findings, out); });
    if (!written) return report_faults(written.error());
  }
  if (!stdout_taken) write_formulas_text(*findings, std::cout);
  return ExitCode::Done;
}

}  // namespace

Command formulas_command() {
  return {.name = "formulas",
          .summary = "closed forms of bubble, span, memory and messages beside the simulation",
          .example = "pipecast formulas --schedules gpipe,1f1b",
          .declare = declare_formulas,
          .act = act_formulas};
}

}  // namespace pipecast
