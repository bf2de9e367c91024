#include "tools/scenario_arguments.hpp"

#include "sim/read/text_file.hpp"

namespace pipecast {

void declare_presets_option(CLI::App& app) {
  value_option(app, "--presets", "DIR", "look for platform presets here first; repeatable")
      ->allow_extra_args(false)
      ->check(CLI::ExistingDirectory)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void declare_scenario_options(CLI::App& app) {
  value_option(app, "--set", "KEY.PATH=VALUE",
               "change one value of the scenario, such as pipeline.microbatches=32; repeatable")
      ->allow_extra_args(false)
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  declare_presets_option(app);
}

void declare_trace_detail(CLI::App& app) {
  value_option(app, "--trace-detail", "NAME",
               "of the Chrome trace: full (default); coarse: under 50 MB for a million tasks, no "
               "messages")
      ->check(CLI::IsMember({"full", "coarse"}));
}

tl::expected<std::vector<Override>, std::string> overrides_of(const CLI::App& app) {
  std::vector<Override> overrides;
  for (const std::string& text : texts_of(app, "--set")) {
    std::optional<KeyValue> pair = key_value(text);
    if (!pair)
      return tl::unexpected("--set '" + text + "' is not KEY.PATH=VALUE, such as " +
                            "--set pipeline.microbatches=32");
    overrides.push_back({std::move(pair->key), std::move(pair->value)});
  }
  return overrides;
}

std::string scenario_source(const std::string& path, const std::vector<Override>& overrides) {
  std::string text = read_text_file(path, kMaxYamlBytes).value_or("");
  if (!overrides.empty()) text += "\n# changed on the command line\n";
  for (const Override& change : overrides)
    text += "# --set " + change.key_path + "=" + change.value + "\n";
  return text;
}

Session with_presets(const CLI::App& app, Session session) {
  std::vector<std::string> folders = texts_of(app, "--presets");
  session.preset_folders.insert(session.preset_folders.begin(), folders.begin(), folders.end());
  return session;
}

}  // namespace pipecast
