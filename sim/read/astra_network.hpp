#pragma once
#include <string>
#include <string_view>

#include "sim/base/diagnostic.hpp"
#include "sim/model/platform.hpp"

namespace pipecast {

/// ASTRA-sim's network file → a platform: `topology`, `npus_count`, `bandwidth` and `latency`, four
/// lists of equal length, one entry per dimension, innermost first.
///
/// `Switch`: a full-duplex wire from every NPU to a switch (a way crosses two); `Ring`: wires to
/// both neighbours, the shorter way round; `FullyConnected`: a wire for every ordered pair.
/// Bandwidth is per wire and direction with 1 GB = 2^30 bytes, as ASTRA-sim's network code counts;
/// latency is in nanoseconds per wire. A message between NPUs that differ in several dimensions
/// goes through the inner ones first.
Result<Platform> read_astra_network(std::string_view text, const std::string& file);

/// Whether the text has the keys of such a file; says nothing about their values.
bool looks_like_astra_network(std::string_view text);

}  // namespace pipecast
