#include "sim/model/collective_cost.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

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
  PartCost cost{routes.hops_s[part], 1 / achieved};
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

/// Two sums of a link or a sender.
struct Entry {
  std::int64_t key = 0;
  std::array<double, 2> sums{0, 0};
};

/// One entry per key.
std::vector<Entry> merged(std::vector<Entry> entries) {
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Entry& a, const Entry& b) { return a.key < b.key; });
  std::vector<Entry> result;
  for (const Entry& entry : entries) {
    if (result.empty() || result.back().key != entry.key) {
      result.push_back(entry);
      continue;
    }
    for (const std::size_t at : {std::size_t{0}, std::size_t{1}})
      result.back().sums[at] += entry.sums[at];
  }
  return result;
}

/// Adds up what the edges of a shape do to links and senders.
class RouteSums {
 public:
  RouteSums(const CollectiveShape& shape, const Platform& platform)
      : shape_(shape), platform_(platform) {
    chained_ = std::any_of(shape.edges.begin(), shape.edges.end(),
                           [](const CollectiveEdge& edge) { return !edge.after.empty(); });
  }

  void add(const CollectiveEdge& edge, const Route& way) {
    const auto part = static_cast<std::size_t>(edge.part);
    const double seconds = edge.share / way.bandwidth.value;
    edge_[part] = std::max(edge_[part], seconds);
    slowest_s_[part] = std::max(slowest_s_[part], way.latency.value);
    narrowest_[part] = std::min(narrowest_[part], way.bandwidth.value);
    for (const LinkId id : way.links) {
      const Link& link = platform_.links[id.at()];
      if (link.sharing == Sharing::FatPipe) continue;
      Entry carried{id.value, {0, 0}};
      carried.sums[part] = edge.share / link.bandwidth.value;
      carried_.push_back(carried);
    }
    if (chained_)
      chains_.push_back({2 * std::int64_t{edge.from.value} + static_cast<std::int64_t>(part),
                         {way.latency.value, seconds}});
  }

  void finish(RoutedShape& result) const {
    result.chained = chained_;
    for (const std::size_t part : {std::size_t{0}, std::size_t{1}}) {
      result.bandwidth[part] = narrowest_[part];
      result.hops_s[part] = shape_.hops[part] * slowest_s_[part];
      SecondsPerByte alone{0, 0};
      alone[part] = edge_[part];
      result.busiest.push_back(alone);
    }
    add_links(result);
    if (chained_) add_chains(result);
  }

 private:
  /// The busiest by what they carry inside, across and in all.
  void add_links(RoutedShape& result) const {
    std::array<SecondsPerByte, 3> most{};
    const auto in_all = [](const SecondsPerByte& link) { return link[0] + link[1]; };
    for (const Entry& entry : merged(carried_)) {
      const SecondsPerByte& link = entry.sums;
      if (link[0] > most[0][0]) most[0] = link;
      if (link[1] > most[1][1]) most[1] = link;
      if (in_all(link) > in_all(most[2])) most[2] = link;
    }
    result.busiest.insert(result.busiest.end(), most.begin(), most.end());
  }

  /// What a device sends in a part, one after the other.
  void add_chains(RoutedShape& result) const {
    std::array<double, 2> latency_s{0, 0};
    std::array<double, 2> seconds{0, 0};
    for (const Entry& chain : merged(chains_)) {
      const auto part = static_cast<std::size_t>(chain.key % 2);
      latency_s[part] = std::max(latency_s[part], chain.sums[0]);
      seconds[part] = std::max(seconds[part], chain.sums[1]);
    }
    for (const FabricPart part : {FabricPart::Inside, FabricPart::Across}) {
      if (part == FabricPart::Inside && shape_.own_wires) continue;  // all at once
      const auto at = static_cast<std::size_t>(part);
      SecondsPerByte chain{0, 0};
      chain[at] = seconds[at];
      result.busiest.push_back(chain);
      result.hops_s[at] = latency_s[at];
    }
  }

  const CollectiveShape& shape_;
  const Platform& platform_;
  std::vector<Entry> carried_;  ///< by link: seconds per byte of the message, [part]
  std::vector<Entry> chains_;   ///< by 2 · sender + part: seconds of latency, seconds per byte
  double edge_[2] = {0, 0};
  double slowest_s_[2] = {0, 0};
  double narrowest_[2] = {HUGE_VAL, HUGE_VAL};
  bool chained_ = false;
};

}  // namespace

Result<RoutedShape> routed(CollectiveShape shape, const Platform& platform) {
  RoutedShape result;
  RouteSums sums(shape, platform);
  result.latency.reserve(shape.edges.size());
  for (const CollectiveEdge& edge : shape.edges) {
    const Result<Route> way = route(platform, edge.from, edge.to);
    if (!way) return fail(way.error());
    result.latency.push_back(way->latency);
    sums.add(edge, *way);
  }
  sums.finish(result);
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
    if (kind == Collective::AllReduce && algorithm == CollectiveAlgorithm::Tree)
      achieved[at] *= kTreeReaches;
    if (routes.has(part)) cost.part[at] = part_cost(routes, part, platform, message, achieved[at]);
  }
  if (routes.has(FabricPart::Across) && platform.collectives_across.latency.value > 0)
    cost.part[0] = {0, 1 / achieved[0]};
  if (algorithm != CollectiveAlgorithm::Direct) {
    cost.overhead_s = cost.part[0].overhead_s + cost.part[1].overhead_s;
    return cost;
  }
  for (const FabricPart part : {FabricPart::Inside, FabricPart::Across})
    cost.overhead_s = std::max({cost.overhead_s, routes.hops_s[static_cast<std::size_t>(part)],
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
    for (const SecondsPerByte& part : routes.busiest)
      per_byte_s =
          std::max(per_byte_s, part[0] * cost.part[0].inflation + part[1] * cost.part[1].inflation);
    time.pieces.push_back({until, cost.overhead_s, per_byte_s});
    from = until;
  }
  return time;
}

}  // namespace pipecast
