#include "sim/graph/group_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

namespace pipecast {
namespace {

/// Durations of operations and of their parts are sums in different orders.
constexpr double kRounding = 1e-9;

class Planner {
 public:
  Planner(const ParallelLayout& layout, const ReplicaDevices& devices, const Platform& platform)
      : layout_(layout), devices_(devices), platform_(platform) {}

  void add(const Task& task, std::uint32_t id, const std::vector<CellExchange>& exchanges) {
    PlannedOperation operation{id, {}};
    for (const CellExchange& exchange : exchanges) {
      if (degree(layout_, exchange.group) < 2) continue;
      const std::size_t groups = groups_of(task.rank, exchange.group, exchange.collective);
      if (!faults_.empty()) return;
      operation.exchanges.push_back({groups, known_seconds(plan_.groups[groups], exchange.pass)});
    }
    if (operation.exchanges.empty()) return;
    settle(task, operation);
    plan_.operations.push_back(std::move(operation));
  }

  Result<GroupPlan> take() {
    if (!faults_.empty()) return fail(std::move(faults_));
    return std::move(plan_);
  }

 private:
  PassExchange known_seconds(const RankGroups& groups, PassExchange pass) const {
    if (pass.alone.value > 0) return pass;
    pass.alone = Seconds{groups.alone_s(pass.bytes, layout_.group_traffic.pieces)};
    pass.exposed = Seconds{std::max(0.0, (pass.alone - pass.behind).value)};
    return pass;
  }

  /// What can be hidden is hidden within the computation that is there.
  void settle(const Task& task, PlannedOperation& operation) {
    const double exposed_s = operation.exposed_s();
    if (exposed_s > task.seconds * (1 + kRounding) && faults_.empty() &&
        layout_.group_traffic.as != GroupTraffic::As::ClosedForm)
      faults_.push_back(infeasible(
          fmt::format("stage {}: its operation {} exchanges for {} inside its groups and lasts "
                      "only {}",
                      task.stage, op_word(task.kind), format(Seconds{exposed_s}),
                      format(Seconds{task.seconds})),
          "the costs of a stage include what it exchanges; or set parallel.group_traffic.as: "
          "closed_form"));
    const Seconds computing{std::max(0.0, task.seconds - exposed_s)};
    for (PlannedExchange& exchange : operation.exchanges)
      exchange.pass.behind = std::min(exchange.pass.behind, computing);
    std::stable_partition(
        operation.exchanges.begin(), operation.exchanges.end(),
        [](const PlannedExchange& exchange) { return exchange.pass.behind.value > 0; });
  }

  std::size_t groups_of(int rank, ParallelDimension group, Collective collective) {
    const auto [entry, is_new] = known_.try_emplace({rank, group, collective}, plan_.groups.size());
    if (is_new) plan_.groups.push_back(make_groups(rank, group, collective));
    return entry->second;
  }

  RankGroups make_groups(int rank, ParallelDimension group, Collective collective) {
    RankGroups groups{rank, group, collective, {}, 0, 0};
    std::vector<char> done(static_cast<std::size_t>(devices_.replicas()), 0);
    for (int replica = 0; replica < devices_.replicas(); ++replica) {
      if (done[static_cast<std::size_t>(replica)] != 0) continue;
      GroupSet set;
      set.members = devices_.inside_group(replica, group);
      for (const int member : set.members) done[static_cast<std::size_t>(member)] = 1;
      add_flows(rank, collective, set);
      for (const GroupFlow& flow : set.flows) {
        groups.latency_s = std::max(groups.latency_s, flow.way.latency.value);
        groups.per_byte_s = std::max(groups.per_byte_s, flow.wire * flow.wire_s);
      }
      groups.sets.push_back(std::move(set));
    }
    return groups;
  }

  void add_flows(int rank, Collective collective, GroupSet& set) {
    std::vector<DeviceId> group;
    std::map<DeviceId, int> replica_of;
    for (const int member : set.members) {
      group.push_back(devices_.device(member, rank));
      replica_of[group.back()] = member;
    }
    Result<std::vector<GroupFlow>> flows = group_flows(collective, group, platform_);
    if (!flows) {
      if (faults_.empty()) faults_ = std::move(flows.error());
      return;
    }
    set.flows = std::move(*flows);
    for (const GroupFlow& flow : set.flows) {
      set.from.push_back(replica_of.at(flow.from));
      set.to.push_back(replica_of.at(flow.to));
    }
  }

