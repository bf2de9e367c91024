#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/graph/edge_list.hpp"
#include "sim/graph/fabric_traffic.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/model/replica_devices.hpp"

namespace pipecast {

/// Tasks of several replicas that were built alike. Task i of a replica has slot i; so have the
/// tasks that belong to no replica, of which each set of replicas has its own.
struct ReplicaTasks {
  std::vector<std::int32_t> owner;  ///< [task] replica, or −1 − set of replicas
  std::vector<std::uint32_t> slot;  ///< [task]
};

struct FoldedGraph {
  TaskGraph graph;
  Platform platform;                ///< with links that stand for several
  std::vector<std::uint32_t> kept;  ///< [task of graph] the task it was
  FabricTraffic traffic;            ///< of all replicas
};

/// One replica that stands for all, or nothing when they are not provably alike: equal tasks, equal
/// edges, routes that map onto each other link by link, and links of one image that all carry the
/// same. Rates are max-min fair, so flows that are images of each other have one rate: a link of
/// capacity C that n images of a flow cross takes from the one that stands for them n times its
/// rate. `edges` are those of `graph`. O(tasks + edges + hops).
std::optional<FoldedGraph> fold_replicas(const TaskGraph& graph, const std::vector<Edge>& edges,
                                         const ReplicaTasks& tasks, int pipeline_ranks,
                                         const Platform& platform);

/// Whether the devices of all replicas compute at the same speeds, rank by rank.
bool replicas_alike(const ReplicaDevices& devices, const Workload& workload,
                    const Platform& platform);

/// The same for replicas that exchange nothing, which all run `pipeline`: only the routes of
/// replicas are compared, so their tasks need not be there. O(devices + replicas · routes).
std::optional<FoldedGraph> fold_silent_replicas(const TaskGraph& pipeline, const Workload& workload,
                                                const ReplicaDevices& devices,
                                                const Platform& platform);

}  // namespace pipecast
