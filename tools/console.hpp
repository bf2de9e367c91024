#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "sim/base/diagnostic.hpp"
#include "tools/commands.hpp"

namespace pipecast {

/// Whether colour goes to a file descriptor: it is a terminal and NO_COLOR is not set.
Color color_for(int file_descriptor);

/// Columns of the terminal: COLUMNS if it is a number, else what the terminal on stdout says, else
/// 80. Between 40 and 1000.
int terminal_width();

/// Words of `text` on lines of at most `width` columns (a longer word keeps its line), each begun
/// by `indent` spaces. Ends with a newline.
std::string wrapped(std::string_view text, int indent, int width);

/// Renders the faults on stderr. Input when any of them is the input's, else Infeasible.
ExitCode report_faults(const Diagnostics& faults);

/// The same for one sentence about the command line, such as a malformed `--param`.
ExitCode report_usage(std::string_view message);

/// Renders what is wrong with the value of an option on stderr.
ExitCode report_usage(const Diagnostics& faults);

}  // namespace pipecast
