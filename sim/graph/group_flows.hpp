#pragma once
#include <vector>

#include "sim/base/diagnostic.hpp"
#include "sim/model/collective.hpp"
#include "sim/model/platform.hpp"

namespace pipecast {

/// A stream of an exchange inside operations.
struct GroupFlow {
  DeviceId from;
  DeviceId to;
  double wire = 0;  ///< bytes on the wire per byte of the exchange
  Route way;
  double wire_s = 0;  ///< seconds per byte on the wire when only this exchange is on the links

  /// Route latency and the bytes of an exchange, on links that only it uses.
  double alone_s(double bytes) const { return way.latency.value + bytes * wire * wire_s; }
};

/// The flows of one exchange, which stands for many collectives one after the other: at most one
/// per pair of devices, with the loads that the collectives put on each device's links. Rings carry
/// (n−1)/n of the bytes to the next device (all-reduce twice that); where they cross nodes, each
/// device's share of the crossing. All-to-all goes to the next device inside the node, which loads
/// ports alike, and from slot to slot between every two nodes; pair by pair on a mesh and where
/// nodes have different numbers of devices. Wires carry what collectives do not achieve besides.
///
/// wire_s bounds what max-min fair sharing leaves a flow among those of its exchange: the equal
/// share of its most crowded link, or all of its narrowest. O(flows · hops). Errors: no route.
Result<std::vector<GroupFlow>> group_flows(Collective kind, const std::vector<DeviceId>& group,
                                           const Platform& platform);

}  // namespace pipecast
