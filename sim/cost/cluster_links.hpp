#pragma once
#include "sim/base/diagnostic.hpp"
#include "sim/cost/layout.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/replica_devices.hpp"

namespace pipecast {

/// A pipeline rank of a replica.
struct Place {
  int replica = 0;
  int rank = 0;
};

/// How the devices of one parallel group reach each other. Rates are bytes/s of one device in one
/// direction, already what collectives achieve.
struct GroupLink {
  int size = 1;
  int per_node = 1;     ///< members that meet at the innermost level
  double inside = 0;    ///< within a node; 0: nobody knows
  double across = 0;    ///< of a device's share of the network, where the group leaves the node
  double inside_s = 0;  ///< before the first byte of a collective
  double across_s = 0;

  bool known() const { return size == 1 || inside > 0 || across > 0; }
  bool leaves_node() const { return per_node < size; }
  bool operator==(const GroupLink&) const = default;
};

/// The groups of a device under a layout.
struct ClusterLinks {
  GroupLink tensor;
  GroupLink context;
  GroupLink expert;
  GroupLink data;         ///< data × context: all copies of a dense weight
  GroupLink expert_data;  ///< copies of an expert

  bool operator==(const ClusterLinks&) const = default;
};

/// The groups of the device that computes a pipeline rank of a replica, on devices of the platform
/// by their innermost groups `node_of`. O(devices of the groups). Errors: no route.
Result<ClusterLinks> cluster_links(const Platform& platform,
                                   const std::vector<std::int32_t>& node_of,
                                   const ParallelLayout& layout, const ReplicaDevices& placed,
                                   Place place);

/// The same where nothing is known but the layout: every collective takes no time.
ClusterLinks unknown_links(const ParallelLayout& layout);

/// Seconds of collectives; `bytes` is the whole buffer (the output of a gather, the input of a
/// scatter). Ring: latency + (n−1)/n × bytes ÷ rate, where a group that leaves the node streams
/// through the cards of all its members of a node at once.
double gather_seconds(const GroupLink& link, double bytes);
double all_reduce_seconds(const GroupLink& link, double bytes);
/// `bytes` leave every device, spread evenly over the group.
double exchange_seconds(const GroupLink& link, double bytes);

}  // namespace pipecast
