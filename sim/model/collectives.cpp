#include "sim/model/collectives.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "sim/model/collective_cost.hpp"
#include "sim/model/wired_rings.hpp"

namespace pipecast {
namespace {

/// NCCL uses NVLS from this many devices of a node on.
constexpr std::size_t kFewestInSwitch = 5;

/// Flows that wait for another one pay their own latency; it comes out of the overhead of the
/// first, once.
std::vector<Flow> flows_of(const RoutedShape& routes, const PlanCost& cost, Bytes message) {
  const std::vector<CollectiveEdge>& edges = routes.shape.edges;
  std::vector<Flow> flows;
  flows.reserve(edges.size());
  for (std::size_t index = 0; index < edges.size(); ++index) {
    const CollectiveEdge& edge = edges[index];
    Flow flow{edge.from, edge.to,
              message * (edge.share * cost.part[static_cast<std::size_t>(edge.part)].inflation)};
    flow.after = edge.after;
    const double own = routes.chained ? routes.hops_s[static_cast<std::size_t>(edge.part)]
                                      : routes.latency[index].value;
    if (edge.after.empty()) flow.extra = {std::max(0.0, cost.overhead_s - own)};
    flows.push_back(std::move(flow));
  }
  return flows;
}

Diagnostics request_faults(const CollectiveRequest& request, const Platform& platform) {
  if (request.group.size() < 2) return {input_error("a collective needs at least two devices")};
  if (!(request.bytes.value >= 0) || !std::isfinite(request.bytes.value))
    return {input_error("the size of a collective must be at least 0 B")};
  std::set<DeviceId> seen;
  for (const DeviceId device : request.group) {
    if (device.value < 0 || device.at() >= platform.devices.size())
      return {input_error(fmt::format("platform {} has {} devices, the group names device {}",
                                      platform.name, platform.devices.size(), device.value))};
    if (!seen.insert(device).second)
      return {input_error(fmt::format("device {} is twice in the group", device.value))};
  }
  return {};
}

/// Why this algorithm cannot do it; empty when it can.
std::string obstacle(Collective kind, CollectiveAlgorithm algorithm, const GroupedDevices& devices,
                     const Platform& platform) {
  const bool reduces = kind == Collective::AllReduce;
  if (kind == Collective::AllToAll && algorithm != CollectiveAlgorithm::Direct)
    return "all-to-all has only the direct algorithm";
  switch (algorithm) {
    case CollectiveAlgorithm::Automatic:
    case CollectiveAlgorithm::Ring:
      return {};
    case CollectiveAlgorithm::Tree:
      return reduces || kind == Collective::Broadcast ? "" : "a tree reduces or broadcasts";
    case CollectiveAlgorithm::Direct:
      return kind == Collective::Broadcast ? "a broadcast goes by ring or tree" : "";
    case CollectiveAlgorithm::InSwitch:
      if (!reduces) return "switches do only all-reduce";
      if (!(devices.single() ? platform.collectives_inside : platform.collectives_across).in_switch)
        return "its switches cannot reduce";
      return {};
    case CollectiveAlgorithm::Hierarchical:
      if (devices.single()) return "the group is inside one node";
      return devices.even() ? "" : "the nodes have different numbers of devices";
  }
  return {};
}

CollectiveShape shape_of(const CollectiveRequest& request, CollectiveAlgorithm algorithm,
                         const GroupedDevices& devices, const Platform& platform) {
  const Collective kind = request.kind;
  switch (algorithm) {
    case CollectiveAlgorithm::Tree:
      return tree_shape(kind, devices);
    case CollectiveAlgorithm::Direct:
      return direct_shape(kind, devices, devices.mesh);
    case CollectiveAlgorithm::InSwitch:
      return in_switch_shape(devices, devices.single() ? FabricPart::Inside : FabricPart::Across);
    case CollectiveAlgorithm::Hierarchical:
      return hierarchical_shape(kind, devices, platform);
    case CollectiveAlgorithm::Automatic:
    case CollectiveAlgorithm::Ring:
      if (devices.single())
        if (auto rings = wired_rings(kind, request.group, platform)) return std::move(*rings);
      return ring_shape(kind, devices);
  }
  return {};
}

/// The algorithms worth comparing, best guess first.
std::vector<CollectiveAlgorithm> candidates(const CollectiveRequest& request,
                                            const GroupedDevices& devices,
                                            const Platform& platform) {
  if (request.algorithm != CollectiveAlgorithm::Automatic) return {request.algorithm};
  const bool reduces = request.kind == Collective::AllReduce;
  if (request.kind == Collective::AllToAll) return {CollectiveAlgorithm::Direct};
  if (devices.single()) {
    if (request.kind != Collective::Broadcast && devices.mesh) return {CollectiveAlgorithm::Direct};
    if (reduces && platform.collectives_inside.in_switch && request.group.size() >= kFewestInSwitch)
      return {CollectiveAlgorithm::InSwitch};
    return {CollectiveAlgorithm::Ring};
  }
  const bool slots = devices.even() && devices.nodes.front().size() > 1;
  if (reduces && platform.collectives_across.in_switch)
    return {slots ? CollectiveAlgorithm::Hierarchical : CollectiveAlgorithm::InSwitch};
  if (reduces || request.kind == Collective::Broadcast)
    return {CollectiveAlgorithm::Ring, CollectiveAlgorithm::Tree};
  return {CollectiveAlgorithm::Ring};
}

/// An algorithm and the ways it takes.
struct Candidate {
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::Ring;
  RoutedShape routes;
  TimeBySize time;
};

Result<Candidate> candidate(const CollectiveRequest& request, CollectiveAlgorithm algorithm,
                            const GroupedDevices& devices, const Platform& platform) {
  if (std::string why = obstacle(request.kind, algorithm, devices, platform); !why.empty())
    return fail(
        input_error(fmt::format("{} by {} on platform {}: {}", collective_name(request.kind),
                                algorithm_name(algorithm), platform.name, why)));
  const double edges = edge_count(request.kind, algorithm, devices);
  if (edges > static_cast<double>(kMaxCollectiveFlows))
    return fail(input_error(fmt::format("{} by {} would be {:.0f} flows; at most {} are allowed",
                                        collective_name(request.kind), algorithm_name(algorithm),
                                        edges, kMaxCollectiveFlows)));
  Result<RoutedShape> routes = routed(shape_of(request, algorithm, devices, platform), platform);
  if (!routes) return fail(std::move(routes.error()));
  TimeBySize time = time_by_size(*routes, request.kind, algorithm, platform);
  return Candidate{algorithm, std::move(*routes), std::move(time)};
}

}  // namespace

Result<CollectivePlan> plan_collective(const CollectiveRequest& request, const Platform& platform) {
  if (Diagnostics faults = request_faults(request, platform); !faults.empty())
    return fail(std::move(faults));
  const GroupedDevices devices = grouped(request.group, platform);
  std::optional<Candidate> best;
  for (const CollectiveAlgorithm algorithm : candidates(request, devices, platform)) {
    Result<Candidate> next = candidate(request, algorithm, devices, platform);
    if (!next) return fail(std::move(next.error()));
    const double bytes = request.bytes.value;
    if (!best || next->time.seconds(bytes) < best->time.seconds(bytes)) best = std::move(*next);
  }
  const PlanCost cost =
      plan_cost(best->routes, request.kind, best->algorithm, platform, request.bytes);
  return CollectivePlan{best->algorithm, flows_of(best->routes, cost, request.bytes)};
}

Result<CollectiveTime> collective_time(const CollectiveRequest& request, const Platform& platform) {
  if (Diagnostics faults = request_faults(request, platform); !faults.empty())
    return fail(std::move(faults));
  const GroupedDevices devices = grouped(request.group, platform);
  CollectiveTime time;
  for (const CollectiveAlgorithm algorithm : candidates(request, devices, platform)) {
    Result<Candidate> next = candidate(request, algorithm, devices, platform);
    if (!next) return fail(std::move(next.error()));
    time.algorithms.push_back(std::move(next->time));
  }
  return time;
}

double bus_factor(Collective kind, int devices) {
  const double part = static_cast<double>(devices - 1) / devices;
  switch (kind) {
    case Collective::AllReduce:
      return 2 * part;
    case Collective::ReduceScatter:
    case Collective::AllGather:
    case Collective::AllToAll:
      return part;
    case Collective::Broadcast:
      return 1;
  }
  return 1;
}

}  // namespace pipecast
