#pragma once
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "platforms/building.hpp"
#include "sim/base/fields.hpp"

namespace pipecast {

/// What clusters of nodes are described by. Every kind uses the fields it names and leaves the
/// others at their default. A latency is that of the whole way from device to device.
struct Cluster {
  int sites = 2;
  int nodes = 1;
  int domain_nodes = 1;
  int node_devices = 8;
  int node_cards = 0;
  std::string accelerator;
  Bytes memory;
  std::string scale_up = "switch";
  BytesPerSecond scale_up_bandwidth;
  double scale_up_achieved = 1;
  Seconds scale_up_latency;
  double domain_oversubscription = 1;
  Seconds domain_latency;
  BytesPerSecond card_bandwidth;
  double card_achieved = 1;
  int leaf_nodes = 32;
  int pod_nodes = 0;
  double leaf_oversubscription = 1;
  double spine_oversubscription = 1;
  Seconds leaf_latency;
  Seconds spine_latency;
  Seconds core_latency;
  std::string cross_rail = "scale-up";
  BytesPerSecond site_bandwidth;
  Seconds site_latency;
  Seconds collective_latency;
  double collective_achieved = 1;
  Bytes collective_half_size;
  bool in_switch_reduction = false;
  Seconds network_collective_latency;
  double network_collective_achieved = 1;
  Bytes network_collective_half_size;
  bool network_in_switch_reduction = false;
};

/// The rows of the field table with these names, in this order, then those of the collectives
/// inside the scale-up domain.
std::vector<Field<Cluster>> cluster_fields(std::initializer_list<std::string_view> names);

/// The same, then also those of the collectives across the network.
std::vector<Field<Cluster>> network_cluster_fields(std::initializer_list<std::string_view> names);

/// Those of the picked rows in which nodes may differ.
std::vector<NodeField> cluster_node_fields(const std::vector<Field<Cluster>>& fields);

using ClusterNodes = Nodes<Cluster>;

/// Devices, nodes of them, and the constants of their collectives; no links yet.
Platform start_platform(std::string name, const ClusterNodes& nodes);

/// Missing bandwidths among the kind's fields, too many devices, latencies that shrink outwards,
/// and groups that do not divide.
Diagnostics cluster_faults(std::string_view kind, const ClusterNodes& nodes,
                           const std::vector<Field<Cluster>>& fields);

/// The inner level of every node, a switch or a mesh.
LevelRouting node_levels(Platform& platform, const ClusterNodes& nodes);

/// [device] its scale-up port.
WireOf scale_up_wires(const ClusterNodes& nodes);
/// [card] its half of the way through one leaf; `node_cards` cards of a node follow each other.
WireOf card_wires(const ClusterNodes& nodes, int node_cards);
/// Nodes under one switch, and how many of its cards each has there.
struct CardsBelow {
  int first_node = 0;
  int nodes = 1;
  int node_cards = 1;
};
/// The uplinks of a leaf, of a pod.
Wire leaf_wire(const ClusterNodes& nodes, const CardsBelow& below);
Wire spine_wire(const ClusterNodes& nodes, const CardsBelow& below);

/// Nodes under one set of spines.
int pod_size(const Cluster& cluster);

}  // namespace pipecast
