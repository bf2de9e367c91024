#include "sim/graph/symmetric_fold.hpp"

#include <algorithm>
#include <numeric>

#include "sim/graph/deadlock.hpp"
#include "sim/graph/device_costs.hpp"
#include "sim/graph/link_images.hpp"

namespace pipecast {
namespace {

constexpr std::uint32_t kNone = 0xffffffffU;

/// Slots of replica 0 first, then those of the shared tasks: the ids of the folded graph.
class Images {
 public:
  Images(const ReplicaTasks& tasks) : tasks_(tasks) {
    for (std::uint32_t task = 0; task < tasks.owner.size(); ++task) {
      const bool shared = tasks.owner[task] < 0;
      if (tasks.owner[task] != 0 && tasks.owner[task] != -1) continue;
      std::vector<std::uint32_t>& list = shared ? shared_ : own_;
      if (list.size() <= tasks.slot[task]) list.resize(tasks.slot[task] + 1, kNone);
      list[tasks.slot[task]] = task;
    }
  }

  /// Id in the folded graph; kNone when replica 0 has no such task.
  std::uint32_t folded(std::uint32_t task) const {
    const bool shared = tasks_.owner[task] < 0;
    const std::uint32_t slot = tasks_.slot[task];
    if (slot >= (shared ? shared_ : own_).size()) return kNone;
    return shared ? static_cast<std::uint32_t>(own_.size()) + slot : slot;
  }
  std::uint32_t original(std::uint32_t folded) const {
    return folded < own_.size() ? own_[folded] : shared_[folded - own_.size()];
  }
  std::size_t size() const { return own_.size() + shared_.size(); }

