#include "sim/graph/replicated_graph.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <optional>

#include "sim/graph/deadlock.hpp"
#include "sim/graph/gradient_exchange.hpp"
#include "sim/graph/replica_graph.hpp"
#include "sim/graph/symmetric_fold.hpp"
#include "sim/model/collectives.hpp"
#include "sim/model/replica_devices.hpp"

namespace pipecast {
namespace {

constexpr std::uint32_t kNone = 0xffffffffU;

/// What replicas exchange, as tasks of their graph.
class Replicator {
 public:
  Replicator(const TaskGraph& pipeline, const Program& program, const Platform& platform,
             const ReplicaDevices& devices, ReplicaGraph& replicas)
      : pipeline_(pipeline),
        program_(program),
        platform_(platform),
        devices_(devices),
        ranks_(pipeline.ranks),
        replicas_(replicas),
        last_collective_{std::vector(replicas.places(), kNone),
                         std::vector(replicas.places(), kNone)},
        updated_(replicas.places(), kNone),
        last_compute_(static_cast<std::size_t>(ranks_), kNone) {
    for (std::uint32_t task = 0; task < pipeline.tasks.size(); ++task)
      if (is_work(pipeline.tasks[task]))
        last_compute_[static_cast<std::size_t>(pipeline.tasks[task].rank)] = task;
  }

  Result<void> build(const std::vector<Exchange>& exchanges) {
    bool updated = false;
    for (const Exchange& exchange : exchanges) {
      if (exchange.after_update && !updated) add_updates();
      updated = updated || exchange.after_update;
      add_exchange(exchange);
      if (!replicas_.faults().empty()) return fail(std::move(replicas_.faults()));
    }
    if (!updated) add_updates();
    return {};
  }

 private:
  std::size_t place(int replica, int rank) const { return replicas_.place(replica, rank); }
  std::uint32_t id(int replica, std::uint32_t task) const { return replicas_.id(replica, task); }

  void add_exchange(const Exchange& exchange) {
    std::vector<bool> done(static_cast<std::size_t>(devices_.replicas()), false);
    std::int32_t set = 0;
    for (int replica = 0; replica < devices_.replicas(); ++replica) {
      if (done[static_cast<std::size_t>(replica)]) continue;
      const std::vector<int> group = devices_.gradient_group(replica, exchange.experts);
      for (const int member : group) done[static_cast<std::size_t>(member)] = true;
      if (group.size() * exchange.ranks.size() < 2) continue;
      add_collective(exchange, group, set++);
      if (!replicas_.faults().empty()) return;
    }
    if (set > 0) replicas_.use_slots(2);
  }

