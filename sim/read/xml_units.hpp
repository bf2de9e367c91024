#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/quantity.hpp"

namespace pipecast {

/// SimGrid's bandwidths: `450GBps` (bytes), `400Gbps` (bits), `50GiBps`, `50Gibps`; a bare number
/// is bytes per second. Base unit: bytes per second.
tl::expected<double, std::string> parse_simgrid_bandwidth(std::string_view text);

/// SimGrid's times: ps, ns, us, ms, s, m, h; a bare number is seconds.
tl::expected<double, std::string> parse_simgrid_time(std::string_view text);

/// The numbers of a cluster's hosts: `0-3,10` → 0, 1, 2, 3, 10. At most `most` of them.
tl::expected<std::vector<std::int64_t>, std::string> parse_radical(const std::string& text,
                                                                   std::size_t most);

}  // namespace pipecast
