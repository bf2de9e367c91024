#pragma once
#include <array>
#include <cmath>
#include <vector>

#include "sim/model/collective_shape.hpp"
#include "sim/model/collective_time.hpp"

namespace pipecast {

/// Of what single flows reach, messages from each device to every other one reach at most this
/// [part], unless all have wires of their own. Set on the all-to-all figures of NVIDIA GTC 2025,
/// session S72583; see docs/platforms.md.
inline constexpr double kExchangeReaches[2] = {0.9, 0.8};

/// What trees reach of the rings' bandwidth in all-reduce: NCCL's own model (src/graph/tuning.cc).
inline constexpr double kTreeReaches = 0.92;

/// Seconds per byte of the message, as far as they lie inside the nodes and across [part].
using SecondsPerByte = std::array<double, 2>;

/// The routes of a shape, for latency and bandwidth.
struct RoutedShape {
  CollectiveShape shape;
  std::vector<Seconds> latency;                ///< [edge]
  bool chained = false;                        ///< some edges wait for others
  double hops_s[2] = {0, 0};                   ///< [part] what the hops of the shape take
  double bandwidth[2] = {HUGE_VAL, HUGE_VAL};  ///< [part] of its narrowest route
  std::vector<SecondsPerByte> busiest;         ///< links, edges and chains; one of them is the last

  bool has(FabricPart part) const {
    return std::isfinite(bandwidth[static_cast<std::size_t>(part)]);
  }
};

Result<RoutedShape> routed(CollectiveShape shape, const Platform& platform);

/// Before the bytes flow, and how much more than their payload the wires carry.
struct PartCost {
  double overhead_s = 0;
  double inflation = 1;
};

struct PlanCost {
  PartCost part[2];
  double overhead_s = 0;
};

/// Overheads and inflation of a message. A fit across the network includes what happens inside the
/// nodes; hops inside and across follow each other, except in an exchange of each with each.
PlanCost plan_cost(const RoutedShape& routes, Collective kind, CollectiveAlgorithm algorithm,
                   const Platform& platform, Bytes message);

/// The same for all sizes, as seconds when nothing else is there.
TimeBySize time_by_size(const RoutedShape& routes, Collective kind, CollectiveAlgorithm algorithm,
                        const Platform& platform);

}  // namespace pipecast
