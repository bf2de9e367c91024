#include "sim/graph/replicated_graph.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>

#include "sim/graph/collectives.hpp"
#include "sim/graph/deadlock.hpp"
#include "sim/graph/device_costs.hpp"
#include "sim/graph/gradient_exchange.hpp"
#include "sim/graph/symmetric_fold.hpp"
#include "sim/model/replica_devices.hpp"

namespace pipecast {
namespace {

constexpr std::uint32_t kNone = 0xffffffffU;

/// All replicas, task by task, with what they exchange.
class Replicator {
 public:
  Replicator(const TaskGraph& pipeline, const Program& program, const Workload& workload,
             const Platform& platform, const ReplicaDevices& devices)
      : pipeline_(pipeline),
        program_(program),
        workload_(workload),
        platform_(platform),
        devices_(devices),
        costs_(workload, platform),
        ranks_(pipeline.ranks),
        last_collective_{std::vector(places(), kNone), std::vector(places(), kNone)},
        updated_(places(), kNone),
        next_slot_(static_cast<std::size_t>(devices.replicas()),
                   static_cast<std::uint32_t>(pipeline.tasks.size())),
        last_compute_(static_cast<std::size_t>(ranks_), kNone) {
    for (std::uint32_t task = 0; task < pipeline.tasks.size(); ++task)
      if (is_work(pipeline.tasks[task]))
        last_compute_[static_cast<std::size_t>(pipeline.tasks[task].rank)] = task;
  }

  Result<void> build(const std::vector<Exchange>& exchanges) {
    graph_.ranks = ranks_ * devices_.replicas();
    for (int replica = 0; replica < devices_.replicas(); ++replica) add_replica(replica);
    if (!faults_.empty()) return fail(std::move(faults_));
    bool updated = false;
    for (const Exchange& exchange : exchanges) {
      if (exchange.after_update && !updated) add_updates();
      updated = updated || exchange.after_update;
      add_exchange(exchange);
      if (!faults_.empty()) return fail(std::move(faults_));
    }
    if (!updated) add_updates();
    return {};
  }

  /// For replicas that are not alike: the moment at which the last of them has ended, which the one
  /// that is shown would not know, and the edges as a graph.
  void finish() {
    std::vector<char> leads_on(graph_.tasks.size(), 0);
    for (const Edge& edge : edges_) leads_on[edge.first] = 1;
    Task task;
    task.kind = OpKind::Gap;
    task.stage = -1;
    task.microbatch = -1;
    const std::uint32_t end = add(task, -1, shared_slot_);
    for (std::uint32_t last = 0; last < end; ++last)
      if (leads_on[last] == 0) edges_.emplace_back(last, end);
    graph_.dependencies = dependency_graph(graph_.tasks.size(), edges_);
    graph_.order = topological_order(graph_);
  }

  TaskGraph& graph() { return graph_; }
  const std::vector<Edge>& edges() const { return edges_; }
  const ReplicaTasks& tasks() const { return tasks_; }

 private:
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
  double slowdown(DeviceId device) const { return platform_.devices[device.at()].slowdown; }

  std::uint32_t add(const Task& task, std::int32_t owner, std::uint32_t slot) {
    graph_.tasks.push_back(task);
    tasks_.owner.push_back(owner);
    tasks_.slot.push_back(slot);
    return static_cast<std::uint32_t>(graph_.tasks.size() - 1);
  }
  std::uint32_t add_own(Task task, int replica) {
    return add(task, replica, next_slot_[static_cast<std::size_t>(replica)]++);
  }

  /// A point in time: no seconds, on no stream of its own.
  static Task moment(std::size_t place, const Exchange& exchange) {
    Task task;
    task.kind = OpKind::Gap;
    task.rank = static_cast<std::int32_t>(place);
    task.stage = exchange.stage.value;
    task.microbatch = -1;
    return task;
  }

  void add_replica(int replica) {
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
        edges_.emplace_back(id(replica, i), id(replica, *next));
    }
  }

  /// An operation of replica 0 as it is on another replica's device.
  double seconds_on(DeviceId device, const Task& task) const {
    const DeviceId shown = devices_.device(0, task.rank);
    if (&costs_.on(device) != &costs_.on(shown)) {
      const std::vector<Op>& ops = program_.ranks[static_cast<std::size_t>(task.rank)];
      const std::span<const Op> cell(ops.data() + task.position, task.cell_ops);
      return cell_duration(costs_.on(device), cell).value * slowdown(device);
    }
    const double speed = slowdown(device) / slowdown(shown);
    return speed != 1 ? task.seconds * speed : task.seconds;
  }

