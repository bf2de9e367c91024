#pragma once
#include <string_view>

#include "sim/model/platform.hpp"
#include "sim/read/xml_builder.hpp"
#include "sim/read/xml_tree.hpp"
#include "sim/read/xml_zone_graph.hpp"

namespace pipecast {

/// How levels stand in a file. write_levels_xml makes one Dijkstra zone of them, with a number of
/// elements that grows with the devices and not with their pairs. Every meeting point is two
/// routers, `NAME k.g.l up` and `… down`: level k, group g, lane l. Devices climb to `up`; from
/// `down` a way leads to `DEVICE door` and through it into the device. The door also climbs at
/// levels with lanes, which is how the device forwards for its unit.
///
/// SimGrid takes the way with the fewest links, so links of no latency and no limit stand where a
/// way would otherwise have a rival: at a meeting point, that inner levels come first; at a door,
/// that no way leads through another device. Their names end in ` toll`.
inline constexpr std::string_view kTollEnd = " toll";

/// Whether the zone says that it was written so.
bool tells_levels(const XmlNode& zone);

/// The levels of such a zone, and its tolls taken out of the platform's links. What does not fit is
/// a fault at its element. O(devices · levels).
LevelRouting read_levels(XmlBuilder& build, const XmlNode& zone);

/// The fits of the platform's collectives among the zone's properties.
void read_collectives(XmlBuilder& build, const XmlNode& zone);

}  // namespace pipecast
