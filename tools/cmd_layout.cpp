#include <fmt/format.h>

#include <iostream>

#include "sim/read/framework_run.hpp"
#include "sim/read/hf_config.hpp"
#include "sim/read/model_shape.hpp"
#include "sim/study/layout_report.hpp"
#include "tools/arguments.hpp"
#include "tools/commands.hpp"
#include "tools/console.hpp"
#include "tools/output_file.hpp"

namespace pipecast {
namespace {

void declare_source(CLI::App& app) {
  value_option(app, "file", "FILE",
               "Megatron arguments, a DeepSpeed JSON or a torchtitan configuration")
      ->required();
  integer_option(app, "--devices", "N", "devices in all, where the file does not say", 1, 1 << 24);
  integer_option(app, "--stages", "P", "pipeline stages, where the code decides them (DeepSpeed)",
                 1, 1 << 16);
  integer_option(app, "--vocabulary", "V", "tokens, where the tokenizer decides them", 1, 1 << 26);
  integer_option(app, "--sequence", "N", "tokens of a sequence, where the file does not say", 1,
                 1 << 26);
  value_option(app, "--model", "PRESET|config.json", "the model, where the file names none");
}

void declare_read(CLI::App& app) {
  declare_source(app);
  value_option(app, "--memory", "SIZE", "what a device reports, such as '80 GiB'");
  value_option(app, "--json", "F", "write it as JSON");
}

void declare_write(CLI::App& app) {
  declare_source(app);
  flag_option(app, "--megatron", "as arguments of Megatron");
  flag_option(app, "--deepspeed", "as DeepSpeed's JSON");
  value_option(app, "-o,--output", "F", "the file to write (default: the standard output)");
}

Result<FrameworkRun> source_of(const CLI::App& app, const Session& session) {
  FrameworkHints hints;
  hints.devices = integer_of(app, "--devices");
  hints.stages = integer_of(app, "--stages");
  hints.vocabulary = integer_of(app, "--vocabulary");
  hints.sequence = integer_of(app, "--sequence");
  if (const auto name = text_of(app, "--model")) {
    const Result<ModelShape> shape = name->ends_with(".json")
                                         ? read_hf_file(*name)
                                         : find_model_preset(*name, session.preset_folders);
    if (!shape) return fail(shape.error());
    hints.model = shape->model;
  }
  const std::string file = *text_of(app, "file");
  const auto text = read_text_file(file, kMaxYamlBytes);
  if (!text) return fail(text.error());
  return read_framework_run(*text, file, hints);
}

ExitCode act_read(const CLI::App& app, const Session& session) {
  const Result<FrameworkRun> run = source_of(app, session);
  if (!run) return report_faults(run.error());
  Bytes capacity;
  if (const auto memory = text_of(app, "--memory")) {
    const auto bytes = parse_quantity(*memory, Dimension::Memory);
    if (!bytes) return report_usage("--memory: " + bytes.error());
    capacity = {*bytes};
  }
  const Result<LayoutReport> report = layout_report(*run, session.schedules, capacity);
  if (!report) return report_faults(report.error());
  if (const auto json = text_of(app, "--json")) {
    const auto written =
        write_output(*json, [&](std::ostream& out) { write_layout_json(*report, out); });
    return written ? ExitCode::Done : report_faults(written.error());
  }
  write_layout_text(*report, std::cout);
  return ExitCode::Done;
}

ExitCode act_write(const CLI::App& app, const Session& session) {
  if (given(app, "--megatron") == given(app, "--deepspeed"))
    return report_usage("give one of --megatron and --deepspeed");
  const Result<FrameworkRun> run = source_of(app, session);
  if (!run) return report_faults(run.error());
  const Result<std::string> text =
      given(app, "--megatron") ? write_megatron_arguments(*run) : write_deepspeed_config(*run);
  if (!text) return report_faults(text.error());
  const auto written = write_output(text_of(app, "--output").value_or("-"),
                                    [&](std::ostream& out) { out << *text; });
  return written ? ExitCode::Done : report_faults(written.error());
}

}  // namespace

Command layout_command() {
  return {"layout",
          "layouts of other frameworks: read, and written as a launch line",
          "pipecast layout read run.sh --devices 64 --vocabulary 128256",
          nullptr,
          nullptr,
          {{"read", "Degrees, stages, batch arithmetic and memory per rank of a configuration",
            "pipecast layout read ds_config.json --devices 64 --stages 8 --model bloom-176b",
            declare_read, act_read},
           {"write", "The same configuration for another framework",
            "pipecast layout write run.sh --devices 64 --deepspeed", declare_write, act_write}}};
}

}  // namespace pipecast
