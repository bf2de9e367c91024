#pragma once
#include <string>
#include <vector>

#include "sim/base/diagnostic.hpp"
#include "sim/model/program.hpp"

namespace pipecast {

/// Shape and placement of a program whose `ranks` are filled in, from the compute operations; or a
/// sentence saying why there is none. A stage on several ranks makes the program bidirectional.
/// O(operations + stages · microbatches).
tl::expected<Program, std::string> with_inferred_placement(std::vector<std::vector<Op>> ranks);

}  // namespace pipecast
