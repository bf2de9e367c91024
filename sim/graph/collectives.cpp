#include "sim/graph/collectives.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "sim/graph/collective_shape.hpp"

namespace pipecast {
namespace {

/// A protocol of NCCL as the fit to the sweeps sees it: below `until` × half size it is used; it
/// reaches `bandwidth` of the large-message protocol and starts after latency + `start` × (what the
/// large-message protocol needs more).
struct Protocol {
  double until;
  double bandwidth;
  double start;
};

/// LL, LL128 and Simple: shared by all fabrics, fitted together with their three constants each to
/// the sweeps in tests/published/data/collective_sweeps.csv (see docs/platforms.md). The second
/// table is for fabrics whose node switches can reduce, which are those of Hopper and later.
constexpr std::array<Protocol, 3> kProtocols{
    {{0.0577, 0.13, 0}, {0.79, 0.95, 0.376}, {HUGE_VAL, 1, 1}}};
constexpr std::array<Protocol, 3> kReducingFabricProtocols{
    {{0.0577, 0.29, 0}, {0.79, 0.815, 0.376}, {HUGE_VAL, 1, 1}}};

/// NCCL uses NVLS from this many devices of a node on.
constexpr std::size_t kFewestInSwitch = 5;

/// Before the bytes flow, and how much more than their payload the wires carry.
struct PartCost {
  double overhead_s = 0;
  double inflation = 1;
};

/// The routes of a shape, for latency and bandwidth.
struct RoutedShape {
  CollectiveShape shape;
  std::vector<Seconds> latency;                ///< [edge]
  double slowest[2] = {0, 0};                  ///< [part] latency of its longest route
  double bandwidth[2] = {HUGE_VAL, HUGE_VAL};  ///< [part] of its narrowest route
};

Result<RoutedShape> routed(CollectiveShape shape, const Platform& platform) {
  RoutedShape result;
  for (const CollectiveEdge& edge : shape.edges) {
    const Result<Route> way = route(platform, edge.from, edge.to);
    if (!way) return fail(way.error());
    const auto part = static_cast<std::size_t>(edge.part);
    result.latency.push_back(way->latency);
    result.slowest[part] = std::max(result.slowest[part], way->latency.value);
    result.bandwidth[part] = std::min(result.bandwidth[part], way->bandwidth.value);
  }
  result.shape = std::move(shape);
  return result;
}

/// Where switches reduce, the fit is that of in-switch all-reduce; rings there reach what a single
/// flow reaches.
double achieved_by(const CollectiveTuning& tuning, bool in_switch) {
  return tuning.in_switch && !in_switch ? 1 : tuning.achieved;
}

Protocol protocol_for(const GroupTunings& tunings, Bytes message, Bytes half_size) {
  const bool reduces = tunings.inside.in_switch || tunings.across.in_switch;
  const auto& protocols = reduces ? kReducingFabricProtocols : kProtocols;
  if (!(half_size.value > 0)) return protocols.back();
  return *std::find_if(protocols.begin(), protocols.end(), [&](const Protocol& p) {
    return message.value < p.until * half_size.value;
  });
}

PartCost part_cost(const RoutedShape& routes, FabricPart which, const GroupTunings& tunings,
                   Bytes message, bool in_switch) {
  const auto part = static_cast<std::size_t>(which);
  const CollectiveTuning& tuning = which == FabricPart::Inside ? tunings.inside : tunings.across;
  const double achieved = achieved_by(tuning, in_switch);
  PartCost cost{routes.shape.hops[part] * routes.slowest[part], 1 / achieved};
  if (!(tuning.latency.value > 0)) return cost;
  const double seconds_per_byte = routes.shape.load[part] / (routes.bandwidth[part] * achieved);
  const double more =
      std::max(0.0, tuning.half_size.value * seconds_per_byte - tuning.latency.value);
  const Protocol protocol = protocol_for(tunings, message, tuning.half_size);
  cost.overhead_s = tuning.latency.value + protocol.start * more;
  cost.inflation /= protocol.bandwidth;
  return cost;
}

struct PlanCost {
  PartCost part[2];
  double overhead_s = 0;
};

/// A fit across the network includes what happens inside the nodes.
PlanCost plan_cost(const RoutedShape& routes, const CollectiveRequest& request,
                   CollectiveAlgorithm algorithm, const GroupTunings& tunings) {
  const bool in_switch =
      algorithm == CollectiveAlgorithm::InSwitch ||
      (algorithm == CollectiveAlgorithm::Hierarchical && request.kind == Collective::AllReduce);
  PlanCost cost;
  const bool crosses = std::isfinite(routes.bandwidth[1]);
  if (std::isfinite(routes.bandwidth[0]))
    cost.part[0] = part_cost(routes, FabricPart::Inside, tunings, request.bytes, in_switch);
  if (crosses)
    cost.part[1] = part_cost(routes, FabricPart::Across, tunings, request.bytes, in_switch);
  const bool fitted_across = crosses && tunings.across.latency.value > 0;
  if (fitted_across) cost.part[0] = {0, 1 / achieved_by(tunings.inside, in_switch)};
  cost.overhead_s = cost.part[0].overhead_s + cost.part[1].overhead_s;
  return cost;
}

/// How long the collective takes when nothing else is there.
double closed_form_s(const RoutedShape& routes, const PlanCost& cost, Bytes message) {
  double wire = 0;
  for (const std::size_t part : {std::size_t{0}, std::size_t{1}})
    wire = std::max(wire, message.value * routes.shape.load[part] * cost.part[part].inflation /
                              routes.bandwidth[part]);
  return cost.overhead_s + wire;
}

/// Flows that wait for another one pay their own latency; it comes out of the overhead of the
/// first, once.
std::vector<Flow> flows_of(const RoutedShape& routes, const PlanCost& cost, Bytes message) {
  int hops = 1;
  for (const CollectiveEdge& edge : routes.shape.edges)
    if (!edge.after.empty()) hops = std::max(routes.shape.hops[0], routes.shape.hops[1]);
  std::vector<Flow> flows;
  flows.reserve(routes.shape.edges.size());
  for (std::size_t index = 0; index < routes.shape.edges.size(); ++index) {
    const CollectiveEdge& edge = routes.shape.edges[index];
    Flow flow{edge.from, edge.to,
              message * (edge.share * cost.part[static_cast<std::size_t>(edge.part)].inflation)};
    flow.after = edge.after;
    const double own = hops * (hops == 1 ? routes.latency[index].value
                                         : std::max(routes.slowest[0], routes.slowest[1]));
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
                     const GroupTunings& tunings) {
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
      if (!(devices.single() ? tunings.inside : tunings.across).in_switch)
        return "its switches cannot reduce";
      return {};
    case CollectiveAlgorithm::Hierarchical:
      if (devices.single()) return "the group is inside one node";
      return devices.even() ? "" : "the nodes have different numbers of devices";
  }
  return {};
}

CollectiveShape shape_of(Collective kind, CollectiveAlgorithm algorithm,
                         const GroupedDevices& devices, const CollectiveRequest& request,
                         const GroupTunings& tunings, const Platform& platform) {
  switch (algorithm) {
    case CollectiveAlgorithm::Tree:
      return tree_shape(kind, devices);
    case CollectiveAlgorithm::Direct:
      return direct_shape(kind, devices, is_mesh(request.group, platform));
    case CollectiveAlgorithm::InSwitch:
      return in_switch_shape(devices, devices.single() ? FabricPart::Inside : FabricPart::Across);
    case CollectiveAlgorithm::Hierarchical:
      return hierarchical_shape(kind, devices, tunings);
    case CollectiveAlgorithm::Automatic:
    case CollectiveAlgorithm::Ring:
      return ring_shape(kind, devices);
  }
  return {};
}

/// The algorithms worth comparing, best guess first.
std::vector<CollectiveAlgorithm> candidates(const CollectiveRequest& request,
                                            const GroupedDevices& devices,
                                            const GroupTunings& tunings, const Platform& platform) {
  if (request.algorithm != CollectiveAlgorithm::Automatic) return {request.algorithm};
  const bool reduces = request.kind == Collective::AllReduce;
  if (request.kind == Collective::AllToAll) return {CollectiveAlgorithm::Direct};
  if (devices.single()) {
    if (request.kind != Collective::Broadcast && is_mesh(request.group, platform))
      return {CollectiveAlgorithm::Direct};
    if (reduces && tunings.inside.in_switch && request.group.size() >= kFewestInSwitch)
      return {CollectiveAlgorithm::InSwitch};
    return {CollectiveAlgorithm::Ring};
  }
  const bool slots = devices.even() && devices.nodes.front().size() > 1;
  if (reduces && tunings.across.in_switch)
    return {slots ? CollectiveAlgorithm::Hierarchical : CollectiveAlgorithm::InSwitch};
  if (reduces || request.kind == Collective::Broadcast)
    return {CollectiveAlgorithm::Ring, CollectiveAlgorithm::Tree};
  return {CollectiveAlgorithm::Ring};
}

}  // namespace

Result<CollectivePlan> plan_collective(const CollectiveRequest& request, const Platform& platform) {
  if (Diagnostics faults = request_faults(request, platform); !faults.empty())
    return fail(std::move(faults));
  const GroupedDevices devices = grouped(request.group, platform);
  const GroupTunings tunings{inside_tuning(platform, request.group), platform.collectives_across};
  CollectivePlan best;
  double best_s = HUGE_VAL;
  for (const CollectiveAlgorithm algorithm : candidates(request, devices, tunings, platform)) {
    if (std::string why = obstacle(request.kind, algorithm, devices, tunings); !why.empty())
      return fail(
          input_error(fmt::format("{} by {} on platform {}: {}", collective_name(request.kind),
                                  algorithm_name(algorithm), platform.name, why)));
    const double edges = edge_count(request.kind, algorithm, devices);
    if (edges > static_cast<double>(kMaxCollectiveFlows))
      return fail(input_error(fmt::format("{} by {} would be {:.0f} flows; at most {} are allowed",
                                          collective_name(request.kind), algorithm_name(algorithm),
                                          edges, kMaxCollectiveFlows)));
    Result<RoutedShape> routes =
        routed(shape_of(request.kind, algorithm, devices, request, tunings, platform), platform);
    if (!routes) return fail(routes.error());
    const PlanCost cost = plan_cost(*routes, request, algorithm, tunings);
    const double seconds = closed_form_s(*routes, cost, request.bytes);
    if (seconds >= best_s) continue;
    best_s = seconds;
    best = {algorithm, flows_of(*routes, cost, request.bytes)};
  }
  return best;
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
