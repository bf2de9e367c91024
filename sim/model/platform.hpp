#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "sim/base/diagnostic.hpp"
#include "sim/base/quantity.hpp"
#include "sim/model/ids.hpp"

namespace pipecast {

/// A GPU or NPU. Zero bytes of memory means that the platform does not say.
struct Device {
  std::string name;
  std::string accelerator;  ///< catalogue name; empty when the platform does not say
  Bytes memory;
  double slowdown = 1.0;  ///< compute durations on this device are multiplied by it

  bool operator==(const Device&) const = default;
};

enum class Sharing : std::uint8_t {
  Shared,   ///< flows share the bandwidth, max–min fair
  FatPipe,  ///< every flow gets the whole bandwidth
};

/// One direction of a wire. Full duplex is two links.
struct Link {
  std::string name;
  Seconds latency;
  BytesPerSecond bandwidth;  ///< what a flow can achieve, protocol losses already taken off
  Sharing sharing = Sharing::Shared;

  bool operator==(const Link&) const = default;
};

/// Lanes of a level: a device reaches another lane by first going to the device of that lane in its
/// own unit (a node, say), over the levels further in. This is how traffic between rails or planes
/// is forwarded over NVLink. Empty: every device climbs by itself.
struct RelayLanes {
  std::vector<std::int32_t> unit_of;           ///< [device]
  std::vector<std::int32_t> lane_of;           ///< [device]
  std::vector<std::vector<DeviceId>> members;  ///< [unit][lane]

  bool empty() const { return lane_of.empty(); }
  bool operator==(const RelayLanes&) const = default;
};

/// A hierarchy of meeting points: devices that share a group at a level reach each other by
/// climbing the sender's links of that level and descending the receiver's. The first level where
/// they meet is used, so NVLink nodes, rails, leaf–spine fabrics and multi-node domains are all
/// lists of levels.
struct RoutingLevel {
  std::string name;                        ///< what the level is, e.g. "NVLink", "rail", "spine"
  std::vector<std::int32_t> group_of;      ///< [device]
  std::vector<std::vector<LinkId>> climb;  ///< [device] links from the device to the meeting point
  std::vector<std::vector<LinkId>>
      descend;  ///< [device] links from the meeting point to the device
  std::map<std::pair<DeviceId, DeviceId>, std::vector<LinkId>> direct =
      {};  ///< pairs with wires of their own (a mesh); they do not climb
  RelayLanes lanes = {};

  bool operator==(const RoutingLevel&) const = default;
};

struct LevelRouting {
  std::vector<RoutingLevel> levels;  ///< innermost first
  bool operator==(const LevelRouting&) const = default;
};

/// Every pair uses the same links.
struct UniformRouting {
  std::vector<LinkId> links;
  bool operator==(const UniformRouting&) const = default;
};

/// A route written out per ordered pair of devices.
struct ExplicitRouting {
  std::map<std::pair<DeviceId, DeviceId>, std::vector<LinkId>> routes;
  bool operator==(const ExplicitRouting&) const = default;
};

/// Devices on a grid, each wired to its neighbours; several equal grids in a row. A route goes
/// dimension by dimension, the first dimension first, each the shorter way round (forward when both
/// are equal).
struct TorusRouting {
  std::vector<std::int32_t> shape;  ///< devices per dimension; the last one varies fastest
  std::vector<LinkId> forward;   ///< [device × dimensions + d] to the next device of d; −1: none
  std::vector<LinkId> backward;  ///< the same to the device before
  std::vector<RoutingLevel> outside = {};  ///< between devices of different grids

  bool operator==(const TorusRouting&) const = default;
};

using Routing = std::variant<UniformRouting, LevelRouting, ExplicitRouting, TorusRouting>;

/// How fast collectives run on a part of the fabric, as a fit to a sweep of message sizes gives it.
struct CollectiveTuning {
  Seconds latency;         ///< of a tiny collective; 0: not fitted, every hop takes its latency
  double achieved = 1;     ///< fraction of the links' bandwidth that a huge one reaches
  Bytes half_size;         ///< size at which the large-message protocol takes twice its wire time
  bool in_switch = false;  ///< the switches add up and multiply (NVLS, SHARP)

  bool operator==(const CollectiveTuning&) const = default;
};

/// Devices, links and how to get from one to another. Both evaluators read this and nothing else.
struct Platform {
  std::string name;
  std::vector<Device> devices;
  std::vector<Link> links;
  Routing routing;
  CollectiveTuning collectives_inside = {};  ///< among devices that meet at the innermost level
  CollectiveTuning collectives_across = {};  ///< among devices that do not
  std::vector<CollectiveTuning> collectives_inside_of =
      {};  ///< [device] where nodes differ, in place of `collectives_inside`; else empty

  bool operator==(const Platform&) const = default;
};

/// The way from one device to another, with its α–β sums: latency is the sum over the links,
/// bandwidth the narrowest link.
struct Route {
  DeviceId from;
  DeviceId to;
  std::vector<LinkId> links;
  Seconds latency;
  BytesPerSecond bandwidth;

  bool operator==(const Route&) const = default;
};

/// O(levels + links of the route). Infeasible when nothing connects the two. `from` must differ
/// from `to`.
Result<Route> route(const Platform& platform, DeviceId from, DeviceId to);

/// [device] the group it meets others in at the innermost level: a node, an NVLink domain, a torus.
/// All devices are one group where the platform has no levels. O(devices).
std::vector<std::int32_t> innermost_groups(const Platform& platform);

/// How fast a collective inside the innermost level runs: where nodes differ, every constant is the
/// worst that a device of the group has. O(group).
CollectiveTuning inside_tuning(const Platform& platform, std::span<const DeviceId> group);

/// Constant delay between any two devices, never contended, whatever the size of the message.
Platform constant_delay_platform(int devices, Seconds delay);

/// Names unique, indices in range, latencies ≥ 0, bandwidths > 0, levels cover every device.
Diagnostics check(const Platform& platform);

}  // namespace pipecast
