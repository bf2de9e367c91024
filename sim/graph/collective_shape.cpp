#include "sim/graph/collective_shape.hpp"

#include <algorithm>
#include <bit>
#include <map>

namespace pipecast {
namespace {

constexpr auto kInside = static_cast<std::size_t>(FabricPart::Inside);
constexpr auto kAcross = static_cast<std::size_t>(FabricPart::Across);

double fraction(std::size_t devices) {
  return static_cast<double>(devices - 1) / static_cast<double>(devices);
}

/// What a ring edge carries per byte of the message.
double ring_share(Collective kind, std::size_t devices) {
  switch (kind) {
    case Collective::AllReduce:
      return 2 * fraction(devices);
    case Collective::ReduceScatter:
    case Collective::AllGather:
    case Collective::AllToAll:
      return fraction(devices);
    case Collective::Broadcast:
      return 1;
  }
  return 1;
}

int ring_hops(Collective kind, std::size_t devices) {
  const int hops = static_cast<int>(devices) - 1;
  return kind == Collective::AllReduce ? 2 * hops : hops;
}

/// Devices of one group in a circle; a broadcast does not close it.
void add_ring(CollectiveShape& shape, Collective kind, const std::vector<DeviceId>& circle,
              double share, FabricPart part) {
  const std::size_t edges = circle.size() - (kind == Collective::Broadcast ? 1 : 0);
  for (std::size_t at = 0; at < edges; ++at)
    shape.edges.push_back({circle[at], circle[(at + 1) % circle.size()], share, part});
}

/// One circle through all nodes that enters and leaves each of them at slot `ring` or its
/// neighbour; every other node is walked backwards so that rails are kept.
void add_circle(CollectiveShape& shape, Collective kind, const GroupedDevices& devices,
                std::size_t ring, double share) {
  std::vector<DeviceId> circle;
  std::vector<std::size_t> node_of;
  for (std::size_t node = 0; node < devices.nodes.size(); ++node) {
    const std::size_t size = devices.nodes[node].size();
    for (std::size_t step = 0; step < size; ++step) {
      const std::size_t walked = node % 2 == 0 ? step : size - 1 - step;
      circle.push_back(devices.nodes[node][(ring + walked) % size]);
      node_of.push_back(node);
    }
  }
  const std::size_t edges = circle.size() - (kind == Collective::Broadcast ? 1 : 0);
  for (std::size_t at = 0; at < edges; ++at) {
    const std::size_t next = (at + 1) % circle.size();
    const bool inside = node_of[at] == node_of[next];
    shape.edges.push_back(
        {circle[at], circle[next], share, inside ? FabricPart::Inside : FabricPart::Across});
  }
}

std::vector<DeviceId> flattened(const GroupedDevices& devices) {
  std::vector<DeviceId> all;
  for (const auto& node : devices.nodes) all.insert(all.end(), node.begin(), node.end());
  return all;
}

FabricPart part_between(const std::vector<std::size_t>& node_of, std::size_t a, std::size_t b) {
  return node_of[a] == node_of[b] ? FabricPart::Inside : FabricPart::Across;
}

std::vector<std::size_t> nodes_of(const GroupedDevices& devices) {
  std::vector<std::size_t> node_of;
  for (std::size_t node = 0; node < devices.nodes.size(); ++node)
    node_of.insert(node_of.end(), devices.nodes[node].size(), node);
  return node_of;
}

FabricPart outermost(const GroupedDevices& devices) {
  return devices.single() ? FabricPart::Inside : FabricPart::Across;
}

/// Every device sends its share to every other one; the first edge is number `base`.
void add_exchange(CollectiveShape& shape, const GroupedDevices& devices, bool concurrent) {
  const std::vector<DeviceId> all = flattened(devices);
  const std::vector<std::size_t> node_of = nodes_of(devices);
  const std::size_t size = all.size();
  const auto base = static_cast<std::uint32_t>(shape.edges.size());
  for (std::size_t step = 1; step < size; ++step)
    for (std::size_t from = 0; from < size; ++from) {
      const std::size_t to = (from + step) % size;
      CollectiveEdge edge{all[from], all[to], 1 / static_cast<double>(size),
                          part_between(node_of, from, to)};
      if (!concurrent && step > 1)
        edge.after.push_back(base + static_cast<std::uint32_t>((step - 2) * size + from));
      shape.edges.push_back(std::move(edge));
    }
}

}  // namespace

bool GroupedDevices::even() const {
  return std::all_of(nodes.begin(), nodes.end(),
                     [&](const auto& node) { return node.size() == nodes.front().size(); });
}

GroupedDevices grouped(const std::vector<DeviceId>& group, const Platform& platform) {
  const std::vector<std::int32_t> group_of = innermost_groups(platform);
  std::map<std::int32_t, std::size_t> position;
  GroupedDevices devices;
  for (const DeviceId device : group) {
    const auto [entry, is_new] = position.try_emplace(group_of[device.at()], devices.nodes.size());
    if (is_new) devices.nodes.emplace_back();
    devices.nodes[entry->second].push_back(device);
  }
  return devices;
}

bool is_mesh(const std::vector<DeviceId>& group, const Platform& platform) {
  if (group.size() < 3) return false;
  std::vector<LinkId> first_links;
  for (std::size_t to = 1; to < group.size(); ++to) {
    const Result<Route> way = route(platform, group.front(), group[to]);
    if (!way || way->links.size() != 1) return false;
    first_links.push_back(way->links.front());
  }
  std::sort(first_links.begin(), first_links.end());
  return std::adjacent_find(first_links.begin(), first_links.end()) == first_links.end();
}

double edge_count(Collective kind, CollectiveAlgorithm algorithm, const GroupedDevices& devices) {
  double size = 0;
  for (const auto& node : devices.nodes) size += static_cast<double>(node.size());
  const double slots = devices.even() ? static_cast<double>(devices.nodes.front().size()) : 1;
  switch (algorithm) {
    case CollectiveAlgorithm::Direct:
      return (kind == Collective::AllReduce ? 2 : 1) * size * (size - 1);
    case CollectiveAlgorithm::Ring:
      return size * slots;
    case CollectiveAlgorithm::Tree:
      return 4 * size;
    case CollectiveAlgorithm::Automatic:
    case CollectiveAlgorithm::Hierarchical:
    case CollectiveAlgorithm::InSwitch:
      return 2 * size;
  }
  return size;
}

CollectiveShape ring_shape(Collective kind, const GroupedDevices& devices) {
  CollectiveShape shape;
  const std::size_t size = flattened(devices).size();
  const std::size_t rings = devices.single() || !devices.even() || kind == Collective::Broadcast
                                ? 1
                                : devices.nodes.front().size();
  const double share = ring_share(kind, size) / static_cast<double>(rings);
  for (std::size_t ring = 0; ring < rings; ++ring) add_circle(shape, kind, devices, ring, share);
  const int hops = ring_hops(kind, size);
  const int crossings = devices.single() ? 0 : static_cast<int>(devices.nodes.size());
  const int devices_in_all = static_cast<int>(size);
  shape.hops[kAcross] = (hops * crossings + devices_in_all - 1) / devices_in_all;
  shape.hops[kInside] = hops - shape.hops[kAcross];
  const std::size_t rings_inside = rings > 1 ? rings - 1 : 1;  // each device leaves by one of them
  shape.load[kInside] = share * static_cast<double>(rings_inside);
  shape.load[kAcross] = share;
  return shape;
}

/// Tree 0 is a heap over the devices in order, tree 1 the same over the reverse order: who is
/// inside one is a leaf of the other.
CollectiveShape tree_shape(Collective kind, const GroupedDevices& devices) {
  CollectiveShape shape;
  const std::vector<DeviceId> all = flattened(devices);
  const std::vector<std::size_t> node_of = nodes_of(devices);
  const std::size_t size = all.size();
  const bool reduces = kind == Collective::AllReduce;
  const double share = reduces ? 0.5 : 1;
  for (int tree = 0; tree < (reduces ? 2 : 1); ++tree) {
    const auto at = [&](std::size_t place) { return tree == 0 ? place : size - 1 - place; };
    for (std::size_t place = 1; place < size; ++place) {
      const std::size_t child = at(place);
      const std::size_t parent = at((place - 1) / 2);
      const FabricPart part = part_between(node_of, child, parent);
      if (reduces) shape.edges.push_back({all[child], all[parent], share, part});
      shape.edges.push_back({all[parent], all[child], share, part});
    }
  }
  const auto part = static_cast<std::size_t>(outermost(devices));
  const int depth = static_cast<int>(std::bit_width(size)) - 1;
  shape.hops[part] = reduces ? 2 * depth : depth;
  shape.load[part] = size == 2 ? 1 : 2;
  return shape;
}

CollectiveShape direct_shape(Collective kind, const GroupedDevices& devices, bool concurrent) {
  CollectiveShape shape;
  const std::size_t size = flattened(devices).size();
  const auto part = static_cast<std::size_t>(outermost(devices));
  add_exchange(shape, devices, concurrent);
  const std::uint32_t first_phase = static_cast<std::uint32_t>(shape.edges.size());
  if (kind == Collective::AllReduce) {
    add_exchange(shape, devices, concurrent);
    std::map<DeviceId, std::vector<std::uint32_t>> arrived;
    for (std::uint32_t edge = 0; edge < first_phase; ++edge)
      arrived[shape.edges[edge].to].push_back(edge);
    for (std::uint32_t edge = first_phase; edge < shape.edges.size(); ++edge) {
      auto& after = shape.edges[edge].after;
      if (!after.empty()) continue;
      after = arrived[shape.edges[edge].from];
    }
  }
  const int phases = kind == Collective::AllReduce ? 2 : 1;
  const double one = phases / static_cast<double>(size);
  const auto slots = static_cast<double>(devices.nodes.front().size());
  shape.load[kInside] = one * (concurrent ? 1 : slots - 1);
  shape.load[kAcross] = one * (static_cast<double>(size) - slots);
  shape.hops[part] = phases * (concurrent ? 1 : static_cast<int>(size) - 1);
  return shape;
}

CollectiveShape in_switch_shape(const GroupedDevices& devices, FabricPart part) {
  CollectiveShape shape;
  add_ring(shape, Collective::AllReduce, flattened(devices), 1, part);
  shape.load[static_cast<std::size_t>(part)] = 1;
  shape.hops[static_cast<std::size_t>(part)] = 2;
  return shape;
}

CollectiveShape hierarchical_shape(Collective kind, const GroupedDevices& devices,
                                   const GroupTunings& tunings) {
  CollectiveShape shape;
  const std::size_t slots = devices.nodes.front().size();
  const std::size_t nodes = devices.nodes.size();
  const bool reduces = kind == Collective::AllReduce;
  const bool switch_inside = reduces && tunings.inside.in_switch;
  const bool switch_across = reduces && tunings.across.in_switch;
  const bool broadcasts = kind == Collective::Broadcast;
  shape.load[kInside] = switch_inside ? 1 : ring_share(kind, slots);
  shape.load[kAcross] = switch_across ? 1 : ring_share(kind, nodes);
  if (!broadcasts) shape.load[kAcross] /= static_cast<double>(slots);
  shape.hops[kInside] = switch_inside ? 2 : ring_hops(kind, slots);
  shape.hops[kAcross] = switch_across ? 2 : ring_hops(kind, nodes);
  for (const auto& node : devices.nodes)
    add_ring(shape, kind, node, shape.load[kInside], FabricPart::Inside);
  for (std::size_t slot = 0; slot < (broadcasts ? 1 : slots); ++slot) {
    std::vector<DeviceId> circle;
    for (const auto& node : devices.nodes) circle.push_back(node[slot]);
    add_ring(shape, kind, circle, shape.load[kAcross], FabricPart::Across);
  }
  return shape;
}

}  // namespace pipecast