  std::int32_t route_of(DeviceId from, DeviceId to) {
    const auto [entry, is_new] =
        routes_.try_emplace({from, to}, static_cast<std::int32_t>(graph_.routes.size()));
    if (is_new) {
      Result<Route> way = route(platform_, from, to);
      if (!way) faults_.insert(faults_.end(), way.error().begin(), way.error().end());
      graph_.routes.push_back(way ? std::move(*way) : Route{});
    }
    return entry->second;
  }

  void add_exchange(const Exchange& exchange) {
    std::vector<bool> done(static_cast<std::size_t>(devices_.replicas()), false);
    std::int32_t set = 0;
    for (int replica = 0; replica < devices_.replicas(); ++replica) {
      if (done[static_cast<std::size_t>(replica)]) continue;
      const std::vector<int> group = devices_.gradient_group(replica, exchange.experts);
      for (const int member : group) done[static_cast<std::size_t>(member)] = true;
      if (group.size() * exchange.ranks.size() < 2) continue;
      add_collective(exchange, group, set++);
      if (!faults_.empty()) return;
    }
    if (set > 0) shared_slot_ += 2;  // slots are counted without holes
  }

  /// Everybody's own readiness, the moment all are ready, the flows, the moment all have ended.
  void add_collective(const Exchange& exchange, const std::vector<int>& group, std::int32_t set) {
    CollectiveRequest request{exchange.collective, exchange.algorithm, {}, exchange.bytes};
    std::map<DeviceId, std::size_t> place_of;
    const std::uint32_t start =
        add(moment(place(group.front(), exchange.ranks.front()), exchange), -1 - set, shared_slot_);
    for (const int replica : group)
      for (const int rank : exchange.ranks) {
        request.group.push_back(devices_.device(replica, rank));
        place_of[request.group.back()] = place(replica, rank);
        edges_.emplace_back(add_readiness(exchange, replica, rank), start);
      }
    Result<CollectivePlan> plan = plan_collective(request, platform_);
    if (!plan) {
      faults_ = std::move(plan.error());
      return;
    }
    const std::uint32_t end = add(moment(place(group.front(), exchange.ranks.front()), exchange),
                                  -1 - set, shared_slot_ + 1);
    add_flows(exchange, plan->flows, place_of, start, end);
    for (const int replica : group) {
      for (const int rank : exchange.ranks) last_in(exchange)[place(replica, rank)] = end;
      for (const std::uint32_t waiting : exchange.before)
        hold_back(exchange, replica, waiting, end);
    }
  }

  /// Gathers follow each other, and so do reductions: a communicator each.
  std::vector<std::uint32_t>& last_in(const Exchange& exchange) {
    return last_collective_[exchange.kind == OpKind::Unshard ? 1 : 0];
  }

  /// Some seconds within an operation of the replica.
  std::uint32_t add_delay(const Exchange& exchange, int replica, std::uint32_t task, double share) {
    const std::uint32_t operation = id(replica, task);
    Task delay = moment(static_cast<std::size_t>(graph_.tasks[operation].rank), exchange);
    delay.stream = Stream::Collective;
    delay.seconds = share * graph_.tasks[operation].seconds;
    return add_own(delay, replica);
  }

  /// The task after which the exchange's share of an operation has run: the operation itself, or a
  /// delay that begins when it does.
  std::uint32_t reached(const Exchange& exchange, int replica, std::uint32_t task) {
    if (exchange.share >= 1 || exchange.kind == OpKind::Unshard) return id(replica, task);
    const std::uint32_t delay = add_delay(exchange, replica, task, exchange.share);
    for (const std::uint32_t before : predecessors_of(task))
      edges_.emplace_back(id(replica, before), delay);
    if (const auto held = held_back_.find(id(replica, task)); held != held_back_.end())
      for (const std::uint32_t before : held->second) edges_.emplace_back(before, delay);
    return delay;
  }

  /// The operation waits for the exchange; or, when a share of it runs without, the rest of it
  /// does: what follows waits for the exchange and that rest.
  void hold_back(const Exchange& exchange, int replica, std::uint32_t task, std::uint32_t end) {
    if (exchange.share <= 0) {
      edges_.emplace_back(end, id(replica, task));
      return;
    }
    const std::uint32_t delay = add_delay(exchange, replica, task, 1 - exchange.share);
    edges_.emplace_back(end, delay);
    for (auto [next, last] = boost::adjacent_vertices(task, pipeline_.dependencies); next != last;
         ++next) {
      edges_.emplace_back(delay, id(replica, *next));
      held_back_[id(replica, *next)].push_back(delay);
    }
  }

