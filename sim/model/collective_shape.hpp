#pragma once
#include <cstdint>
#include <vector>

#include "sim/model/collectives.hpp"

namespace pipecast {

/// Which part of the fabric an edge of a collective uses.
enum class FabricPart : std::uint8_t { Inside, Across };

/// A stream between two devices: the share of the message it carries, and the edges (of this list)
/// that must have arrived before it.
struct CollectiveEdge {
  DeviceId from;
  DeviceId to;
  double share = 0;
  FabricPart part = FabricPart::Inside;
  std::vector<std::uint32_t> after = {};
};

/// A collective without bytes and seconds. `load` is what the busiest port of a device carries in
/// one direction per byte of the message, `hops` how many messages follow each other before the
/// last byte may flow; [part].
struct CollectiveShape {
  std::vector<CollectiveEdge> edges;
  double load[2] = {0, 0};
  int hops[2] = {0, 0};
  bool own_wires = false;  ///< inside, each pair has wires that no other pair uses
};

/// The group by innermost groups of the platform, in the order of the request.
struct GroupedDevices {
  std::vector<std::vector<DeviceId>> nodes;
  bool mesh = false;  ///< inside a node, every two devices have wires of their own

  bool single() const { return nodes.size() == 1; }
  /// Every node has the same number of devices.
  bool even() const;
};

GroupedDevices grouped(const std::vector<DeviceId>& group, const Platform& platform);

/// Whether every two of at least three devices have wires of their own.
bool is_mesh(const std::vector<DeviceId>& group, const Platform& platform);

/// Number of edges of a shape, before it is built.
double edge_count(Collective kind, CollectiveAlgorithm algorithm, const GroupedDevices& devices);

/// What a ring edge carries per byte of the message.
double ring_share(Collective kind, std::size_t devices);
/// Messages that follow each other around a ring.
int ring_hops(Collective kind, std::size_t devices);

CollectiveShape ring_shape(Collective kind, const GroupedDevices& devices);
CollectiveShape tree_shape(Collective kind, const GroupedDevices& devices);
/// Each device sends one message after the other inside its node, and at the same time one after
/// the other to other nodes, in such an order that no two of a step meet on a card or a port.
/// `concurrent`: all at once inside, on a mesh.
CollectiveShape direct_shape(Collective kind, const GroupedDevices& devices, bool concurrent);
CollectiveShape in_switch_shape(const GroupedDevices& devices, FabricPart part);
CollectiveShape hierarchical_shape(Collective kind, const GroupedDevices& devices,
                                   const Platform& platform);

}  // namespace pipecast
