#include "sim/model/collective_cost.hpp"

#include <algorithm>
#include <array>

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

const std::array<Protocol, 3>& protocols_of(const Platform& platform) {
  const bool reduces =
      platform.collectives_inside.in_switch || platform.collectives_across.in_switch;
  return reduces ? kReducingFabricProtocols : kProtocols;
}

/// Where switches reduce, the fit is that of in-switch all-reduce; rings there reach what a single
/// flow reaches.
double achieved_by(const CollectiveTuning& tuning, bool in_switch) {
  return tuning.in_switch && !in_switch ? 1 : tuning.achieved;
}

const CollectiveTuning& tuning_of(const Platform& platform, FabricPart part) {
  return part == FabricPart::Inside ? platform.collectives_inside : platform.collectives_across;
}

Protocol protocol_for(const Platform& platform, Bytes message, Bytes half_size) {
  const auto& protocols = protocols_of(platform);
  if (!(half_size.value > 0)) return protocols.back();
  return *std::find_if(protocols.begin(), protocols.end(), [&](const Protocol& p) {
    return message.value < p.until * half_size.value;
  });
}

bool reduces_in_switch(Collective kind, CollectiveAlgorithm algorithm) {
  return algorithm == CollectiveAlgorithm::InSwitch ||
         (algorithm == CollectiveAlgorithm::Hierarchical && kind == Collective::AllReduce);
}

PartCost part_cost(const RoutedShape& routes, FabricPart which, const Platform& platform,
                   Bytes message, double achieved) {
  const auto part = static_cast<std::size_t>(which);
  const CollectiveTuning& tuning = tuning_of(platform, which);
  PartCost cost{routes.hops_s(which), 1 / achieved};
  if (!(tuning.latency.value > 0)) return cost;
  const double seconds_per_byte = routes.shape.load[part] / (routes.bandwidth[part] * achieved);
  const double more =
      std::max(0.0, tuning.half_size.value * seconds_per_byte - tuning.latency.value);
  const Protocol protocol = protocol_for(platform, message, tuning.half_size);
  cost.overhead_s = tuning.latency.value + protocol.start * more;
  cost.inflation /= protocol.bandwidth;
  return cost;
}

/// The part whose fit the protocols follow; nothing where none is fitted.
const CollectiveTuning* fitted(const RoutedShape& routes, const Platform& platform) {
  for (const FabricPart part : {FabricPart::Across, FabricPart::Inside})
    if (const CollectiveTuning& tuning = tuning_of(platform, part);
        routes.has(part) && tuning.latency.value > 0)
      return &tuning;
  return nullptr;
}

}  // namespace

Result<RoutedShape> routed(CollectiveShape shape, const Platform& platform) {
  RoutedShape result;
  result.latency.reserve(shape.edges.size());
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

PlanCost plan_cost(const RoutedShape& routes, Collective kind, CollectiveAlgorithm algorithm,
                   const Platform& platform, Bytes message) {
  PlanCost cost;
  const bool in_switch = reduces_in_switch(kind, algorithm);
  double achieved[2];
  for (const FabricPart part : {FabricPart::Inside, FabricPart::Across}) {
    const auto at = static_cast<std::size_t>(part);
    achieved[at] = achieved_by(tuning_of(platform, part), in_switch);
    const bool own_wires = part == FabricPart::Inside && routes.shape.own_wires;
    if (kind == Collective::AllToAll && !own_wires)
      achieved[at] = std::min(achieved[at], kExchangeReaches[at]);
    if (routes.has(part)) cost.part[at] = part_cost(routes, part, platform, message, achieved[at]);
  }
  if (routes.has(FabricPart::Across) && platform.collectives_across.latency.value > 0)
    cost.part[0] = {0, 1 / achieved[0]};
  if (algorithm != CollectiveAlgorithm::Direct) {
    cost.overhead_s = cost.part[0].overhead_s + cost.part[1].overhead_s;
    return cost;
  }
  for (const FabricPart part : {FabricPart::Inside, FabricPart::Across})
    cost.overhead_s = std::max({cost.overhead_s, routes.hops_s(part),
                                cost.part[static_cast<std::size_t>(part)].overhead_s});
  return cost;
}

TimeBySize time_by_size(const RoutedShape& routes, Collective kind, CollectiveAlgorithm algorithm,
                        const Platform& platform) {
  TimeBySize time;
  const CollectiveTuning* fit = fitted(routes, platform);
  const double half_size = fit == nullptr ? 0 : fit->half_size.value;
  double from = 0;
  for (const Protocol& protocol : protocols_of(platform)) {
    const bool last = std::isinf(protocol.until);
    const double until = last ? HUGE_VAL : protocol.until * half_size;
    if (!(until > from)) continue;  // nothing is fitted: the last protocol holds for all
    const PlanCost cost = plan_cost(routes, kind, algorithm, platform, Bytes{from});
    double per_byte_s = 0;
    for (const std::size_t part : {std::size_t{0}, std::size_t{1}})
      per_byte_s = std::max(
          per_byte_s, routes.shape.load[part] * cost.part[part].inflation / routes.bandwidth[part]);
    time.pieces.push_back({until, cost.overhead_s, per_byte_s});
    from = until;
  }
  return time;
}

}  // namespace pipecast