  const std::vector<std::uint32_t>& predecessors_of(std::uint32_t task) {
    if (predecessors_.empty()) {
      predecessors_.resize(pipeline_.tasks.size());
      for (std::uint32_t i = 0; i < pipeline_.tasks.size(); ++i)
        for (auto [next, end] = boost::adjacent_vertices(i, pipeline_.dependencies); next != end;
             ++next)
          predecessors_[*next].push_back(i);
    }
    return predecessors_[task];
  }

  std::uint32_t add_readiness(const Exchange& exchange, int replica, int rank) {
    const std::size_t here = place(replica, rank);
    const std::uint32_t ready = add_own(moment(here, exchange), replica);
    for (const std::uint32_t before : exchange.after)
      if (pipeline_.tasks[before].rank == rank)
        edges_.emplace_back(reached(exchange, replica, before), ready);
    if (last_in(exchange)[here] != kNone) edges_.emplace_back(last_in(exchange)[here], ready);
    if (exchange.after_update && updated_[here] != kNone)
      edges_.emplace_back(updated_[here], ready);
    return ready;
  }

  void add_flows(const Exchange& exchange, const std::vector<Flow>& flows,
                 const std::map<DeviceId, std::size_t>& place_of, std::uint32_t start,
                 std::uint32_t end) {
    std::vector<std::uint32_t> ids;
    ids.reserve(flows.size());
    for (const Flow& flow : flows) {
      Task task = moment(place_of.at(flow.from), exchange);
      task.kind = exchange.kind;
      task.stream = Stream::Collective;
      task.seconds = flow.extra.value;
      task.bytes = flow.bytes.value;
      task.peer = static_cast<std::int32_t>(place_of.at(flow.to));
      task.route = route_of(flow.from, flow.to);
      ids.push_back(add_own(task, task.rank / ranks_));
      if (flow.after.empty()) edges_.emplace_back(start, ids.back());
      for (const std::uint32_t before : flow.after) edges_.emplace_back(ids[before], ids.back());
      edges_.emplace_back(ids.back(), end);
    }
  }

  void add_updates() {
    for (int replica = 0; replica < devices_.replicas(); ++replica)
      for (int rank = 0; rank < ranks_; ++rank) {
        const DeviceId device = devices_.device(replica, rank);
        const double seconds =
            update_seconds(program_, costs_.on(device), rank).value * slowdown(device);
        if (seconds <= 0) continue;
        const std::size_t here = place(replica, rank);
        Task task;
        task.kind = OpKind::Optimizer;
        task.stream = Stream::Collective;
        task.seconds = seconds;
        task.rank = static_cast<std::int32_t>(here);
        task.stage = -1;
        task.microbatch = -1;
        updated_[here] = add_own(task, replica);
        for (const std::vector<std::uint32_t>& last : last_collective_)
          if (last[here] != kNone) edges_.emplace_back(last[here], updated_[here]);
        if (const std::uint32_t last = last_compute_[static_cast<std::size_t>(rank)]; last != kNone)
          edges_.emplace_back(id(replica, last), updated_[here]);
      }
  }

