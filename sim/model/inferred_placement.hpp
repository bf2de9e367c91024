#pragma once
#include <string>
#include <vector>

#include "sim/base/diagnostic.hpp"
#include "sim/model/program.hpp"

namespace pipecast {

/// Shape and placement of a program whose `ranks` are filled in, from the compute operations; or
/// why there is none, at a cell that shows it. A stage on several ranks makes the program
/// bidirectional. O(operations + stages · microbatches).
tl::expected<Program, Violation> with_inferred_placement(std::vector<std::vector<Op>> ranks);

}  // namespace pipecast
