#include "sim/cost/plan_machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace pipecast {
namespace {

const std::string& accelerator_at(const Platform& platform, const ReplicaDevices& placed,
                                  Place place) {
  return platform.devices[placed.device(place.replica, place.rank).at()].accelerator;
}

struct StepGroup {
  std::string_view name;
  int size;  ///< replicas that follow each other
};

/// Groups whose devices compute every layer together.
std::vector<StepGroup> groups_in_step(const ParallelLayout& layout) {
  std::vector<StepGroup> groups{{"tensor × context", layout.tensor * layout.context},
                                {"expert", layout.expert * layout.expert_tensor}};
  if (layout.zero >= 3) groups.push_back({"ZeRO 3", layout.tensor * layout.context * layout.data});
  return groups;
}

/// Finds the models of accelerators and keeps those it has found, each once.
class Devices {
 public:
  Devices(const Platform& platform, const ReplicaDevices& placed, const DeviceLookup& lookup)
      : platform_(platform), placed_(placed), lookup_(lookup) {}

  /// Index of the device at a place; that it is new is seen by the size.
  Result<std::size_t> at(Place place) {
    const std::string& name = accelerator_at(platform_, placed_, place);
    if (const auto known = index_of_.find(name); known != index_of_.end()) return known->second;
    const Result<const DeviceModel*> model = lookup_(name);
    if (!model) return fail(model.error());
    const auto same = std::find_if(found.begin(), found.end(), [&](const PlanDevice& device) {
      return device.model.accelerator == (*model)->accelerator;
    });
    const auto index = static_cast<std::size_t>(same - found.begin());
    if (same == found.end()) found.push_back({**model, {}, 0});
    index_of_.emplace(name, index);
    return index;
  }

  std::vector<PlanDevice> found;

 private:
  const Platform& platform_;
  const ReplicaDevices& placed_;
  const DeviceLookup& lookup_;
  std::map<std::string, std::size_t, std::less<>> index_of_;
};

/// Every accelerator once, where it is first met, and how many devices are one.
Result<PlanMachine> counted(const Platform& platform, const ParallelLayout& layout,
                            const ReplicaDevices& placed, const DeviceLookup& lookup,
                            const std::vector<std::int32_t>& node_of) {
  PlanMachine machine;
  Devices devices(platform, placed, lookup);
  for (int replica = 0; replica < placed.replicas(); ++replica)
    for (int rank = 0; rank < layout.pipeline; ++rank) {
      const Result<std::size_t> index = devices.at({replica, rank});
      if (!index) return fail(index.error());
      PlanDevice& device = devices.found[*index];
      if (device.count++ == 0) {
        const Result<ClusterLinks> links =
            cluster_links(platform, node_of, layout, placed, {replica, rank});
        if (!links) return fail(links.error());
        device.links = *links;
      }
      if (replica == 0) machine.device_of.push_back(static_cast<int>(*index));
    }
  machine.devices = std::move(devices.found);
  return machine;
}

}  // namespace

Diagnostics mixed_groups(const Platform& platform, const ParallelLayout& layout,
                         std::span<const DeviceId> devices) {
  for (const DeviceId device : devices)
    if (device.at() >= platform.devices.size()) return {};
  const ReplicaDevices placed(layout, devices);
  for (const StepGroup& group : groups_in_step(layout))
    for (int replica = 0; replica < placed.replicas(); ++replica)
      for (int rank = 0; rank < layout.pipeline; ++rank) {
        const Place first{replica - replica % group.size, rank};
        const std::string& one = accelerator_at(platform, placed, first);
        const std::string& other = accelerator_at(platform, placed, {replica, rank});
        if (one != other)
          return {infeasible(
              fmt::format("rank {}: its {} group has devices {} ({}) and {} ({}), which compute "
                          "every layer together; how fast they are is not known",
                          rank, group.name, placed.device(first.replica, rank).value, one,
                          placed.device(replica, rank).value, other),
              "give such a group devices of one accelerator: change the node ranges, "
              "parallel.order or platform.devices")};
      }
  return {};
}

Result<PlanMachine> plan_machine(const Platform& platform, const ParallelLayout& layout,
                                 std::span<const DeviceId> devices, PlanNodes nodes,
                                 const DeviceLookup& lookup) {
  if (devices.size() > platform.devices.size())
    return fail(infeasible("the layout needs " + std::to_string(layout.devices()) +
                               " devices (tensor × context × data × pipeline), the platform has " +
                               std::to_string(platform.devices.size()),
                           "use a larger platform (set its number of nodes) or smaller degrees"));
  for (const DeviceId device : devices)
    if (device.at() >= platform.devices.size())
      return fail(infeasible("device " + std::to_string(device.value) +
                             " does not exist, the platform has " +
                             std::to_string(platform.devices.size()) + " devices"));
  const ReplicaDevices placed(layout, devices);
  if (Diagnostics faults = mixed_groups(platform, layout, devices); !faults.empty())
    return fail(std::move(faults));
  const std::vector<std::int32_t> node_of = innermost_groups(platform);
  Result<PlanMachine> machine = counted(platform, layout, placed, lookup, node_of);
  if (!machine || nodes == PlanNodes::Equal) return machine;
  for (int rank = 0; rank < layout.pipeline; ++rank) {
    const Result<ClusterLinks> links = cluster_links(platform, node_of, layout, placed, {0, rank});
    if (!links) return fail(links.error());
    machine->links.push_back(*links);
  }
  return machine;
}

PlanMachine uniform_machine(DeviceModel model, ClusterLinks links, int count) {
  return {{{std::move(model), links, count}}, {}, {}};
}

}  // namespace pipecast
