#pragma once
#include "sim/model/imperfections.hpp"
#include "sim/read/yaml_cursor.hpp"

namespace pipecast {

/// `imperfections:` of a scenario: slow devices, degraded links, jitter. Devices and links are held
/// against the platform later, when it is made.
Imperfections read_imperfections(const YamlCursor& block);

}  // namespace pipecast
