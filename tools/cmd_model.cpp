#include <fmt/format.h>

#include <filesystem>
#include <iostream>

#include "sim/cost/transformer.hpp"
#include "sim/read/hf_config.hpp"
#include "sim/read/model_shape.hpp"
#include "sim/study/model_report.hpp"
#include "tools/arguments.hpp"
#include "tools/commands.hpp"
#include "tools/console.hpp"
#include "tools/output_file.hpp"

namespace pipecast {
namespace {

/// A file ending in .json (or a folder with a config.json) is Hugging Face's, any other file one of
/// ours, and what is no file is a preset.
Result<ModelShape> model_of(const std::string& word, const Session& session) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (fs::is_directory(word, error) || fs::path(word).extension() == ".json")
    return read_hf_file(word);
  if (fs::path(word).extension() == ".yaml" || word.find('/') != std::string::npos) {
    const auto text = read_text_file(word, kMaxYamlBytes);
    if (!text) return fail(text.error());
    return read_model_preset(*text, word);
  }
  return find_model_preset(word, session.preset_folders);
}

ExitCode act_list(const CLI::App&, const Session& session) {
  for (const std::string& name : model_preset_names(session.preset_folders)) {
    const Result<ModelShape> shape = find_model_preset(name, session.preset_folders);
    if (!shape) return report_faults(shape.error());
    const TransformerModel& model = shape->model;
    std::cout << fmt::format("{:<20} {:>8.1f}B parameters, {:>3} layers, hidden {:>5}{}\n", name,
                             total_parameters(model) / 1e9, model.layers, model.hidden,
                             model.has_experts() ? ", experts" : "");
  }
  return ExitCode::Done;
}

void declare_show(CLI::App& app) {
  value_option(app, "model", "FILE|PRESET",
               "a Hugging Face config.json, a model file, or a preset of `model list`")
      ->required();
  value_option(app, "--json", "F", "write it as JSON");
}

ExitCode act_show(const CLI::App& app, const Session& session) {
  const Result<ModelShape> shape = model_of(*text_of(app, "model"), session);
  if (!shape) return report_faults(shape.error());
  const auto json = text_of(app, "--json");
  if (!json) {
    write_model_text(*shape, std::cout);
    return ExitCode::Done;
  }
  const Result<void> written =
      write_output(*json, [&](std::ostream& out) { write_model_json(*shape, out); });
  return written ? ExitCode::Done : report_faults(written.error());
}

}  // namespace

Command model_command() {
  return {"model",
          "shapes of transformers: presets and Hugging Face files",
          "pipecast model show llama3-8b",
          nullptr,
          nullptr,
          {{"list", "Every preset", "pipecast model list", nullptr, act_list},
           {"show", "Parameters in total and per layer", "pipecast model show llama3-8b",
            declare_show, act_show}}};
}

}  // namespace pipecast