  const ParallelLayout& layout_;
  const ReplicaDevices& devices_;
  const Platform& platform_;
  GroupPlan plan_;
  std::map<std::tuple<int, ParallelDimension, Collective>, std::size_t> known_;
  Diagnostics faults_;
};

/// The only device that flows over a link leave, and the only one they reach.
struct LinkEnds {
  bool used = false;
  std::optional<DeviceId> from;
  std::optional<DeviceId> to;

  void add(const GroupFlow& flow) {
    if (!used) {
      from = flow.from;
      to = flow.to;
    }
    used = true;
    if (from != flow.from) from.reset();
    if (to != flow.to) to.reset();
  }
  bool serves_one_device() const { return from.has_value() || to.has_value(); }
};

bool flows_keep_apart(const GroupPlan& plan, const std::vector<char>& others,
                      const Platform& platform) {
  std::vector<LinkEnds> ends(platform.links.size());
  for (const RankGroups& groups : plan.groups)
    for (const GroupSet& set : groups.sets)
      for (const GroupFlow& flow : set.flows)
        for (const LinkId link : flow.way.links) {
          if (platform.links[link.at()].sharing == Sharing::FatPipe) continue;
          if (others[link.at()] != 0) return false;
          ends[link.at()].add(flow);
        }
  return std::all_of(ends.begin(), ends.end(),
                     [](const LinkEnds& link) { return !link.used || link.serves_one_device(); });
}

TrafficKind kind_of(ParallelDimension group) {
  switch (group) {
    case ParallelDimension::Context:
      return TrafficKind::Context;
    case ParallelDimension::Expert:
      return TrafficKind::Expert;
    case ParallelDimension::Tensor:
    case ParallelDimension::Data:
    case ParallelDimension::Pipeline:
      return TrafficKind::Tensor;
  }
  return TrafficKind::Tensor;
}

}  // namespace

double PlannedOperation::exposed_s() const {
  double sum = 0;
  for (const PlannedExchange& exchange : exchanges) sum += exchange.pass.exposed.value;
  return sum;
}

Result<GroupPlan> plan_group_exchanges(const TaskGraph& pipeline, const Program& program,
                                       const Workload& workload, const ParallelLayout& layout,
                                       const ReplicaDevices& devices, const Platform& platform) {
  Planner planner(layout, devices, platform);
  if (workload.inside.empty()) return planner.take();
  for (std::uint32_t id = 0; id < pipeline.tasks.size(); ++id) {
    const Task& task = pipeline.tasks[id];
    if (!is_work(task)) continue;
    const std::vector<Op>& ops = program.ranks[static_cast<std::size_t>(task.rank)];
    const std::span<const Op> cell(ops.data() + task.position, task.cell_ops);
    planner.add(task, id, cell_exchanges(workload, cell));
  }
  return planner.take();
}

RoutedLoads group_loads(const GroupPlan& plan, int pieces) {
  std::vector<double> bytes(plan.groups.size(), 0);
  std::vector<std::int64_t> exchanges(plan.groups.size(), 0);
  for (const PlannedOperation& operation : plan.operations)
    for (const PlannedExchange& exchange : operation.exchanges) {
      bytes[exchange.groups] += exchange.pass.bytes.value;
      exchanges[exchange.groups] += pieces;
    }
  RoutedLoads sent;
  for (std::size_t at = 0; at < plan.groups.size(); ++at)
    for (const GroupSet& set : plan.groups[at].sets)
      for (const GroupFlow& flow : set.flows) {
        RouteLoad load{};
        load[static_cast<std::size_t>(kind_of(plan.groups[at].group))] = {exchanges[at],
                                                                          bytes[at] * flow.wire, 0};
        sent.routes.push_back(flow.way);
        sent.loads.push_back(load);
      }
  return sent;
}

std::vector<char> links_used(const std::vector<Route>& routes, const Platform& platform) {
  std::vector<char> used(platform.links.size(), 0);
  for (const Route& way : routes)
    for (const LinkId link : way.links) used[link.at()] = 1;
  return used;
}

bool groups_are_undisturbed(const GroupPlan& plan, const std::vector<char>& others,
                            const Platform& platform, int pieces) {
  for (const PlannedOperation& operation : plan.operations) {
    int hidden = 0;
    for (const PlannedExchange& exchange : operation.exchanges) {
      const RankGroups& groups = plan.groups[exchange.groups];
      if (groups.alone_s(exchange.pass.bytes, pieces) > exchange.pass.alone.value * (1 + kRounding))
        return false;
      if (exchange.pass.behind.value > 0) ++hidden;
    }
    if (hidden > 1) return false;
  }
  return flows_keep_apart(plan, others, platform);
}

}  // namespace pipecast