 private:
  const ReplicaTasks& tasks_;
  std::vector<std::uint32_t> own_;
  std::vector<std::uint32_t> shared_;
};

bool same_work(const Task& a, const Task& b, int ranks) {
  const auto home = [&](std::int32_t rank) { return rank < 0 ? rank : rank % ranks; };
  return a.seconds == b.seconds && a.bytes == b.bytes && a.kind == b.kind && a.stream == b.stream &&
         a.stage == b.stage && a.microbatch == b.microbatch && home(a.rank) == home(b.rank) &&
         home(a.peer) == home(b.peer) && (a.route < 0) == (b.route < 0);
}

/// Every task has an image in replica 0 that does the same, and every image stands for equally
/// many.
bool tasks_agree(const TaskGraph& graph, const Images& images, const ReplicaTasks& tasks,
                 int ranks) {
  std::vector<std::uint32_t> count(images.size(), 0);
  std::uint32_t own = 0;
  for (std::uint32_t task = 0; task < graph.tasks.size(); ++task) {
    const std::uint32_t image = images.folded(task);
    if (image == kNone || !same_work(graph.tasks[task], graph.tasks[images.original(image)], ranks))
      return false;
    ++count[image];
    if (tasks.owner[task] >= 0) own = std::max(own, count[image]);
  }
  for (std::uint32_t image = 0; image < images.size(); ++image)
    if (tasks.owner[images.original(image)] >= 0 && count[image] != own) return false;
  return true;
}

/// The folded edges, when each one is the image of equally many edges at every task it leaves and
/// at every task it enters.
std::optional<std::vector<Edge>> fold_edges(const std::vector<Edge>& edges, const Images& images,
                                            const ReplicaTasks& tasks) {
  std::vector<std::uint64_t> leaves(tasks.owner.size(), 0);  // sums: order left out
  std::vector<std::uint64_t> enters(tasks.owner.size(), 0);
  std::vector<Edge> folded;
  folded.reserve(edges.size());
  for (const Edge& edge : edges) {
    const Edge image{images.folded(edge.first), images.folded(edge.second)};
    folded.push_back(image);
    leaves[edge.first] += mixed(image.second);
    enters[edge.second] += mixed(image.first);
  }
  for (std::uint32_t task = 0; task < leaves.size(); ++task) {
    const std::uint32_t original = images.original(images.folded(task));
    if (leaves[task] != leaves[original] || enters[task] != enters[original]) return std::nullopt;
  }
  std::sort(folded.begin(), folded.end());
  folded.erase(std::unique(folded.begin(), folded.end()), folded.end());
  return folded;
}

/// What all replicas send: each sends what replica 0 does along its own routes.
FabricTraffic traffic_of_all(const TaskGraph& pipeline, const TaskGraph& flows_of_all, int replicas,
                             const Platform& platform) {
  const std::vector<RouteLoad> one = route_loads(pipeline);
  std::vector<RouteLoad> loads;
  for (int replica = 0; replica < replicas; ++replica)
    loads.insert(loads.end(), one.begin(), one.end());
  return fabric_traffic(flows_of_all.routes, loads, platform);
}

/// One flow for each route of `pipeline`, with the ranks it joins.
TaskGraph flows_of(const TaskGraph& pipeline) {
  TaskGraph flows;
  flows.ranks = pipeline.ranks;
  flows.device_of_rank = pipeline.device_of_rank;
  flows.tasks.resize(pipeline.routes.size());
  for (const Task& task : pipeline.tasks) {
    if (task.route < 0) continue;
    Task& flow = flows.tasks[static_cast<std::size_t>(task.route)];
    flow.route = task.route;
    flow.rank = task.rank;
    flow.peer = task.peer;
  }
  return flows;
}

/// The flows of all replicas; nothing when one has no route. Replica 0 comes first.
std::optional<TaskGraph> flows_of_all(const TaskGraph& flows, const TaskGraph& pipeline,
                                      const ReplicaDevices& devices, const Platform& platform) {
  TaskGraph all = flows;
  all.routes = pipeline.routes;
  for (int replica = 1; replica < devices.replicas(); ++replica)
    for (Task flow : flows.tasks) {
      Result<Route> way =
          route(platform, devices.device(replica, flow.rank), devices.device(replica, flow.peer));
      if (!way) return std::nullopt;
      flow.route = static_cast<std::int32_t>(all.routes.size());
      all.routes.push_back(std::move(*way));
      all.tasks.push_back(flow);
    }
  return all;
}

}  // namespace

bool replicas_alike(const ReplicaDevices& devices, const Workload& workload,
                    const Platform& platform) {
  const DeviceCosts costs(workload, platform);
  const auto alike = [&](DeviceId one, DeviceId other) {
    return platform.devices[one.at()].slowdown == platform.devices[other.at()].slowdown &&
           &costs.on(one) == &costs.on(other);
  };
  for (int replica = 1; replica < devices.replicas(); ++replica)
    for (int rank = 0; rank < devices.ranks(); ++rank)
      if (!alike(devices.device(replica, rank), devices.device(0, rank))) return false;
  return true;
}

std::optional<FoldedGraph> fold_replicas(const TaskGraph& graph, const std::vector<Edge>& edges,
                                         const ReplicaTasks& tasks, int pipeline_ranks,
                                         const Platform& platform) {
  const Images images(tasks);
  if (!tasks_agree(graph, images, tasks, pipeline_ranks)) return std::nullopt;
  const std::optional<std::vector<Edge>> folded = fold_edges(edges, images, tasks);
  if (!folded) return std::nullopt;
  std::vector<std::uint32_t> image_of(graph.tasks.size());
  for (std::uint32_t task = 0; task < image_of.size(); ++task) image_of[task] = images.folded(task);

  FoldedGraph result;
  result.platform = platform;
  LinkImages links(graph, platform, image_of, images.size());
  for (std::uint32_t id = 0; id < images.size(); ++id) {
    result.kept.push_back(images.original(id));
    Task task = graph.tasks[images.original(id)];
    task.rank = task.rank % pipeline_ranks;
    if (task.peer >= 0) task.peer = task.peer % pipeline_ranks;
    result.graph.tasks.push_back(task);
  }
  if (!links.fold(result.graph, result.platform)) return std::nullopt;
  result.graph.ranks = pipeline_ranks;
  result.graph.device_of_rank.assign(graph.device_of_rank.begin(),
                                     graph.device_of_rank.begin() + pipeline_ranks);
  result.graph.dependencies = dependency_graph(images.size(), *folded);
  result.graph.order = topological_order(result.graph);
  if (result.graph.order.size() != result.graph.tasks.size()) return std::nullopt;
  result.traffic = fabric_traffic(graph, platform);
  return result;
}

std::optional<FoldedGraph> fold_silent_replicas(const TaskGraph& pipeline, const Workload& workload,
                                                const ReplicaDevices& devices,
                                                const Platform& platform) {
  if (!replicas_alike(devices, workload, platform)) return std::nullopt;
  TaskGraph flows = flows_of(pipeline);
  const std::optional<TaskGraph> all = flows_of_all(flows, pipeline, devices, platform);
  if (!all) return std::nullopt;
  std::vector<std::uint32_t> image_of(all->tasks.size());
  for (std::uint32_t flow = 0; flow < image_of.size(); ++flow)
    image_of[flow] = static_cast<std::uint32_t>(flow % flows.tasks.size());
  FoldedGraph result{
      pipeline, platform, {}, traffic_of_all(pipeline, *all, devices.replicas(), platform)};
  LinkImages links(*all, platform, image_of, flows.tasks.size());
  if (!links.fold(flows, result.platform)) return std::nullopt;
  for (Task& task : result.graph.tasks)
    if (task.route >= 0) task.route = flows.tasks[static_cast<std::size_t>(task.route)].route;
  result.graph.routes = std::move(flows.routes);
  result.kept.resize(pipeline.tasks.size());
  std::iota(result.kept.begin(), result.kept.end(), 0U);
  return result;
}

}  // namespace pipecast
