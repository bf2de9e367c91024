#pragma once
#include <vector>

#include "sim/read/scenario_parts.hpp"

namespace pipecast {

/// `accelerators:` of a machine: entries `{nodes: 4-7, accelerator: ID}` or `{nodes: [0, 2],
/// preset: NAME}`, with any node field of the kind beside it. Nodes that no entry names are as
/// `values` say. What an entry leaves out is the preset's; with an accelerator it is what the
/// catalogue says of it, the kind's default or the machine's, as the kind's node fields tell.
/// Faults: ranges outside the machine or in two entries, and numbers that the catalogue does not
/// know.
std::vector<NodePart> read_platform_parts(const YamlCursor& platform, const PlatformKind& kind,
                                          const FieldValues& values, const ReadContext& context,
                                          FaultList& faults);

}  // namespace pipecast
