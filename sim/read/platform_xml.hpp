#pragma once
#include <string>
#include <string_view>

#include "sim/base/diagnostic.hpp"
#include "sim/model/platform.hpp"

namespace pipecast {

/// Platforms whose routes are written out pair by pair have at most this many devices.
inline constexpr std::size_t kMaxExplicitDevices = 512;

/// More devices are not written to a file.
inline constexpr std::size_t kMaxXmlDevices = std::size_t{1} << 15U;

/// A SimGrid platform file → devices, links and the route of every ordered pair.
///
/// Read are zone (Full, None, Floyd, Dijkstra, DijkstraCache, Cluster), host, router, link, route,
/// link_ctn, zoneRoute, cluster without topology, and prop; `accelerator` (or `kind`) and `memory`
/// (or `hbm_bytes`, in bytes) of a host's props become the device's. `GBps` is bytes and `Gbps`
/// bits. A SPLITDUPLEX link becomes two, its ends named as SimGrid does, `_UP` and `_DOWN`. Routes
/// of Floyd and Dijkstra zones are those with the fewest links. Speeds are not read: durations come
/// from the scenario. Every fault has its line; SimGrid itself is not asked.
Result<Platform> read_platform_xml(std::string_view text, const std::string& file);

/// The platform as a SimGrid file; `speed` is what hosts get, SimGrid needs one. Up to
/// kMaxExplicitDevices it is one Full zone, a host per device and all routes. Larger ones are
/// written by their levels (see sim/read/xml_levels.hpp), at most kMaxXmlDevices and what is read
/// back; Infeasible otherwise.
Result<std::string> write_platform_xml(const Platform& platform, const std::string& speed = "1Gf");

/// The same by levels, whatever the size. Infeasible for a platform without levels.
Result<std::string> write_levels_xml(const Platform& platform, const std::string& speed = "1Gf");

}  // namespace pipecast
