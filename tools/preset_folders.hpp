#pragma once
#include <string>
#include <vector>

namespace pipecast {

/// Where `preset: NAME` is looked up: beside an installed program (`../share/pipecast/platforms`),
/// else the source tree this program was built from.
std::vector<std::string> preset_folders();

}  // namespace pipecast
