#include <fmt/format.h>

#include <array>

#include "platforms/building.hpp"
#include "platforms/catalogue.hpp"

namespace pipecast {
namespace {

struct Cluster {
  int nodes = 1;
  int node_devices = 8;
  std::string accelerator;
  Bytes memory;
  BytesPerSecond nvlink_bandwidth;
  double nvlink_achieved = 1;
  Seconds nvlink_latency;
  BytesPerSecond card_bandwidth;
  double card_achieved = 1;
  int leaf_nodes = 32;
  int pod_nodes = 0;
  double leaf_oversubscription = 1;
  double spine_oversubscription = 1;
  Seconds leaf_latency;
  Seconds spine_latency;
  Seconds core_latency;
  std::string cross_rail = "nvlink";
};

const std::array<Field<Cluster>, 17> kFields{{
    {"nodes", &Cluster::nodes, "nodes of the cluster", 1, kMaxDevices},
    {"node_devices", &Cluster::node_devices, "devices, and cards, of a node", 1, 1024},
    {"accelerator", &Cluster::accelerator, "catalogue name of the device"},
    {"memory", &Cluster::memory, "device memory as the system reports it; 0 B: not known"},
    {"nvlink_bandwidth", &Cluster::nvlink_bandwidth, "line rate of a device's port, one direction",
     1},
    {"nvlink_achieved", &Cluster::nvlink_achieved, "fraction of it that a flow reaches", 1e-3, 1},
    {"nvlink_latency", &Cluster::nvlink_latency, "from device to device inside a node", 0, 1},
    {"card_bandwidth", &Cluster::card_bandwidth, "line rate of a network card, one direction", 1},
    {"card_achieved", &Cluster::card_achieved,
     "fraction of the line rate that a flow reaches on cards and switches", 1e-3, 1},
    {"leaf_nodes", &Cluster::leaf_nodes, "nodes whose cards of one rail share a leaf switch", 1,
     kMaxDevices},
    {"pod_nodes", &Cluster::pod_nodes,
     "nodes under one set of spines; more nodes need a core level; 0: all of them", 0, kMaxDevices},
    {"leaf_oversubscription", &Cluster::leaf_oversubscription,
     "bandwidth of a leaf's cards over that of its uplinks", 0.01, 1000},
    {"spine_oversubscription", &Cluster::spine_oversubscription,
     "bandwidth of a pod's leaf uplinks over that of its core uplinks", 0.01, 1000},
    {"leaf_latency", &Cluster::leaf_latency, "from device to device through one leaf", 0, 1},
    {"spine_latency", &Cluster::spine_latency, "from device to device through a spine", 0, 1},
    {"core_latency", &Cluster::core_latency, "from device to device through the core", 0, 1},
    {"cross_rail",
     &Cluster::cross_rail,
     "how another rail is reached: over NVLink to the card of that rail, or through the spine",
     0,
     0,
     {"nvlink", "spine"}},
}};

int groups(int nodes, int size) { return (nodes + size - 1) / size; }

Diagnostics faults_of_cluster(const Cluster& cluster) {
  Diagnostics faults = faults_of(
      "rail-cluster", double{1} * cluster.nodes * cluster.node_devices,
      {{"nvlink_bandwidth", cluster.nvlink_bandwidth}, {"card_bandwidth", cluster.card_bandwidth}});
  const bool spines = cluster.nodes > cluster.leaf_nodes || cluster.cross_rail == "spine";
  if (spines && cluster.spine_latency < cluster.leaf_latency)
    faults.push_back(
        input_error(fmt::format("spine_latency is {}, less than leaf_latency {}",
                                format(cluster.spine_latency), format(cluster.leaf_latency))));
  if (cluster.pod_nodes > 0 && cluster.pod_nodes % cluster.leaf_nodes != 0)
    faults.push_back(input_error(fmt::format("pod_nodes is {}, not a multiple of leaf_nodes {}",
                                             cluster.pod_nodes, cluster.leaf_nodes)));
  if (cluster.pod_nodes > 0 && cluster.nodes > cluster.pod_nodes &&
      cluster.core_latency < cluster.spine_latency)
    faults.push_back(
        input_error(fmt::format("core_latency is {}, less than spine_latency {}",
                                format(cluster.core_latency), format(cluster.spine_latency))));
  return faults;
}

/// The way out of a node while it is put together: each level extends the climb of the one before.
struct Outside {
  RoutingLevel level;
};

void add_cards(Platform& platform, const Cluster& cluster, Outside& outside) {
  const Wire wire{cluster.card_bandwidth, cluster.card_achieved, cluster.leaf_latency / 2};
  for (std::size_t device = 0; device < platform.devices.size(); ++device) {
    const Duplex card = add_duplex(platform, platform.devices[device].name + " card", wire);
    outside.level.climb[device] = {card.up};
    outside.level.descend[device] = {card.down};
  }
}

/// One uplink per leaf: the sum of its switch ports, spread evenly by the fabric.
void add_leaf_uplinks(Platform& platform, const Cluster& cluster, Outside& outside) {
  const int leaves = groups(cluster.nodes, cluster.leaf_nodes) * cluster.node_devices;
  const Wire wire{cluster.card_bandwidth * cluster.leaf_nodes / cluster.leaf_oversubscription,
                  cluster.card_achieved, (cluster.spine_latency - cluster.leaf_latency) / 2};
  std::vector<Duplex> uplinks;
  for (int leaf = 0; leaf < leaves; ++leaf)
    uplinks.push_back(add_duplex(
        platform,
        fmt::format("u{}.r{} leaf", leaf / cluster.node_devices, leaf % cluster.node_devices),
        wire));
  for (std::size_t device = 0; device < platform.devices.size(); ++device) {
    const int node = static_cast<int>(device) / cluster.node_devices;
    const int rail = static_cast<int>(device) % cluster.node_devices;
    const Duplex& uplink =
        uplinks[static_cast<std::size_t>(node / cluster.leaf_nodes * cluster.node_devices + rail)];
    outside.level.climb[device].push_back(uplink.up);
    outside.level.descend[device].insert(outside.level.descend[device].begin(), uplink.down);
  }
}

void add_pod_uplinks(Platform& platform, const Cluster& cluster, Outside& outside) {
  const double cards = double{1} * cluster.pod_nodes * cluster.node_devices;
  const Wire wire{cluster.card_bandwidth * cards / cluster.leaf_oversubscription /
                      cluster.spine_oversubscription,
                  cluster.card_achieved, (cluster.core_latency - cluster.spine_latency) / 2};
  std::vector<Duplex> uplinks;
  for (int pod = 0; pod < groups(cluster.nodes, cluster.pod_nodes); ++pod)
    uplinks.push_back(add_duplex(platform, fmt::format("p{} spine", pod), wire));
  for (std::size_t device = 0; device < platform.devices.size(); ++device) {
    const std::size_t pod =
        device / static_cast<std::size_t>(cluster.pod_nodes * cluster.node_devices);
    outside.level.climb[device].push_back(uplinks[pod].up);
    outside.level.descend[device].insert(outside.level.descend[device].begin(), uplinks[pod].down);
  }
}

/// The level as it stands, with groups of `group_nodes` nodes meeting there.
RoutingLevel meeting(const Cluster& cluster, const Outside& outside, std::string name,
                     int group_nodes) {
  RoutingLevel level = outside.level;
  level.name = std::move(name);
  for (std::size_t device = 0; device < level.group_of.size(); ++device)
    level.group_of[device] = static_cast<int>(device) / cluster.node_devices / group_nodes;
  if (cluster.cross_rail == "nvlink")
    level.lanes = lanes_of_nodes(cluster.nodes, cluster.node_devices);
  return level;
}

/// Without forwarding over NVLink only cards of the same rail meet at a leaf.
void split_by_rail(const Cluster& cluster, RoutingLevel& level) {
  for (std::size_t device = 0; device < level.group_of.size(); ++device)
    level.group_of[device] = level.group_of[device] * cluster.node_devices +
                             static_cast<int>(device) % cluster.node_devices;
}

Result<Platform> expand(const FieldValues& values) {
  const Cluster cluster = pipecast::bind<Cluster>(kFields, values);
  Diagnostics faults = faults_of_cluster(cluster);
  if (!faults.empty()) return fail(std::move(faults));
  Platform platform;
  platform.name = "rail-cluster";
  add_nodes(platform, cluster.nodes, cluster.node_devices, cluster.accelerator, cluster.memory);
  LevelRouting routing;
  routing.levels.push_back(
      switch_level(platform, "nvlink", cluster.nodes, cluster.node_devices,
                   {cluster.nvlink_bandwidth, cluster.nvlink_achieved, cluster.nvlink_latency}));
  Outside outside{empty_level("", platform.devices.size())};
  add_cards(platform, cluster, outside);
  routing.levels.push_back(meeting(cluster, outside, "leaf", cluster.leaf_nodes));
  const bool by_spine = cluster.cross_rail == "spine";
  if (by_spine) split_by_rail(cluster, routing.levels.back());
  if (by_spine || cluster.nodes > cluster.leaf_nodes) {
    add_leaf_uplinks(platform, cluster, outside);
    const int pod = cluster.pod_nodes > 0 ? cluster.pod_nodes : cluster.nodes;
    routing.levels.push_back(meeting(cluster, outside, "spine", pod));
    if (cluster.nodes > pod) {
      add_pod_uplinks(platform, cluster, outside);
      routing.levels.push_back(meeting(cluster, outside, "core", cluster.nodes));
    }
  }
  platform.routing = std::move(routing);
  return platform;
}

}  // namespace

PlatformKind rail_cluster_kind() {
  return {"rail-cluster",
          "nodes with one card per device; a leaf switch per rail, spines, optional core",
          describe<Cluster>(kFields), expand};
}

}  // namespace pipecast
