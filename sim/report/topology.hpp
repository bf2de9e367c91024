#pragma once
#include <string>

#include "sim/model/platform.hpp"

namespace pipecast {

/// The fabric in words and numbers: devices, levels from the inside out with the way between two
/// devices that meet there, kinds of links with their number, bandwidth and latency, and a sketch
/// of what lies in what. Ends with a newline.
std::string topology_text(const Platform& platform);

/// A picture of the same: devices in their groups in their groups, or a grid for a torus. Large
/// groups show their first members and say how many more there are.
std::string topology_svg(const Platform& platform);

}  // namespace pipecast
