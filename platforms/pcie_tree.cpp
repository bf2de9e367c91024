#include <fmt/format.h>

#include <array>

#include "platforms/building.hpp"
#include "platforms/catalogue.hpp"

namespace pipecast {
namespace {

struct Tree {
  int nodes = 1;
  int sockets = 2;
  int socket_switches = 1;
  int switch_devices = 4;
  std::string accelerator;
  Bytes memory;
  BytesPerSecond device_bandwidth;
  double device_achieved = 1;
  BytesPerSecond uplink_bandwidth;
  BytesPerSecond socket_bandwidth;
  Seconds switch_latency;
  Seconds socket_latency;
  Seconds node_latency;
  BytesPerSecond card_bandwidth;
  double card_achieved = 1;
  Seconds card_latency;
};

std::array<Field<Tree>, 16> fields() {
  return {{
      {"nodes", &Tree::nodes, "nodes; with more than one each switch has a network card", 1,
       kMaxDevices},
      {"sockets", &Tree::sockets, "processor sockets of a node", 1, 8},
      {"socket_switches", &Tree::socket_switches, "PCIe switches of a socket", 1, 16},
      {"switch_devices", &Tree::switch_devices, "devices of a PCIe switch", 1, 64},
      {"accelerator", &Tree::accelerator, "catalogue name of the device"},
      {"memory", &Tree::memory, "device memory as the system reports it; 0 B: not known"},
      {"device_bandwidth", &Tree::device_bandwidth, "line rate of a device's slot, one direction",
       1},
      {"device_achieved", &Tree::device_achieved, "fraction of a slot that a flow reaches", 1e-3,
       1},
      {"uplink_bandwidth", &Tree::uplink_bandwidth, "line rate from a switch to its socket", 1},
      {"socket_bandwidth", &Tree::socket_bandwidth, "line rate from a socket to the others", 1},
      {"switch_latency", &Tree::switch_latency, "from device to device below one switch", 0, 1},
      {"socket_latency", &Tree::socket_latency, "from device to device of one socket", 0, 1},
      {"node_latency", &Tree::node_latency, "from device to device of two sockets", 0, 1},
      {"card_bandwidth", &Tree::card_bandwidth, "line rate of a switch's network card; 0: none", 0},
      {"card_achieved", &Tree::card_achieved, "fraction of a card that a flow reaches", 1e-3, 1},
      {"card_latency", &Tree::card_latency, "from device to device of two nodes", 0, 1},
  }};
}

Diagnostics faults_of(const Tree& tree, double devices) {
  Diagnostics faults = device_faults("pcie-tree", devices);
  if (!(tree.device_bandwidth.value > 0))
    faults.push_back(missing_field("pcie-tree", "device_bandwidth"));
  if (!(tree.uplink_bandwidth.value > 0))
    faults.push_back(missing_field("pcie-tree", "uplink_bandwidth"));
  if (tree.sockets > 1 && !(tree.socket_bandwidth.value > 0))
    faults.push_back(missing_field("pcie-tree", "socket_bandwidth"));
  if (tree.nodes > 1 && !(tree.card_bandwidth.value > 0))
    faults.push_back(missing_field("pcie-tree", "card_bandwidth"));
  if (tree.socket_latency < tree.switch_latency || tree.node_latency < tree.socket_latency ||
      (tree.nodes > 1 && tree.card_latency < tree.switch_latency))
    faults.push_back(input_error("a latency further out is less than one further in",
                                 "switch_latency ≤ socket_latency ≤ node_latency, and "
                                 "switch_latency ≤ card_latency"));
  return faults;
}

/// Devices meet at their switch, at their socket, or over the link between the sockets.
LevelRouting node_levels(Platform& platform, const Tree& tree, const RoutingLevel& slot) {
  LevelRouting routing;
  const int per_switch = tree.switch_devices;
  const int per_socket = tree.socket_switches * per_switch;
  const auto switch_name = [&](int number) {
    return fmt::format("n{}.x{} uplink", number / (tree.sockets * tree.socket_switches),
                       number % (tree.sockets * tree.socket_switches));
  };
  const auto socket_name = [&](int number) {
    return fmt::format("n{}.s{} socket", number / tree.sockets, number % tree.sockets);
  };
  RoutingLevel way = slot;
  routing.levels.push_back(meeting(way, "switch", blocks(platform, per_switch)));
  if (tree.sockets * tree.socket_switches == 1) return routing;
  extend_way(platform, way, blocks(platform, per_switch), switch_name,
             always({tree.uplink_bandwidth, tree.device_achieved,
                     (tree.socket_latency - tree.switch_latency) / 2}));
  routing.levels.push_back(meeting(way, "socket", blocks(platform, per_socket)));
  if (tree.sockets == 1) return routing;
  extend_way(platform, way, blocks(platform, per_socket), socket_name,
             always({tree.socket_bandwidth, 1, (tree.node_latency - tree.socket_latency) / 2}));
  routing.levels.push_back(meeting(way, "node", blocks(platform, per_socket * tree.sockets)));
  return routing;
}

Result<Platform> expand(const FieldValues& values, std::span<const NodePart> parts) {
  const Nodes<Tree> nodes(fields(), values, parts);
  const Tree& tree = nodes.machine();
  const double per_node = double{1} * tree.sockets * tree.socket_switches * tree.switch_devices;
  Diagnostics faults = faults_of(tree, tree.nodes * per_node);
  if (!faults.empty()) return fail(std::move(faults));
  Platform platform;
  platform.name = "pcie-tree";
  add_nodes(platform, tree.nodes, static_cast<int>(per_node), [&](int node) {
    return Device{{}, nodes.of(node).accelerator, nodes.of(node).memory, 1.0};
  });
  RoutingLevel slot = empty_level("", platform.devices.size());
  extend_each(platform, slot, "slot", [&](int device) {
    const Tree& own = nodes.of(device / static_cast<int>(per_node));
    return Wire{own.device_bandwidth, own.device_achieved, tree.switch_latency / 2};
  });
  LevelRouting routing = node_levels(platform, tree, slot);
  if (tree.nodes > 1) {
    const int switches = tree.sockets * tree.socket_switches;
    extend_way(
        platform, slot, blocks(platform, tree.switch_devices),
        [&](int card) { return fmt::format("n{}.x{} card", card / switches, card % switches); },
        [&](int card) {
          const Tree& own = nodes.of(card / switches);
          return Wire{own.card_bandwidth, own.card_achieved,
                      (tree.card_latency - tree.switch_latency) / 2};
        });
    routing.levels.push_back(
        meeting(slot, "network", std::vector<std::int32_t>(platform.devices.size(), 0)));
  }
  platform.routing = std::move(routing);
  return platform;
}

}  // namespace

PlatformKind pcie_tree_kind() {
  return {"pcie-tree",
          "devices on PCIe switches below sockets; one network card per switch between nodes",
          describe<Tree>(fields()),
          expand,
          "nodes",
          {{"memory", NodeField::Otherwise::Catalogue, Property::MemoryReported},
           {"device_bandwidth", NodeField::Otherwise::Catalogue, Property::PcieBandwidth},
           {"device_achieved", NodeField::Otherwise::Machine},
           {"card_bandwidth", NodeField::Otherwise::Machine},
           {"card_achieved", NodeField::Otherwise::Machine}}};
}

}  // namespace pipecast
