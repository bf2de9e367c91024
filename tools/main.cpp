#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iostream>
#include <new>
#include <system_error>

#include "tools/commands.hpp"
#include "tools/console.hpp"
#include "tools/preset_folders.hpp"

namespace pipecast {

std::vector<Command> builtin_commands() {
  std::vector<Command> commands;
  commands.push_back(run_command());
  commands.push_back(check_command());
  commands.push_back(compare_command());
  commands.push_back(validate_command());
  commands.push_back(schedule_command());
  commands.push_back(platform_command());
  commands.push_back(model_command());
  commands.push_back(formulas_command());
  commands.push_back(layout_command());
  commands.push_back(serve_command());
  commands.push_back(import_command());
  commands.push_back(sweep_command());
  commands.push_back(study_command());
  return commands;
}

namespace {

constexpr const char* kAbout =
    "Forecasts one step of pipeline-parallel training on a cluster that need not exist yet.";

void declare(CLI::App& parent, const std::vector<Command>& commands) {
  for (const Command& command : commands) {
    CLI::App* app = parent.add_subcommand(std::string(command.name), std::string(command.summary));
    app->footer("Example:\n  " + std::string(command.example));
    if (command.declare != nullptr) command.declare(*app);
    if (command.subcommands.empty()) continue;
    app->require_subcommand(1);
    declare(*app, command.subcommands);
  }
}

const Command* find(const std::vector<Command>& commands, std::string_view name) {
  for (const Command& command : commands)
    if (command.name == name) return &command;
  return nullptr;
}

/// A suggestion when a word stands where a command is expected and is none; else empty.
std::string unknown_command(int argc, const char* const* argv,
                            const std::vector<Command>& commands) {
  const std::vector<Command>* level = &commands;
  for (int i = 1; i < argc && !level->empty(); ++i) {
    const std::string_view word = argv[i];
    if (word.starts_with('-')) return {};
    const Command* command = find(*level, word);
    if (command == nullptr) {
      std::vector<std::string> names;
      for (const Command& known : *level) names.emplace_back(known.name);
      return "there is no command '" + std::string(word) + "'; " + suggest(word, names);
    }
    level = &command->subcommands;
  }
  return {};
}

ExitCode usage_error(const std::string& message) {
  std::cerr << "pipecast: " << message << "\nTry 'pipecast --help', or --help after a command.\n";
  return ExitCode::Usage;
}

/// The file that an option names and a positional argument too, or empty. Positional files are
/// read, so the option would have the command write over what it works on.
std::string file_named_twice(const CLI::App& command) {
  namespace fs = std::filesystem;
  std::error_code unknown;
  for (const CLI::Option* read :
       command.get_options([](const CLI::Option* option) { return option->get_positional(); }))
    for (const CLI::Option* other : command.get_options())
      if (other != read)
        for (const std::string& path : other->results())
          for (const std::string& input : read->results())
            if (fs::is_regular_file(path, unknown) && fs::equivalent(path, input, unknown))
              return path;
  return {};
}

ExitCode act(const CLI::App& app, const std::vector<Command>& commands, const Session& session) {
  const CLI::App* chosen = app.get_subcommands().front();
  const Command* command = find(commands, chosen->get_name());
  if (command->act == nullptr) return act(*chosen, command->subcommands, session);
  if (const std::string path = file_named_twice(*chosen); !path.empty())
    return usage_error("'" + path + "' is what the command reads; give its results another name");
  return command->act(*chosen, session);
}

/// The code, unless what was printed did not arrive.
ExitCode flushed(ExitCode code) {
  std::cout.flush();
  if (std::cout.good() || code != ExitCode::Done) return code;
  std::cerr << "pipecast: cannot write to the standard output\n";
  return ExitCode::Input;
}

ExitCode dispatch(int argc, const char* const* argv) {
  const std::vector<Command> commands = builtin_commands();
  CLI::App app{kAbout, "pipecast"};
  app.set_version_flag("--version", "pipecast " PIPECAST_VERSION);
  app.footer("Example:\n  pipecast run scenarios/zero-bubble-1.5b.yaml");
  app.require_subcommand(1);
  declare(app, commands);
  if (const std::string fault = unknown_command(argc, argv, commands); !fault.empty())
    return usage_error(fault);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help_or_version) {
    app.exit(help_or_version);
    return flushed(ExitCode::Done);
  } catch (const CLI::ParseError& error) {
    return usage_error(error.what());
  }
  const Session session{builtin_schedules(), builtin_platform_kinds(), preset_folders()};
  const ExitCode code = act(app, commands, session);
  return flushed(code);
}

/// A failed assertion has already printed the violated sentence.
extern "C" void end_as_our_bug(int) { _exit(static_cast<int>(ExitCode::Bug)); }

void log_to_stderr() {
  spdlog::set_default_logger(spdlog::stderr_color_mt("pipecast"));
  spdlog::set_pattern("%^%v%$");
}

}  // namespace
}  // namespace pipecast

int main(int argc, char** argv) {
  using pipecast::ExitCode;
  std::signal(SIGABRT, pipecast::end_as_our_bug);
  try {
    pipecast::log_to_stderr();
    return static_cast<int>(pipecast::dispatch(argc, argv));
  } catch (const std::bad_alloc&) {
    std::fputs("pipecast: out of memory\n", stderr);
    return static_cast<int>(ExitCode::Infeasible);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "pipecast: this is a bug in pipecast: %s\n", error.what());
    return static_cast<int>(ExitCode::Bug);
  }
}
