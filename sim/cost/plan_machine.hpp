#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "sim/base/diagnostic.hpp"
#include "sim/cost/cluster_links.hpp"
#include "sim/cost/device_model.hpp"
#include "sim/model/program.hpp"

namespace pipecast {

/// One kind of device that a plan runs on.
struct PlanDevice {
  DeviceModel model;
  ClusterLinks links;  ///< of the first place that has one: replica by replica, rank by rank
  int count = 1;       ///< devices of the layout that are one

  bool operator==(const PlanDevice&) const = default;
};

/// What the ranks of a plan run on. Of equal devices on equal nodes there is one entry each.
struct PlanMachine {
  std::vector<PlanDevice> devices;  ///< each accelerator once; rank 0's comes first
  std::vector<int> device_of;       ///< [rank] in the replica that is shown; empty: devices[0]
  std::vector<ClusterLinks> links;  ///< [rank] there; empty: those of devices[0]

  bool mixed() const { return devices.size() > 1; }
  const PlanDevice& device(int rank) const {
    return devices[device_of.empty()
                       ? 0
                       : static_cast<std::size_t>(device_of[static_cast<std::size_t>(rank)])];
  }
  const ClusterLinks& links_of(int rank) const {
    return links.empty() ? devices[0].links : links[static_cast<std::size_t>(rank)];
  }
  bool operator==(const PlanMachine&) const = default;
};

/// Whether the nodes of a platform are built alike: then the groups of all ranks are as those of
/// rank 0.
enum class PlanNodes : std::uint8_t { Equal, Unequal };

/// The device model of an accelerator.
using DeviceLookup = std::function<Result<const DeviceModel*>(const std::string& accelerator)>;

/// Groups that compute every layer together (tensor with context, experts, ZeRO 3's shards) on
/// devices of several accelerators: the first of them, infeasible. Devices that do not exist are
/// passed over.
Diagnostics mixed_groups(const Platform& platform, const ParallelLayout& layout,
                         std::span<const DeviceId> devices);

/// `devices` in the layout's order. Errors: the layout needs more devices than there are, no route,
/// a device whose model is not known, mixed_groups(). O(devices of the layout).
Result<PlanMachine> plan_machine(const Platform& platform, const ParallelLayout& layout,
                                 std::span<const DeviceId> devices, PlanNodes nodes,
                                 const DeviceLookup& lookup);

/// `count` equal devices.
PlanMachine uniform_machine(DeviceModel model, ClusterLinks links, int count);

}  // namespace pipecast
