#pragma once
#include <string>
#include <vector>

#include "sim/read/scenario.hpp"
#include "tools/arguments.hpp"
#include "tools/commands.hpp"

namespace pipecast {

/// `--presets`, for commands that read presets.
void declare_presets_option(CLI::App& app);

/// `--set` and `--presets`, which every command that reads scenarios has.
void declare_scenario_options(CLI::App& app);

/// `--trace-detail full|coarse`.
void declare_trace_detail(CLI::App& app);

/// The `--set key.path=value` texts; one without `=` is a sentence for report_usage().
tl::expected<std::vector<Override>, std::string> overrides_of(const CLI::App& app);

/// What the user wrote: the scenario file, and below it, as comments, what the command line
/// changed. Empty when the file cannot be read again.
std::string scenario_source(const std::string& path, const std::vector<Override>& overrides);

/// The session with the folders of `--presets` searched first.
Session with_presets(const CLI::App& app, Session session);

}  // namespace pipecast
