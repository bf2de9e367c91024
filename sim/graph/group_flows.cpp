#include "sim/graph/group_flows.hpp"

#include <algorithm>
#include <map>

#include "sim/model/collective_shape.hpp"
#include "sim/model/wired_rings.hpp"

namespace pipecast {
namespace {

CollectiveEdge edge_of(DeviceId from, DeviceId to, double share, FabricPart part) {
  CollectiveEdge edge;
  edge.from = from;
  edge.to = to;
  edge.share = share;
  edge.part = part;
  return edge;
}

/// What a device sends inside its node goes to the next one there, the rest from slot to slot.
std::vector<CollectiveEdge> exchange_by_slots(const GroupedDevices& devices) {
  const std::size_t slots = devices.nodes.front().size();
  const double size = static_cast<double>(slots * devices.nodes.size());
  std::vector<CollectiveEdge> edges;
  for (const std::vector<DeviceId>& node : devices.nodes)
    for (std::size_t slot = 0; slot < slots; ++slot) {
      if (slots > 1)
        edges.push_back(edge_of(node[slot], node[(slot + 1) % slots],
                                static_cast<double>(slots - 1) / size, FabricPart::Inside));
      for (const std::vector<DeviceId>& other : devices.nodes)
        if (other[slot] != node[slot])
          edges.push_back(edge_of(node[slot], other[slot], static_cast<double>(slots) / size,
                                  FabricPart::Across));
    }
  return edges;
}

std::vector<CollectiveEdge> edges_of(Collective kind, const std::vector<DeviceId>& group,
                                     const Platform& platform) {
  const GroupedDevices devices = grouped(group, platform);
  const bool mesh = devices.single() && is_mesh(group, platform);
  if (kind != Collective::AllToAll && mesh) return direct_shape(kind, devices, true).edges;
  if (kind != Collective::AllToAll && devices.single())
    if (auto rings = wired_rings(kind, group, platform)) return std::move(rings->edges);
  if (kind != Collective::AllToAll) return ring_shape(kind, devices).edges;
  if (mesh || !devices.even()) return direct_shape(kind, devices, true).edges;
  return exchange_by_slots(devices);
}

/// Flows of the exchange over each shared link.
std::map<LinkId, int> crossings_of(const std::vector<GroupFlow>& flows, const Platform& platform) {
  std::map<LinkId, int> crossings;
  for (const GroupFlow& flow : flows)
    for (const LinkId link : flow.way.links)
      if (platform.links[link.at()].sharing != Sharing::FatPipe) ++crossings[link];
  return crossings;
}

}  // namespace

Result<std::vector<GroupFlow>> group_flows(Collective kind, const std::vector<DeviceId>& group,
                                           const Platform& platform) {
  const CollectiveTuning inside = inside_tuning(platform, group);
  std::vector<GroupFlow> flows;
  std::map<std::pair<DeviceId, DeviceId>, std::size_t> known;
  for (const CollectiveEdge& edge : edges_of(kind, group, platform)) {
    const auto [entry, is_new] = known.try_emplace({edge.from, edge.to}, flows.size());
    const CollectiveTuning& tuning =
        edge.part == FabricPart::Inside ? inside : platform.collectives_across;
    if (is_new) {
      Result<Route> way = route(platform, edge.from, edge.to);
      if (!way) return fail(std::move(way.error()));
      flows.push_back({edge.from, edge.to, 0, std::move(*way), 0});
    }
    flows[entry->second].wire += edge.share / tuning.achieved_by_rings();
  }
  const std::map<LinkId, int> crossings = crossings_of(flows, platform);
  for (GroupFlow& flow : flows) {
    flow.wire_s = 1 / flow.way.bandwidth.value;
    for (const LinkId link : flow.way.links)
      if (const auto crossed = crossings.find(link); crossed != crossings.end())
        flow.wire_s =
            std::max(flow.wire_s, crossed->second / platform.links[link.at()].bandwidth.value);
  }
  return flows;
}

}  // namespace pipecast