  const TaskGraph& pipeline_;
  const Program& program_;
  const Workload& workload_;
  const Platform& platform_;
  const ReplicaDevices& devices_;
  DeviceCosts costs_;
  int ranks_;
  TaskGraph graph_;
  std::vector<Edge> edges_;
  ReplicaTasks tasks_;
  std::map<std::pair<DeviceId, DeviceId>, std::int32_t> routes_;
  /// [reductions, gathers][place] the moment its last collective ended
  std::array<std::vector<std::uint32_t>, 2> last_collective_;
  std::vector<std::uint32_t> updated_;       ///< [place] its optimizer
  std::vector<std::uint32_t> next_slot_;     ///< [replica]
  std::vector<std::uint32_t> last_compute_;  ///< [rank] task of the pipeline
  /// What a task waits for besides.
  std::map<std::uint32_t, std::vector<std::uint32_t>> held_back_;
  std::vector<std::vector<std::uint32_t>> predecessors_;  ///< [task of the pipeline]; on demand
  std::uint32_t shared_slot_ = 0;
  Diagnostics faults_;
};

/// The tasks of replica 0 and the moments it shares, as a graph of their own.
void show_first_replica(const TaskGraph& all, const std::vector<Edge>& edges,
                        const ReplicaTasks& tasks, int ranks, ReplicatedGraph& result) {
  std::vector<std::uint32_t> shown_id(all.tasks.size(), kNone);
  for (std::uint32_t task = 0; task < all.tasks.size(); ++task) {
    const bool mine =
        tasks.owner[task] == 0 || (tasks.owner[task] < 0 && all.tasks[task].rank < ranks);
    if (!mine) continue;
    shown_id[task] = static_cast<std::uint32_t>(result.shown_tasks.size());
    result.shown_tasks.push_back(task);
    Task copy = all.tasks[task];
    if (copy.peer >= ranks) copy.peer %= ranks;
    result.shown.tasks.push_back(copy);
  }
  std::vector<Edge> shown;
  for (const Edge& edge : edges)
    if (shown_id[edge.first] != kNone && shown_id[edge.second] != kNone)
      shown.emplace_back(shown_id[edge.first], shown_id[edge.second]);
  result.shown.ranks = ranks;
  result.shown.routes = all.routes;
  result.shown.device_of_rank.assign(all.device_of_rank.begin(),
                                     all.device_of_rank.begin() + ranks);
  result.shown.dependencies = dependency_graph(result.shown.tasks.size(), shown);
  result.shown.order = topological_order(result.shown);
}

/// Replica 0 stands for all.
ReplicatedGraph standing_for(int replicas, FoldedGraph folded) {
  ReplicatedGraph result;
  result.replicas = replicas;
  result.simulated = 1;
  result.shown = folded.graph;
  result.graph = std::move(folded.graph);
  result.platform = std::move(folded.platform);
  result.traffic = std::move(folded.traffic);
  result.shown_tasks.resize(result.graph.tasks.size());
  std::iota(result.shown_tasks.begin(), result.shown_tasks.end(), 0U);
  return result;
}

}  // namespace

Result<ReplicatedGraph> build_replicated_graph(const Program& program, const Workload& workload,
                                               const Platform& platform,
                                               const ParallelLayout& layout,
                                               std::span<const DeviceId> devices,
                                               TransferPolicy policy) {
  if (devices.size() != static_cast<std::size_t>(layout.devices()))
    return fail(infeasible("the layout spans " + std::to_string(layout.devices()) + " devices, " +
                           std::to_string(devices.size()) + " are given"));
  const ReplicaDevices replicas(layout, devices);
  Result<TaskGraph> pipeline =
      build_task_graph(program, workload, platform, replicas.reported(), policy);
  if (!pipeline) return fail(std::move(pipeline.error()));
  if (layout.replicas == Replicas::Symmetric && workload.sync.empty())
    if (auto folded = fold_silent_replicas(*pipeline, workload, replicas, platform))
      return standing_for(replicas.replicas(), std::move(*folded));
  const std::int64_t tasks =
      static_cast<std::int64_t>(pipeline->tasks.size()) * replicas.replicas();
  if (tasks > kMaxReplicatedTasks)
    return fail(infeasible(std::to_string(replicas.replicas()) + " replicas make " +
                               std::to_string(tasks) + " tasks; allowed are " +
                               std::to_string(kMaxReplicatedTasks),
                           "use fewer microbatches or replicas"));
  Result<std::vector<Exchange>> exchanges = exchanges_of(*pipeline, program, workload, layout);
  if (!exchanges) return fail(std::move(exchanges.error()));
  Replicator replicator(*pipeline, program, workload, platform, replicas);
  if (Result<void> built = replicator.build(*exchanges); !built) return fail(built.error());

  if (layout.replicas == Replicas::Symmetric)
    if (auto folded = fold_replicas(replicator.graph(), replicator.edges(), replicator.tasks(),
                                    program.shape.ranks, platform))
      return standing_for(replicas.replicas(), std::move(*folded));
  ReplicatedGraph result;
  result.traffic = fabric_traffic(replicator.graph(), platform);
  result.replicas = replicas.replicas();
  result.simulated = result.replicas;
  replicator.finish();
  show_first_replica(replicator.graph(), replicator.edges(), replicator.tasks(),
                     program.shape.ranks, result);
  result.graph = std::move(replicator.graph());
  result.platform = platform;
  return result;
}

Timeline shown_timeline(const ReplicatedGraph& replicated, const Timeline& timeline) {
  Timeline result;
  result.intervals.reserve(replicated.shown_tasks.size());
  for (const std::uint32_t task : replicated.shown_tasks)
    result.intervals.push_back(timeline.intervals[task]);
  return result;
}

}  // namespace pipecast
