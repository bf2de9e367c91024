#include "sim/model/collective_shape.hpp"

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

/// Devices of one group in a circle; a broadcast does not close it.
void add_ring(CollectiveShape& shape, Collective kind, const std::vector<DeviceId>& circle,
              double share, FabricPart part) {
  const std::size_t edges = circle.size() - (kind == Collective::Broadcast ? 1 : 0);
  for (std::size_t at = 0; at < edges; ++at)
    shape.edges.push_back({circle[at], circle[(at + 1) % circle.size()], share, part});
}

/// Slot at a step of the walk of ring `ring` through a node. On a mesh the walks of the rings are
/// the rows of Williams' square (0, 1, −1, 2, −2, …, turned by the ring): where the slots are even
/// in number, no two of them use a wire.
std::size_t walked_slot(const GroupedDevices& devices, std::size_t ring, std::size_t step,
                        std::size_t slots) {
  if (!devices.mesh) return (ring + step) % slots;
  const std::size_t turn = step % 2 == 1 ? (step + 1) / 2 : slots - step / 2;
  return (ring + turn) % slots;
}

/// One circle through all nodes that enters and leaves each of them at the ends of the ring's walk;
/// every other node is walked backwards so that rails are kept.
void add_circle(CollectiveShape& shape, Collective kind, const GroupedDevices& devices,
                std::size_t ring, double share) {
  std::vector<DeviceId> circle;
  std::vector<std::size_t> node_of;
  for (std::size_t node = 0; node < devices.nodes.size(); ++node) {
    const std::size_t size = devices.nodes[node].size();
    for (std::size_t step = 0; step < size; ++step) {
      const std::size_t walked = node % 2 == 0 ? step : size - 1 - step;
      circle.push_back(devices.nodes[node][walked_slot(devices, ring, walked, size)]);
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

std::size_t largest_node(const GroupedDevices& devices) {
  std::size_t largest = 0;
  for (const auto& node : devices.nodes) largest = std::max(largest, node.size());
  return largest;
}

std::size_t smallest_node(const GroupedDevices& devices) {
  std::size_t smallest = devices.nodes.front().size();
  for (const auto& node : devices.nodes) smallest = std::min(smallest, node.size());
  return smallest;
}

/// Every device sends its share to every other one. After the first of a part, a message waits for
/// the one before it of its device and part.
class Exchange {
 public:
  Exchange(CollectiveShape& shape, const GroupedDevices& devices, bool concurrent)
      : shape_(shape),
        devices_(devices),
        concurrent_(concurrent),
        share_(1 / static_cast<double>(flattened(devices).size())) {}

  void add() {
    const std::size_t slots = largest_node(devices_);
    for (std::size_t turn = 1; turn < slots; ++turn) add_inside(turn);
    last_.clear();
    for (std::size_t away = 1; away < devices_.nodes.size(); ++away)
      for (std::size_t turn = 0; turn < slots; ++turn) add_across(away, turn, slots);
    last_.clear();
  }

 private:
  void add_inside(std::size_t turn) {
    for (const auto& node : devices_.nodes)
      for (std::size_t slot = 0; slot < node.size() && turn < node.size(); ++slot)
        add_message(node[slot], node[(slot + turn) % node.size()], FabricPart::Inside);
  }

  /// From every slot to the one `turn` further on, `away` nodes away: every card sends one message
  /// and receives one.
  void add_across(std::size_t away, std::size_t turn, std::size_t slots) {
    for (std::size_t node = 0; node < devices_.nodes.size(); ++node) {
      const auto& here = devices_.nodes[node];
      const auto& there = devices_.nodes[(node + away) % devices_.nodes.size()];
      for (std::size_t slot = 0; slot < here.size(); ++slot)
        if (const std::size_t to = (slot + turn) % slots; to < there.size())
          add_message(here[slot], there[to], FabricPart::Across);
    }
  }

  void add_message(DeviceId from, DeviceId to, FabricPart part) {
    CollectiveEdge edge{from, to, share_, part};
    if (part == FabricPart::Across || !concurrent_) {
      const auto number = static_cast<std::uint32_t>(shape_.edges.size());
      const auto [before, is_first] = last_.try_emplace(from, number);
      if (!is_first) edge.after.push_back(before->second);
      before->second = number;
    }
    shape_.edges.push_back(std::move(edge));
  }

  CollectiveShape& shape_;
  const GroupedDevices& devices_;
  bool concurrent_;
  double share_;
  std::map<DeviceId, std::uint32_t> last_;  ///< message of a device
};

}  // namespace

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
  devices.mesh = is_mesh(devices.nodes.front(), platform);
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
  constexpr double kWiredRings = 8;  // both directions of four axes
  switch (algorithm) {
    case CollectiveAlgorithm::Direct:
      return (kind == Collective::AllReduce ? 2 : 1) * size * (size - 1);
    case CollectiveAlgorithm::Ring:
      return size * (devices.single() ? kWiredRings : slots);
    case CollectiveAlgorithm::Tree:
      return 2 * size * (slots + 1);
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
  // Of the rings of a device, each but one stays inside; on a mesh they have wires of their own.
  const std::size_t on_a_wire = devices.nodes.front().size() % 2 == 0 ? 1 : 2;
  const std::size_t rings_inside = rings == 1 ? 1 : devices.mesh ? on_a_wire : rings - 1;
  shape.load[kInside] = share * static_cast<double>(rings_inside);
  shape.load[kAcross] = share;
  return shape;
}

namespace {

/// All-reduce by trees that use every card, as NCCL's channels do: slot by slot, two trees over the
/// nodes, and inside each node a chain that ends at the slot. As in NCCL's own model, and as from
/// five nodes on by itself, the busiest card carries its part of the message twice in each
/// direction; between two nodes once.
CollectiveShape trees_over_cards(const GroupedDevices& devices) {
  CollectiveShape shape;
  const std::size_t slots = devices.nodes.front().size();
  const std::size_t nodes = devices.nodes.size();
  const double share = 1 / static_cast<double>(slots);
  const double over_cards = share / 2 * (nodes == 3 || nodes == 4 ? 4.0 / 3 : 1);
  const auto both_ways = [&](DeviceId a, DeviceId b, double part_of, FabricPart part) {
    shape.edges.push_back({a, b, part_of, part});
    shape.edges.push_back({b, a, part_of, part});
  };
  for (std::size_t slot = 0; slot < slots; ++slot) {
    for (const auto& node : devices.nodes)
      for (std::size_t step = 1; step < slots; ++step)
        both_ways(node[walked_slot(devices, slot, step, slots)],
                  node[walked_slot(devices, slot, step - 1, slots)], share, FabricPart::Inside);
    for (std::size_t place = 1; place < nodes; ++place) {
      const std::size_t parent = (place - 1) / 2;
      both_ways(devices.nodes[place][slot], devices.nodes[parent][slot], over_cards,
                FabricPart::Across);
      both_ways(devices.nodes[nodes - 1 - place][slot], devices.nodes[nodes - 1 - parent][slot],
                over_cards, FabricPart::Across);
    }
  }
  shape.load[kInside] = 2 * share * static_cast<double>(slots - 1);
  shape.load[kAcross] = share * (nodes == 2 ? 1 : 2);
  shape.hops[kInside] = 2 * (static_cast<int>(slots) - 1);
  shape.hops[kAcross] = 2 * (static_cast<int>(std::bit_width(nodes)) - 1);
  return shape;
}

}  // namespace

/// Tree 0 is a heap over the devices in order, tree 1 the same over the reverse order: who is
/// inside one is a leaf of the other.
CollectiveShape tree_shape(Collective kind, const GroupedDevices& devices) {
  if (kind == Collective::AllReduce && !devices.single() && devices.even())
    return trees_over_cards(devices);
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
  Exchange(shape, devices, concurrent).add();
  const std::uint32_t first_phase = static_cast<std::uint32_t>(shape.edges.size());
  if (kind == Collective::AllReduce) {
    Exchange(shape, devices, concurrent).add();
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
  const std::size_t inside = concurrent ? 1 : largest_node(devices) - 1;
  const std::size_t across = size - smallest_node(devices);
  shape.load[kInside] = one * static_cast<double>(inside);
  shape.load[kAcross] = one * static_cast<double>(across);
  shape.hops[kInside] = phases * static_cast<int>(inside);
  shape.hops[kAcross] = phases * static_cast<int>(across);
  shape.own_wires = concurrent;
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
                                   const Platform& platform) {
  CollectiveShape shape;
  const std::size_t slots = devices.nodes.front().size();
  const std::size_t nodes = devices.nodes.size();
  const bool reduces = kind == Collective::AllReduce;
  const bool switch_inside = reduces && platform.collectives_inside.in_switch;
  const bool switch_across = reduces && platform.collectives_across.in_switch;
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
