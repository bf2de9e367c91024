#pragma once
#include "tools/commands.hpp"

namespace pipecast {

/// `pipecast schedule show`: a schedule drawn in the terminal, with its closed-form quantities.
Command schedule_show_command();

}  // namespace pipecast
