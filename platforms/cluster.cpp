#include "platforms/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <iterator>

namespace pipecast {
namespace {

std::array<Field<Cluster>, 13> node_rows() {
  return {{
      {"sites", &Cluster::sites, "sites, each with an equal share of the nodes", 2, 64},
      {"nodes", &Cluster::nodes, "nodes of the cluster", 1, kMaxDevices},
      {"domain_nodes", &Cluster::domain_nodes, "nodes of one scale-up domain", 1, kMaxDevices},
      {"node_devices", &Cluster::node_devices, "devices of a node", 1, 1024},
      {"node_cards", &Cluster::node_cards,
       "cards of a node, each shared by equally many devices; 0: one per device", 0, 1024},
      {"accelerator", &Cluster::accelerator, "catalogue name of the device"},
      {"memory", &Cluster::memory, "device memory as the system reports it; 0 B: not known"},
      {"scale_up",
       &Cluster::scale_up,
       "how devices of a node are joined: by a switch, or each with each",
       0,
       0,
       {"switch", "mesh"}},
      {"scale_up_bandwidth", &Cluster::scale_up_bandwidth,
       "line rate of all scale-up ports of a device, one direction", 1},
      {"scale_up_achieved", &Cluster::scale_up_achieved, "fraction of it that a flow reaches", 1e-3,
       1},
      {"scale_up_latency", &Cluster::scale_up_latency, "from device to device inside a node", 0, 1},
      {"domain_oversubscription", &Cluster::domain_oversubscription,
       "scale-up bandwidth of a node's devices over that of its uplinks in the domain", 0.01, 1000},
      {"domain_latency", &Cluster::domain_latency,
       "from device to device between nodes of one domain", 0, 1},
  }};
}

std::array<Field<Cluster>, 12> network_rows() {
  return {{
      {"card_bandwidth", &Cluster::card_bandwidth, "line rate of a network card, one direction", 1},
      {"card_achieved", &Cluster::card_achieved,
       "fraction of the line rate that a flow reaches on cards and switches", 1e-3, 1},
      {"leaf_nodes", &Cluster::leaf_nodes, "nodes that share a leaf switch", 1, kMaxDevices},
      {"pod_nodes", &Cluster::pod_nodes,
       "nodes under one set of spines; more nodes need a core level; 0: all of them", 0,
       kMaxDevices},
      {"leaf_oversubscription", &Cluster::leaf_oversubscription,
       "bandwidth of a leaf's cards over that of its uplinks", 0.01, 1000},
      {"spine_oversubscription", &Cluster::spine_oversubscription,
       "bandwidth of a pod's leaf uplinks over that of its core uplinks", 0.01, 1000},
      {"leaf_latency", &Cluster::leaf_latency, "from device to device through one leaf", 0, 1},
      {"spine_latency", &Cluster::spine_latency, "from device to device through a spine", 0, 1},
      {"core_latency", &Cluster::core_latency, "from device to device through the core", 0, 1},
      {"cross_rail",
       &Cluster::cross_rail,
       "how another rail is reached: over the scale-up links to the card of that rail, or through "
       "the spine",
       0,
       0,
       {"scale-up", "spine"}},
      {"site_bandwidth", &Cluster::site_bandwidth, "of the line out of a site, one direction", 1},
      {"site_latency", &Cluster::site_latency, "from device to device between sites", 0, 10},
  }};
}

std::array<Field<Cluster>, 4> collective_rows() {
  return {{
      {"collective_latency", &Cluster::collective_latency,
       "of a tiny collective inside the scale-up domain; 0 s: hop by hop", 0, 1},
      {"collective_achieved", &Cluster::collective_achieved,
       "fraction of the links' bandwidth that a huge collective reaches there", 1e-3, 10},
      {"collective_half_size", &Cluster::collective_half_size,
       "message at which a large-message collective takes twice its wire time there", 0},
      {"in_switch_reduction", &Cluster::in_switch_reduction,
       "whether the scale-up switches can reduce (NVLS)"},
  }};
}

std::array<Field<Cluster>, 4> network_collective_rows() {
  return {{
      {"network_collective_latency", &Cluster::network_collective_latency,
       "of a tiny collective over the cards; 0 s: hop by hop", 0, 1},
      {"network_collective_achieved", &Cluster::network_collective_achieved,
       "fraction of the cards' bandwidth that a huge collective reaches", 1e-3, 10},
      {"network_collective_half_size", &Cluster::network_collective_half_size,
       "message at which a large-message collective takes twice its wire time", 0},
      {"network_in_switch_reduction", &Cluster::network_in_switch_reduction,
       "whether the network's switches can reduce (SHARP)"},
  }};
}

bool has(const std::vector<Field<Cluster>>& fields, std::string_view name) {
  return std::any_of(fields.begin(), fields.end(),
                     [&](const Field<Cluster>& field) { return field.name == name; });
}

void order_faults(Diagnostics& faults, std::string_view inner_name, Seconds inner,
                  std::string_view outer_name, Seconds outer) {
  if (outer < inner)
    faults.push_back(input_error(fmt::format("{} is {}, less than {} {}", outer_name, format(outer),
                                             inner_name, format(inner))));
}

void multiple_faults(Diagnostics& faults, std::string_view outer_name, int outer,
                     std::string_view inner_name, int inner) {
  if (outer % inner == 0) return;
  const int below = outer / inner * inner;
  faults.push_back(input_error(
      fmt::format("{} is {}, not a multiple of {} {}", outer_name, outer, inner_name, inner),
      below > 0 ? fmt::format("nearest: {} or {}", below, below + inner)
                : fmt::format("nearest: {}", inner)));
}

void network_faults(Diagnostics& faults, const Cluster& cluster) {
  if (cluster.nodes > cluster.leaf_nodes || cluster.cross_rail == "spine")
    order_faults(faults, "leaf_latency", cluster.leaf_latency, "spine_latency",
                 cluster.spine_latency);
  if (cluster.pod_nodes == 0) return;
  multiple_faults(faults, "pod_nodes", cluster.pod_nodes, "leaf_nodes", cluster.leaf_nodes);
  if (cluster.nodes > cluster.pod_nodes)
    order_faults(faults, "spine_latency", cluster.spine_latency, "core_latency",
                 cluster.core_latency);
}

CollectiveTuning tuning_inside(const Cluster& cluster) {
  return {cluster.collective_latency, cluster.collective_achieved, cluster.collective_half_size,
          cluster.in_switch_reduction};
}

/// All cards below a switch together.
struct Uplink {
  BytesPerSecond rate;
  double achieved = 1;
};

/// Places below a switch that have no node yet are taken to be like the machine's nodes.
Uplink cards_below(const ClusterNodes& nodes, const CardsBelow& below) {
  const Cluster& cluster = nodes.machine();
  const double cards = double{1} * below.nodes * below.node_cards;
  if (!nodes.differ(below.first_node, std::min(below.first_node + below.nodes, cluster.nodes)))
    return {cluster.card_bandwidth * cards, cluster.card_achieved};
  BytesPerSecond rate;
  BytesPerSecond reached;
  for (int node = below.first_node; node < below.first_node + below.nodes; ++node) {
    const Cluster& own = node < cluster.nodes ? nodes.of(node) : cluster;
    rate = rate + own.card_bandwidth * below.node_cards;
    reached = reached + own.card_bandwidth * (below.node_cards * own.card_achieved);
  }
  return {rate, reached / rate};
}

}  // namespace

std::vector<Field<Cluster>> cluster_fields(std::initializer_list<std::string_view> names) {
  const auto nodes = node_rows();
  const auto network = network_rows();
  const auto collectives = collective_rows();
  std::vector<Field<Cluster>> all(nodes.begin(), nodes.end());
  all.insert(all.end(), network.begin(), network.end());
  std::vector<Field<Cluster>> picked;
  for (const std::string_view name : names) {
    const auto row = std::find_if(all.begin(), all.end(),
                                  [&](const Field<Cluster>& field) { return field.name == name; });
    assert(row != all.end() && "a kind picks rows of the table");
    picked.push_back(*row);
  }
  picked.insert(picked.end(), collectives.begin(), collectives.end());
  return picked;
}

std::vector<Field<Cluster>> network_cluster_fields(std::initializer_list<std::string_view> names) {
  std::vector<Field<Cluster>> picked = cluster_fields(names);
  const auto across = network_collective_rows();
  picked.insert(picked.end(), across.begin(), across.end());
  return picked;
}

std::vector<NodeField> cluster_node_fields(const std::vector<Field<Cluster>>& fields) {
  using Otherwise = NodeField::Otherwise;
  const std::array<NodeField, 11> all{{
      {"memory", Otherwise::Catalogue, Property::MemoryReported},
      {"scale_up", Otherwise::Machine},
      {"scale_up_bandwidth", Otherwise::Catalogue, Property::ScaleUpBandwidth},
      {"scale_up_achieved", Otherwise::Machine},
      {"scale_up_latency", Otherwise::Machine},
      {"card_bandwidth", Otherwise::Machine},
      {"card_achieved", Otherwise::Machine},
      {"collective_latency", Otherwise::Default},
      {"collective_achieved", Otherwise::Default},
      {"collective_half_size", Otherwise::Default},
      {"in_switch_reduction", Otherwise::Default},
  }};
  std::vector<NodeField> picked;
  std::copy_if(all.begin(), all.end(), std::back_inserter(picked),
               [&](const NodeField& field) { return has(fields, field.name); });
  return picked;
}

Platform start_platform(std::string name, const ClusterNodes& nodes) {
  Platform platform;
  const Cluster& cluster = nodes.machine();
  platform.name = std::move(name);
  platform.collectives_inside = tuning_inside(cluster);
  platform.collectives_across = {
      cluster.network_collective_latency, cluster.network_collective_achieved,
      cluster.network_collective_half_size, cluster.network_in_switch_reduction};
  add_nodes(platform, cluster.nodes, cluster.node_devices, [&](int node) {
    const Cluster& own = nodes.of(node);
    return Device{{}, own.accelerator, own.memory, 1.0};
  });
  const auto usual = [&](const Cluster& each) {
    return tuning_inside(each) == platform.collectives_inside;
  };
  const std::vector<Cluster> kinds = nodes.blocks();
  if (std::all_of(kinds.begin(), kinds.end(), usual)) return platform;
  for (int device = 0; device < static_cast<int>(platform.devices.size()); ++device)
    platform.collectives_inside_of.push_back(
        tuning_inside(nodes.of(device / cluster.node_devices)));
  return platform;
}

Diagnostics cluster_faults(std::string_view kind, const ClusterNodes& nodes,
                           const std::vector<Field<Cluster>>& fields) {
  Diagnostics faults;
  const Cluster& cluster = nodes.machine();
  faults = device_faults(kind, double{1} * cluster.nodes * cluster.node_devices);
  for (const Cluster& each : nodes.blocks())
    for (const Field<Cluster>& field : fields)
      if (const auto* rate = std::get_if<BytesPerSecond Cluster::*>(&field.member))
        if (!((each.**rate).value > 0)) faults.push_back(missing_field(kind, field.name));
  if (has(fields, "leaf_nodes")) network_faults(faults, cluster);
  if (has(fields, "domain_nodes")) {
    multiple_faults(faults, "nodes", cluster.nodes, "domain_nodes", cluster.domain_nodes);
    multiple_faults(faults, "leaf_nodes", cluster.leaf_nodes, "domain_nodes", cluster.domain_nodes);
  }
  if (has(fields, "domain_latency"))
    for (const Cluster& each : nodes.blocks())
      order_faults(faults, "scale_up_latency", each.scale_up_latency, "domain_latency",
                   cluster.domain_latency);
  if (has(fields, "sites")) {
    multiple_faults(faults, "nodes", cluster.nodes, "sites", cluster.sites);
    order_faults(faults, "spine_latency", cluster.spine_latency, "site_latency",
                 cluster.site_latency);
  }
  if (cluster.node_cards > 0)
    multiple_faults(faults, "node_devices", cluster.node_devices, "node_cards", cluster.node_cards);
  return faults;
}

LevelRouting node_levels(Platform& platform, const ClusterNodes& nodes) {
  const Cluster& cluster = nodes.machine();
  const auto meshed = [&](int node) { return nodes.of(node).scale_up == "mesh"; };
  int meshes = 0;
  for (int node = 0; node < cluster.nodes; ++node) meshes += meshed(node) ? 1 : 0;
  const std::string name = meshes == 0 ? "nvlink" : meshes == cluster.nodes ? "mesh" : "scale-up";
  RoutingLevel level = empty_level(name, platform.devices.size());
  level.group_of = blocks(platform, cluster.node_devices);
  const WireOf wire_of = scale_up_wires(nodes);
  const MeshPlan plan = meshes > 0 ? mesh_plan(full_mesh(cluster.node_devices)) : MeshPlan{};
  for (int node = 0; node < cluster.nodes; ++node) {
    const int first = node * cluster.node_devices;
    Wire wire = wire_of(first);
    if (meshed(node)) {
      wire.line_rate = wire.line_rate / std::max(1, cluster.node_devices - 1);
      add_mesh(platform, level, node, plan, wire);
      continue;
    }
    wire.latency = wire.latency / 2;
    for (int device = first; device < first + cluster.node_devices; ++device) {
      const auto at = static_cast<std::size_t>(device);
      const Duplex port = add_duplex(platform, platform.devices[at].name + " nvlink", wire);
      level.climb[at] = {port.up};
      level.descend[at] = {port.down};
    }
  }
  return LevelRouting{{std::move(level)}};
}

WireOf scale_up_wires(const ClusterNodes& nodes) {
  return [&nodes](int device) {
    const Cluster& own = nodes.of(device / nodes.machine().node_devices);
    return Wire{own.scale_up_bandwidth, own.scale_up_achieved, own.scale_up_latency};
  };
}

WireOf card_wires(const ClusterNodes& nodes, int node_cards) {
  return [&nodes, node_cards](int card) {
    const Cluster& own = nodes.of(card / node_cards);
    return Wire{own.card_bandwidth, own.card_achieved, nodes.machine().leaf_latency / 2};
  };
}

Wire leaf_wire(const ClusterNodes& nodes, const CardsBelow& below) {
  const Cluster& cluster = nodes.machine();
  const Uplink cards = cards_below(nodes, below);
  return {cards.rate / cluster.leaf_oversubscription, cards.achieved,
          (cluster.spine_latency - cluster.leaf_latency) / 2};
}

Wire spine_wire(const ClusterNodes& nodes, const CardsBelow& below) {
  const Cluster& cluster = nodes.machine();
  const Uplink cards = cards_below(nodes, below);
  return {cards.rate / cluster.leaf_oversubscription / cluster.spine_oversubscription,
          cards.achieved, (cluster.core_latency - cluster.spine_latency) / 2};
}

int pod_size(const Cluster& cluster) {
  return cluster.pod_nodes > 0 ? cluster.pod_nodes : cluster.nodes;
}

}  // namespace pipecast