  /// Everybody's own readiness, the moment all are ready, the flows, the moment all have ended.
  void add_collective(const Exchange& exchange, const std::vector<int>& group, std::int32_t set) {
    CollectiveRequest request{exchange.collective, exchange.algorithm, {}, exchange.bytes};
    std::map<DeviceId, std::size_t> place_of;
    const Task at = moment(place(group.front(), exchange.ranks.front()), exchange.stage);
    const std::uint32_t start = replicas_.add_shared(at, set, 0);
    for (const int replica : group)
      for (const int rank : exchange.ranks) {
        request.group.push_back(devices_.device(replica, rank));
        place_of[request.group.back()] = place(replica, rank);
        replicas_.add_edge(add_readiness(exchange, replica, rank), start);
      }
    Result<CollectivePlan> plan = plan_collective(request, platform_);
    if (!plan) {
      replicas_.faults() = std::move(plan.error());
      return;
    }
    const std::uint32_t end = replicas_.add_shared(at, set, 1);
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
  std::uint32_t add_delay(int replica, std::uint32_t task, double share) {
    return replicas_.add_delay(replica, task,
                               share * replicas_.graph().tasks[id(replica, task)].seconds, share);
  }

  /// The task after which the exchange's share of an operation has run: the operation itself, or a
  /// delay that begins when it does.
  std::uint32_t reached(const Exchange& exchange, int replica, std::uint32_t task) {
    if (exchange.share >= 1 || exchange.kind == OpKind::Unshard) return id(replica, task);
    const std::uint32_t delay = add_delay(replica, task, exchange.share);
    for (const std::uint32_t before : predecessors_of(task))
      replicas_.add_edge(id(replica, before), delay);
    if (const auto held = held_back_.find(id(replica, task)); held != held_back_.end())
      for (const std::uint32_t before : held->second) replicas_.add_edge(before, delay);
    return delay;
  }

  /// The operation waits for the exchange; or, when a share of it runs without, the rest of it
  /// does: what follows waits for the exchange and that rest.
  void hold_back(const Exchange& exchange, int replica, std::uint32_t task, std::uint32_t end) {
    if (exchange.share <= 0) {
      replicas_.add_edge(end, id(replica, task));
      return;
    }
    const std::uint32_t delay = add_delay(replica, task, 1 - exchange.share);
    replicas_.add_edge(end, delay);
    for (auto [next, last] = boost::adjacent_vertices(task, pipeline_.dependencies); next != last;
         ++next) {
      replicas_.add_edge(delay, id(replica, *next));
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
    const std::uint32_t ready = replicas_.add_own(moment(here, exchange.stage), replica);
    for (const std::uint32_t before : exchange.after)
      if (pipeline_.tasks[before].rank == rank)
        replicas_.add_edge(reached(exchange, replica, before), ready);
    if (last_in(exchange)[here] != kNone) replicas_.add_edge(last_in(exchange)[here], ready);
    if (exchange.after_update && updated_[here] != kNone) replicas_.add_edge(updated_[here], ready);
    return ready;
  }

  void add_flows(const Exchange& exchange, const std::vector<Flow>& flows,
                 const std::map<DeviceId, std::size_t>& place_of, std::uint32_t start,
                 std::uint32_t end) {
    std::vector<std::uint32_t> ids;
    ids.reserve(flows.size());
    for (const Flow& flow : flows) {
      Task task = moment(place_of.at(flow.from), exchange.stage);
      task.kind = exchange.kind;
      task.stream = Stream::Collective;
      task.seconds = flow.extra.value;
      task.bytes = flow.bytes.value;
      task.peer = static_cast<std::int32_t>(place_of.at(flow.to));
      task.route = replicas_.route_of(flow.from, flow.to);
      ids.push_back(replicas_.add_own(task, task.rank / ranks_));
      if (flow.after.empty()) replicas_.add_edge(start, ids.back());
      for (const std::uint32_t before : flow.after) replicas_.add_edge(ids[before], ids.back());
      replicas_.add_edge(ids.back(), end);
    }
  }

  void add_updates() {
    for (int replica = 0; replica < devices_.replicas(); ++replica)
      for (int rank = 0; rank < ranks_; ++rank) {
        const DeviceId device = devices_.device(replica, rank);
        const double seconds = update_seconds(program_, replicas_.costs_on(device), rank).value *
                               replicas_.slowdown(device);
        if (seconds <= 0) continue;
        const std::size_t here = place(replica, rank);
        Task task;
        task.kind = OpKind::Optimizer;
        task.stream = Stream::Collective;
        task.seconds = seconds;
        task.rank = static_cast<std::int32_t>(here);
        task.stage = -1;
        task.microbatch = -1;
        updated_[here] = replicas_.add_own(task, replica);
        for (const std::vector<std::uint32_t>& last : last_collective_)
          if (last[here] != kNone) replicas_.add_edge(last[here], updated_[here]);
        if (const std::uint32_t last = last_compute_[static_cast<std::size_t>(rank)]; last != kNone)
          replicas_.add_edge(id(replica, last), updated_[here]);
      }
  }

  const TaskGraph& pipeline_;
  const Program& program_;
  const Platform& platform_;
  const ReplicaDevices& devices_;
  int ranks_;
  ReplicaGraph& replicas_;
  /// [reductions, gathers][place] the moment its last collective ended
  std::array<std::vector<std::uint32_t>, 2> last_collective_;
  std::vector<std::uint32_t> updated_;       ///< [place] its optimizer
  std::vector<std::uint32_t> last_compute_;  ///< [rank] task of the pipeline
  /// What a task waits for besides.
  std::map<std::uint32_t, std::vector<std::uint32_t>> held_back_;
  std::vector<std::vector<std::uint32_t>> predecessors_;  ///< [task of the pipeline]; on demand
};

/// The tasks of replica 0 and the moments it shares, as a graph of their own.
void show_first_replica(const ReplicaGraph& replicas, int ranks, ReplicatedGraph& result) {
  const TaskGraph& all = replicas.graph();
  std::vector<std::uint32_t> shown_id(all.tasks.size(), kNone);
  for (std::uint32_t task = 0; task < all.tasks.size(); ++task) {
    const std::int32_t owner = replicas.tasks().owner[task];
    if (owner != 0 && (owner > 0 || all.tasks[task].rank >= ranks)) continue;
    shown_id[task] = static_cast<std::uint32_t>(result.shown_tasks.size());
    result.shown_tasks.push_back(task);
    Task copy = all.tasks[task];
    if (copy.peer >= ranks) copy.peer %= ranks;
    result.shown.tasks.push_back(copy);
  }
  std::vector<Edge> shown;
  for (const Edge& edge : replicas.edges())
    if (shown_id[edge.first] != kNone && shown_id[edge.second] != kNone)
      shown.emplace_back(shown_id[edge.first], shown_id[edge.second]);
  for (OperationEnd& end : result.ends) end = {shown_id[end.operation], shown_id[end.task]};
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
  result.shown_tasks.resize(result.graph.tasks.size());
  std::iota(result.shown_tasks.begin(), result.shown_tasks.end(), 0U);
  return result;
}

Diagnostics too_many(int replicas, std::int64_t tasks) {
  return {infeasible(std::to_string(replicas) + " replicas make " + std::to_string(tasks) +
                         " tasks; allowed are " + std::to_string(kMaxReplicatedTasks),
                     "use fewer microbatches or replicas")};
}

/// A replicated graph in the making: what is asked for, and the pipeline of one replica.
struct Request {
  const Program& program;
  const Workload& workload;
  const Platform& platform;
  const ParallelLayout& layout;
  const ReplicaDevices& devices;
  const TaskGraph& pipeline;
  GroupPlan groups;

  int pieces() const { return layout.group_traffic.pieces; }
  bool may_leave_out(const std::vector<Route>& routes) const {
    if (groups.operations.empty() || layout.group_traffic.as == GroupTraffic::As::ClosedForm)
      return true;
    return layout.group_traffic.as == GroupTraffic::As::Automatic &&
           layout.replicas == Replicas::Symmetric &&
           groups_are_undisturbed(groups, links_used(routes, platform), platform, pieces());
  }
  /// Of exchanges that are not in the graph.
  FabricTraffic traffic(RoutedLoads sent) const {
    sent += group_loads(groups, pieces());
    return fabric_traffic(sent, platform);
  }
};

/// Where replicas exchange nothing and their groups are undisturbed.
std::optional<ReplicatedGraph> silent(const Request& request) {
  if (request.layout.replicas != Replicas::Symmetric || !request.workload.sync.empty())
    return std::nullopt;
  auto folded =
      fold_silent_replicas(request.pipeline, request.workload, request.devices, request.platform);
  if (!folded || !request.may_leave_out(folded->sent.routes)) return std::nullopt;
  FabricTraffic traffic = request.traffic(std::move(folded->sent));
  ReplicatedGraph result = standing_for(request.devices.replicas(), std::move(*folded));
  result.traffic = std::move(traffic);
  return result;
}

/// The graph of all replicas as one that stands for them. `ends` are in ids of all.
std::optional<ReplicatedGraph> folded(const Request& request, const ReplicaGraph& replicas,
                                      const std::vector<OperationEnd>& ends) {
  if (request.layout.replicas != Replicas::Symmetric) return std::nullopt;
  auto one = fold_replicas(replicas.graph(), replicas.edges(), replicas.tasks(),
                           request.pipeline.ranks, request.platform);
  if (!one) return std::nullopt;
  std::vector<std::uint32_t> id_of(replicas.graph().tasks.size(), kNone);
  for (std::uint32_t id = 0; id < one->kept.size(); ++id) id_of[one->kept[id]] = id;
  RoutedLoads sent = std::move(one->sent);
  ReplicatedGraph result = standing_for(request.devices.replicas(), std::move(*one));
  result.traffic =
      ends.empty() ? request.traffic(std::move(sent)) : fabric_traffic(sent, request.platform);
  for (const OperationEnd& end : ends)
    result.ends.push_back({id_of[end.operation], id_of[end.task]});
  return result;
}

ReplicatedGraph all_of(const Request& request, ReplicaGraph& replicas,
                       std::vector<OperationEnd> ends) {
  ReplicatedGraph result;
  RoutedLoads sent{replicas.graph().routes, route_loads(replicas.graph())};
  result.traffic =
      ends.empty() ? request.traffic(std::move(sent)) : fabric_traffic(sent, request.platform);
  result.replicas = request.devices.replicas();
  result.simulated = result.replicas;
  result.ends = std::move(ends);
  replicas.finish();
  show_first_replica(replicas, request.pipeline.ranks, result);
  result.graph = std::move(replicas.graph());
  result.platform = request.platform;
  return result;
}

/// Every replica task by task, and one in place of all where they are alike.
Result<ReplicatedGraph> loud(const Request& request) {
  const int count = request.devices.replicas();
  const std::int64_t tasks = static_cast<std::int64_t>(request.pipeline.tasks.size()) * count;
  if (tasks > kMaxReplicatedTasks) return fail(too_many(count, tasks));
  Result<std::vector<Exchange>> exchanges =
      exchanges_of(request.pipeline, request.program, request.workload, request.layout);
  if (!exchanges) return fail(std::move(exchanges.error()));
  ReplicaGraph replicas(request.pipeline, request.program, request.workload, request.platform,
                        request.devices);
  replicas.add_replicas();
  if (!replicas.faults().empty()) return fail(std::move(replicas.faults()));
  Replicator replicator(request.pipeline, request.program, request.platform, request.devices,
                        replicas);
  if (Result<void> built = replicator.build(*exchanges); !built) return fail(built.error());
  const bool closed = request.groups.operations.empty() ||
                      request.layout.group_traffic.as == GroupTraffic::As::ClosedForm;
  const std::int64_t more = tasks + lowered_tasks(request.groups, count, request.pieces());
  if (request.may_leave_out(replicas.graph().routes)) {
    if (auto one = folded(request, replicas, {})) return std::move(*one);
    if (closed) return all_of(request, replicas, {});
  }
  if (request.layout.group_traffic.as == GroupTraffic::As::Automatic && more > kMostGroupTasks) {
    auto one = folded(request, replicas, {});
    ReplicatedGraph result = one ? std::move(*one) : all_of(request, replicas, {});
    result.groups_left_out = true;
    return result;
  }
  if (more > kMaxReplicatedTasks) return fail(too_many(count, more));
  std::vector<OperationEnd> ends =
      lower_group_exchanges(request.groups, request.pieces(), replicas);
  if (auto one = folded(request, replicas, ends)) return std::move(*one);
  return all_of(request, replicas, std::move(ends));
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
  Result<GroupPlan> groups =
      plan_group_exchanges(*pipeline, program, workload, layout, replicas, platform);
  if (!groups) return fail(std::move(groups.error()));
  const Request request{program,  workload,  platform,          layout,
                        replicas, *pipeline, std::move(*groups)};
  if (auto one = silent(request)) return std::move(*one);
  return loud(request);
}

Timeline shown_timeline(const ReplicatedGraph& replicated, const Timeline& timeline) {
  Timeline result;
  result.intervals.reserve(replicated.shown_tasks.size());
  for (const std::uint32_t task : replicated.shown_tasks)
    result.intervals.push_back(timeline.intervals[task]);
  for (const OperationEnd& end : replicated.ends) {
    double& end_s = result.intervals[end.operation].end_s;
    end_s = std::max(end_s, result.intervals[end.task].end_s);
  }
  return result;
}

}  // namespace pipecast
