#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "platforms/platform_kind.hpp"
#include "schedules/schedule.hpp"
#include "sim/read/scenario.hpp"

namespace CLI {
class App;
}

namespace pipecast {

/// What the shell is told; scripts depend on the numbers.
enum class ExitCode : int {
  Done = 0,
  Input = 1,       ///< the user's input is wrong
  Usage = 2,       ///< the command line is wrong
  Infeasible = 3,  ///< the input is fine and cannot be met: memory, shape, deadlock
  Bug = 70,        ///< ours
  Stopped = 130,   ///< a signal ended a job that can be resumed
};

/// What every command needs: the registries and the folders of the presets.
struct Session {
  std::vector<ScheduleInfo> schedules;
  std::vector<PlatformKind> platform_kinds;
  std::vector<std::string> preset_folders;

  ReadContext context() const { return {schedules, platform_kinds, preset_folders}; }
};

/// A row of the command table. A new command is a file cmd_x.cpp and a row in builtin_commands().
struct Command {
  std::string_view name;
  std::string_view summary;  ///< one line
  std::string_view example;  ///< a command line that works
  void (*declare)(CLI::App& app) = nullptr;
  ExitCode (*act)(const CLI::App& app, const Session& session) = nullptr;
  std::vector<Command> subcommands = {};  ///< a command with these only leads to one of them
};

Command run_command();
Command check_command();
Command compare_command();
Command validate_command();
Command schedule_command();
Command model_command();
Command layout_command();
Command serve_command();
Command platform_command();
Command formulas_command();
Command import_command();
Command sweep_command();
Command study_command();

/// Every command, in the order of the help text.
std::vector<Command> builtin_commands();

}  // namespace pipecast
