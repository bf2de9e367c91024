#include <fmt/format.h>

#include <iostream>

#include "sim/read/text_file.hpp"
#include "sim/study/validation.hpp"
#include "tools/arguments.hpp"
#include "tools/commands.hpp"
#include "tools/console.hpp"
#include "tools/output_file.hpp"
#include "tools/scenario_arguments.hpp"

namespace pipecast {
namespace {

void declare_validate(CLI::App& app) {
  value_option(app, "files", "FILE...", "files of published runs (tests/published/data/runs)")
      ->required()
      ->expected(1, 1000)
      ->allow_extra_args();
  value_option(app, "--out", "F.md", "write the whole page; - is the standard output");
  declare_scenario_options(app);
}

Result<ValidationSource> validated_file(const std::string& path, const ReadContext& context,
                                        const std::vector<Override>& overrides) {
  const auto text = read_text_file(path, kMaxYamlBytes);
  if (!text) return fail(text.error());
  Result<PublishedSource> source = read_published_runs(*text, path, context, overrides);
  if (!source) return fail(std::move(source.error()));
  return validate(std::move(*source), context);
}

void print_source(const ValidationSource& source) {
  std::cout << fmt::format("{}: {} rows, mean absolute error {:.1f} %, worst {:+.1f} %",
                           source.source.source, source.counted, 100 * source.mean_absolute_error,
                           100 * source.worst_error);
  if (source.ratios > 0)
    std::cout << fmt::format("; {} ratios, mean {:.1f} %, worst {:+.1f} %", source.ratios,
                             100 * source.mean_absolute_ratio_error,
                             100 * source.worst_ratio_error);
  std::cout << "\n";
}

ExitCode act_validate(const CLI::App& app, const Session& plain_session) {
  const Session session = with_presets(app, plain_session);
  const auto overrides = overrides_of(app);
  if (!overrides) return report_usage(overrides.error());
  std::vector<ValidationSource> sources;
  for (const std::string& path : texts_of(app, "files")) {
    Result<ValidationSource> source = validated_file(path, session.context(), *overrides);
    if (!source) return report_faults(source.error());
    sources.push_back(std::move(*source));
  }
  const auto out = text_of(app, "--out");
  if (out != "-")
    for (const ValidationSource& source : sources) print_source(source);
  if (!out) return ExitCode::Done;
  const std::string page = validation_page(sources, constants_table(sources, session.context()));
  const Result<void> written = write_output(*out, [&](std::ostream& stream) { stream << page; });
  return written ? ExitCode::Done : report_faults(written.error());
}

}  // namespace

Command validate_command() {
  return {.name = "validate",
          .summary = "predictions beside published runs",
          .example = "pipecast validate tests/published/data/runs/korthikanti.yaml --out -",
          .declare = declare_validate,
          .act = act_validate};
}

}  // namespace pipecast
