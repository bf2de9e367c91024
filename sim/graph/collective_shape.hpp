#pragma once
#include <cstdint>
#include <vector>

#include "sim/graph/collectives.hpp"

namespace pipecast {

/// The constants of a group's collectives.
struct GroupTunings {
  CollectiveTuning inside;
  CollectiveTuning across;
};

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
};

/// The group by innermost groups of the platform, in the order of the request.
struct GroupedDevices {
  std::vector<std::vector<DeviceId>> nodes;

  bool single() const { return nodes.size() == 1; }
  /// Every node has the same number of devices.
  bool even() const;
};

GroupedDevices grouped(const std::vector<DeviceId>& group, const Platform& platform);

/// Whether every two devices have wires of their own.
bool is_mesh(const std::vector<DeviceId>& group, const Platform& platform);

/// Number of edges of a shape, before it is built.
double edge_count(Collective kind, CollectiveAlgorithm algorithm, const GroupedDevices& devices);

CollectiveShape ring_shape(Collective kind, const GroupedDevices& devices);
CollectiveShape tree_shape(Collective kind, const GroupedDevices& devices);
/// `concurrent`: on a mesh; else each device sends one message after the other.
CollectiveShape direct_shape(Collective kind, const GroupedDevices& devices, bool concurrent);
CollectiveShape in_switch_shape(const GroupedDevices& devices, FabricPart part);
CollectiveShape hierarchical_shape(Collective kind, const GroupedDevices& devices,
                                   const GroupTunings& tunings);

}  // namespace pipecast
