#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "sim/graph/device_costs.hpp"
#include "sim/graph/edge_list.hpp"
#include "sim/graph/symmetric_fold.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/model/program.hpp"
#include "sim/model/replica_devices.hpp"

namespace pipecast {

/// The tasks and edges of all replicas of a pipeline while they are put together. Task i of replica
/// r is number r · (tasks of the pipeline) + i; what is added later follows. Ranks count places:
/// replica · P + rank.
class ReplicaGraph {
 public:
  ReplicaGraph(const TaskGraph& pipeline, const Program& program, const Workload& workload,
               const Platform& platform, const ReplicaDevices& devices);

  /// Every replica's pipeline, on its own devices and routes.
  void add_replicas();

  std::size_t places() const {
    return static_cast<std::size_t>(ranks_) * static_cast<std::size_t>(devices_.replicas());
  }
  std::size_t place(int replica, int rank) const {
    return static_cast<std::size_t>(replica) * static_cast<std::size_t>(ranks_) +
           static_cast<std::size_t>(rank);
  }
  std::uint32_t id(int replica, std::uint32_t task) const {
    return static_cast<std::uint32_t>(replica) *
               static_cast<std::uint32_t>(pipeline_.tasks.size()) +
           task;
  }
  /// What the operations cost there; the same object for devices that take the same time.
  const Workload& costs_on(DeviceId device) const { return costs_.on(device); }
  double slowdown(DeviceId device) const { return platform_.devices[device.at()].slowdown; }

  /// A task of one replica.
  std::uint32_t add_own(const Task& task, int replica);
  /// A task of a set of replicas. The sets' tasks of one slot are images of each other; slots are
  /// counted without holes: use_slots() when all sets have theirs.
  std::uint32_t add_shared(const Task& task, std::int32_t set, std::uint32_t slot);
  void use_slots(std::uint32_t count) { shared_slot_ += count; }
  void add_edge(std::uint32_t first, std::uint32_t second) { edges_.emplace_back(first, second); }
  /// Index of the route between two devices; a fault when there is none.
  std::int32_t route_of(DeviceId from, DeviceId to);
  /// A task within an operation: `seconds` now, and `share` of what the operation gains.
  std::uint32_t add_delay(int replica, std::uint32_t operation, double seconds, double share);

  /// For replicas that are not alike: the moment at which the last of them has ended, which the one
  /// that is shown would not know, and the edges as a graph.
  void finish();

  TaskGraph& graph() { return graph_; }
  const TaskGraph& graph() const { return graph_; }
  std::vector<Edge>& edges() { return edges_; }
  const std::vector<Edge>& edges() const { return edges_; }
  const ReplicaTasks& tasks() const { return tasks_; }
  Diagnostics& faults() { return faults_; }

 private:
  std::uint32_t add(const Task& task, std::int32_t owner, std::uint32_t slot);
  void add_replica(int replica);
  double seconds_on(DeviceId device, const Task& task) const;

  const TaskGraph& pipeline_;
  const Program& program_;
  const Platform& platform_;
  const ReplicaDevices& devices_;
  DeviceCosts costs_;
  int ranks_;
  TaskGraph graph_;
  std::vector<Edge> edges_;
  ReplicaTasks tasks_;
  std::map<std::pair<DeviceId, DeviceId>, std::int32_t> routes_;
  std::vector<std::uint32_t> next_slot_;  ///< [replica]
  std::uint32_t shared_slot_ = 0;
  Diagnostics faults_;
};

/// A point in time: no seconds, on no stream of its own.
Task moment(std::size_t place, Stage stage);

}  // namespace pipecast
