#include "tools/console.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "sim/base/quantity.hpp"

namespace pipecast {

Color color_for(int file_descriptor) {
  const bool refused = std::getenv("NO_COLOR") != nullptr;
  return !refused && isatty(file_descriptor) == 1 ? Color::Ansi : Color::Plain;
}

int terminal_width() {
  constexpr std::int64_t kNarrowest = 40;
  constexpr std::int64_t kWidest = 1000;
  std::int64_t columns = 80;
  const char* wanted = std::getenv("COLUMNS");
  winsize size{};
  if (const auto number = parse_integer(wanted == nullptr ? "" : wanted); number && *number > 0)
    columns = *number;
  else if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    columns = size.ws_col;
  return static_cast<int>(std::clamp(columns, kNarrowest, kWidest));
}

ExitCode report_faults(const Diagnostics& faults) {
  std::cerr << render(faults, color_for(STDERR_FILENO));
  const bool input = std::any_of(faults.begin(), faults.end(), [](const Diagnostic& diagnostic) {
    return diagnostic.fault == Fault::Input;
  });
  return input ? ExitCode::Input : ExitCode::Infeasible;
}

ExitCode report_usage(std::string_view message) {
  std::cerr << "pipecast: " << message << "\n";
  return ExitCode::Usage;
}

}  // namespace pipecast
