#include "sim/graph/replica_graph.hpp"

#include "sim/graph/deadlock.hpp"

namespace pipecast {

Task moment(std::size_t place, Stage stage) {
  Task task;
  task.kind = OpKind::Gap;
  task.rank = static_cast<std::int32_t>(place);
  task.stage = stage.value;
  task.microbatch = -1;
  return task;
}

ReplicaGraph::ReplicaGraph(const TaskGraph& pipeline, const Program& program,
                           const Workload& workload, const Platform& platform,
                           const ReplicaDevices& devices)
    : pipeline_(pipeline),
      program_(program),
      platform_(platform),
      devices_(devices),
      costs_(workload, platform),
      ranks_(pipeline.ranks),
      next_slot_(static_cast<std::size_t>(devices.replicas()),
                 static_cast<std::uint32_t>(pipeline.tasks.size())) {}

void ReplicaGraph::add_replicas() {
  graph_.ranks = ranks_ * devices_.replicas();
  for (int replica = 0; replica < devices_.replicas(); ++replica) add_replica(replica);
}

std::uint32_t ReplicaGraph::add(const Task& task, std::int32_t owner, std::uint32_t slot) {
  graph_.tasks.push_back(task);
  tasks_.owner.push_back(owner);
  tasks_.slot.push_back(slot);
  return static_cast<std::uint32_t>(graph_.tasks.size() - 1);
}

std::uint32_t ReplicaGraph::add_own(const Task& task, int replica) {
  return add(task, replica, next_slot_[static_cast<std::size_t>(replica)]++);
}

std::uint32_t ReplicaGraph::add_shared(const Task& task, std::int32_t set, std::uint32_t slot) {
  return add(task, -1 - set, shared_slot_ + slot);
}

void ReplicaGraph::add_replica(int replica) {
  const auto first = static_cast<std::int32_t>(place(replica, 0));
  for (int rank = 0; rank < ranks_; ++rank)
    graph_.device_of_rank.push_back(devices_.device(replica, rank));
  for (std::uint32_t i = 0; i < pipeline_.tasks.size(); ++i) {
    Task task = pipeline_.tasks[i];
    if (is_work(task))
      task.seconds = seconds_on(devices_.device(replica, task.rank), pipeline_.tasks[i]);
    if (task.route >= 0)
      task.route =
          route_of(devices_.device(replica, task.rank), devices_.device(replica, task.peer));
    task.rank += first;
    if (task.peer >= 0) task.peer += first;
    add(task, replica, i);
    for (auto [next, end] = boost::adjacent_vertices(i, pipeline_.dependencies); next != end;
         ++next)
      add_edge(id(replica, i), id(replica, *next));
  }
}

/// An operation of replica 0 as it is on another replica's device.
double ReplicaGraph::seconds_on(DeviceId device, const Task& task) const {
  const DeviceId shown = devices_.device(0, task.rank);
  if (&costs_.on(device) != &costs_.on(shown)) {
    const std::vector<Op>& ops = program_.ranks[static_cast<std::size_t>(task.rank)];
    const std::span<const Op> cell(ops.data() + task.position, task.cell_ops);
    return cell_duration(costs_.on(device), cell).value * slowdown(device);
  }
  const double speed = slowdown(device) / slowdown(shown);
  return speed != 1 ? task.seconds * speed : task.seconds;
}

std::int32_t ReplicaGraph::route_of(DeviceId from, DeviceId to) {
  const auto [entry, is_new] =
      routes_.try_emplace({from, to}, static_cast<std::int32_t>(graph_.routes.size()));
  if (is_new) {
    Result<Route> way = route(platform_, from, to);
    if (!way) faults_.insert(faults_.end(), way.error().begin(), way.error().end());
    graph_.routes.push_back(way ? std::move(*way) : Route{});
  }
  return entry->second;
}

std::uint32_t ReplicaGraph::add_delay(int replica, std::uint32_t operation, double seconds,
                                      double share) {
  const std::uint32_t work = id(replica, operation);
  const Task& task = graph_.tasks[work];
  Task delay = moment(static_cast<std::size_t>(task.rank), {task.stage});
  delay.stream = Stream::Collective;
  delay.seconds = seconds;
  const std::uint32_t added = add_own(delay, replica);
  graph_.delays.push_back({added, work, share});
  return added;
}

void ReplicaGraph::finish() {
  std::vector<char> leads_on(graph_.tasks.size(), 0);
  for (const Edge& edge : edges_) leads_on[edge.first] = 1;
  Task task = moment(0, {-1});
  const std::uint32_t end = add(task, -1, shared_slot_);
  for (std::uint32_t last = 0; last < end; ++last)
    if (leads_on[last] == 0) add_edge(last, end);
  graph_.dependencies = dependency_graph(graph_.tasks.size(), edges_);
  graph_.order = topological_order(graph_);
}

}  // namespace pipecast
