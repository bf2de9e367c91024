#include "tools/scenario_arguments.hpp"

namespace pipecast {

void declare_scenario_options(CLI::App& app) {
  value_option(app, "--set", "KEY.PATH=VALUE",
               "change one value of the scenario, such as pipeline.microbatches=32; repeatable")
      ->allow_extra_args(false)
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  value_option(app, "--presets", "DIR", "look for platform presets here first; repeatable")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
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

Session with_presets(const CLI::App& app, Session session) {
  std::vector<std::string> folders = texts_of(app, "--presets");
  session.preset_folders.insert(session.preset_folders.begin(), folders.begin(), folders.end());
  return session;
}

}  // namespace pipecast
