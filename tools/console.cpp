#include "tools/console.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "sim/base/quantity.hpp"

namespace pipecast {

namespace {

/// Characters of UTF-8 text, each taken as one column.
int columns_of(std::string_view text) {
  return static_cast<int>(std::count_if(text.begin(), text.end(), [](char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U;
  }));
}

}  // namespace

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

std::string wrapped(std::string_view text, int indent, int width) {
  std::string result;
  int used = width;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    const int columns = columns_of(word);
    if (used + 1 + columns > width) {
      result += (result.empty() ? "" : "\n") + std::string(static_cast<std::size_t>(indent), ' ');
      used = indent + columns;
    } else {
      result += ' ';
      used += 1 + columns;
    }
    result += word;
  }
  return result + '\n';
}

ExitCode report_faults(const Diagnostics& faults) {
  std::cerr << render(faults, color_for(STDERR_FILENO));
  const bool input = std::any_of(faults.begin(), faults.end(), [](const Diagnostic& diagnostic) {
    return diagnostic.fault == Fault::Input;
  });
  return input ? ExitCode::Input : ExitCode::Infeasible;
}

ExitCode report_usage(const Diagnostics& faults) {
  std::cerr << render(faults, color_for(STDERR_FILENO));
  return ExitCode::Usage;
}

ExitCode report_usage(std::string_view message) {
  std::cerr << "pipecast: " << message << "\n";
  return ExitCode::Usage;
}

}  // namespace pipecast
