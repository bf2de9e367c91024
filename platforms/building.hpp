#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/diagnostic.hpp"
#include "sim/base/quantity.hpp"
#include "sim/model/platform.hpp"

namespace pipecast {

/// More devices than this are refused before memory is taken for them.
constexpr int kMaxDevices = 1 << 20;

/// A wire as a data sheet gives it: line rate of one direction, the fraction of it that a flow
/// reaches, and the time of one traversal.
struct Wire {
  BytesPerSecond line_rate;
  double achieved = 1;
  Seconds latency;
};

/// The two links of a full-duplex wire, as seen from the device's end.
struct Duplex {
  LinkId up;
  LinkId down;
};

/// Adds the links `NAME up` and `NAME down`.
Duplex add_duplex(Platform& platform, const std::string& name, const Wire& wire,
                  Sharing sharing = Sharing::Shared);

/// Adds one link in one direction.
LinkId add_link(Platform& platform, std::string name, const Wire& wire,
                Sharing sharing = Sharing::Shared);

/// Nodes of equal devices, named `n0.d0 … n0.d7, n1.d0 …`; device = node × per_node + slot.
void add_nodes(Platform& platform, int nodes, int per_node, const std::string& accelerator,
               Bytes memory);

/// A level with `devices` empty entries, all in group 0.
RoutingLevel empty_level(std::string name, std::size_t devices);

/// The scale-up level: every device has its own wire to the switch of its node. `latency` of the
/// wire is that of the whole way between two devices; each half carries half.
RoutingLevel switch_level(Platform& platform, std::string name, int nodes, int per_node, Wire wire);

/// Lanes = slots of a node, units = nodes: device `slot` forwards for its whole node.
RelayLanes lanes_of_nodes(int nodes, int per_node);

/// The error for a field without a default that nobody gave.
Diagnostic missing_field(std::string_view kind, std::string_view field);

/// Faults every kind checks: a bandwidth that nobody gave (named), too many devices.
Diagnostics faults_of(std::string_view kind, double devices,
                      const std::vector<std::pair<std::string_view, BytesPerSecond>>& required);

}  // namespace pipecast
