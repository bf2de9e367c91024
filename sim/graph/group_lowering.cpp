#include "sim/graph/group_lowering.hpp"

#include <algorithm>

namespace pipecast {
namespace {

constexpr std::uint32_t kNone = 0xffffffffU;

GroupFlowOf flow_of(ParallelDimension group) {
  switch (group) {
    case ParallelDimension::Tensor:
      return GroupFlowOf::Tensor;
    case ParallelDimension::Context:
      return GroupFlowOf::Context;
    case ParallelDimension::Expert:
      return GroupFlowOf::Expert;
    case ParallelDimension::Data:
    case ParallelDimension::Pipeline:
      break;
  }
  return GroupFlowOf::None;
}

/// Tasks of an operation's copies that begin with it, or that end it.
struct OperationEdges {
  std::vector<std::uint32_t> first;
  std::vector<std::uint32_t> last;
};

class Lowering {
 public:
  Lowering(const GroupPlan& plan, int pieces, ReplicaGraph& replicas)
      : plan_(plan),
        pieces_(pieces),
        replicas_(replicas),
        operation_(replicas.graph().tasks.size(), kNone) {
    for (const RankGroups& groups : plan.groups) {
      std::vector<std::vector<std::int32_t>>& sets = routes_.emplace_back();
      for (const GroupSet& set : groups.sets) {
        std::vector<std::int32_t>& flows = sets.emplace_back();
        for (const GroupFlow& flow : set.flows)
          flows.push_back(replicas.route_of(flow.from, flow.to));
      }
    }
  }

  std::vector<OperationEnd> run() {
    const std::size_t edges = replicas_.edges().size();
    std::vector<OperationEnd> ends;
    for (const PlannedOperation& operation : plan_.operations) {
      lower(operation);
      for (const std::uint32_t task : edges_of(0, operation).last)
        ends.push_back({replicas_.id(0, operation.task), task});
    }
    for (std::size_t edge = 0; edge < edges; ++edge) join(replicas_.edges()[edge]);
    return ends;
  }

 private:
  /// [replica] what an operation's next part waits for; nothing at its beginning.
  using Reached = std::vector<std::vector<std::uint32_t>>;

  std::size_t count() const { return replicas_.graph().device_of_rank.size() / ranks(); }
  std::size_t ranks() const { return replicas_.place(1, 0); }

  OperationEdges& edges_of(int replica, const PlannedOperation& operation) {
    std::uint32_t& at = operation_[replicas_.id(replica, operation.task)];
    if (at == kNone) {
      at = static_cast<std::uint32_t>(around_.size());
      around_.emplace_back();
    }
    return around_[at];
  }

  void lower(const PlannedOperation& operation) {
    const auto exposed = std::find_if(
        operation.exchanges.begin(), operation.exchanges.end(),
        [](const PlannedExchange& exchange) { return exchange.pass.behind.value <= 0; });
    Reached reached(count());
    for (int piece = 0; piece < pieces_; ++piece) {
      Reached joined(count());
      for (auto hidden = operation.exchanges.begin(); hidden != exposed; ++hidden)
        run_exchange(operation, *hidden, delayed(operation, reached, hidden->pass.behind.value),
                     joined);
      // The operation itself lasts as long as its last computation.
      if (piece + 1 < pieces_ || exposed != operation.exchanges.end())
        append(joined, delayed(operation, reached, 0));
      for (auto next = exposed; next != operation.exchanges.end(); ++next) {
        Reached ended(count());
        run_exchange(operation, *next, joined, ended);
        joined = std::move(ended);
      }
      reached = std::move(joined);
    }
    for (std::size_t replica = 0; replica < reached.size(); ++replica)
      edges_of(static_cast<int>(replica), operation).last = std::move(reached[replica]);
  }

  static void append(Reached& to, const Reached& more) {
    for (std::size_t replica = 0; replica < to.size(); ++replica)
      to[replica].insert(to[replica].end(), more[replica].begin(), more[replica].end());
  }

  /// A piece of the operation's computation, `before_s` of the whole left out at its end.
  Reached delayed(const PlannedOperation& operation, const Reached& after, double before_s) {
    Reached result(count());
    const double exposed_s = operation.exposed_s();
    for (std::size_t at = 0; at < result.size(); ++at) {
      const int replica = static_cast<int>(at);
      const double whole_s = replicas_.graph().tasks[replicas_.id(replica, operation.task)].seconds;
      const double seconds = std::max(0.0, whole_s - exposed_s - before_s) / pieces_;
      const std::uint32_t delay =
          replicas_.add_delay(replica, operation.task, seconds, 1.0 / pieces_);
      if (after[at].empty()) edges_of(replica, operation).first.push_back(delay);
      for (const std::uint32_t task : after[at]) replicas_.add_edge(task, delay);
      result[at].push_back(delay);
    }
    return result;
  }

  /// Begins in each set of replicas when all its members have reached it; they have `ended` with
  /// it.
  void run_exchange(const PlannedOperation& operation, const PlannedExchange& exchange,
                    const Reached& ready, Reached& ended) {
    const RankGroups& groups = plan_.groups[exchange.groups];
    for (std::size_t at = 0; at < groups.sets.size(); ++at) {
      const GroupSet& set = groups.sets[at];
      const Task here =
          moment(replicas_.place(set.members.front(), groups.rank), stage_of(operation));
      const auto number = static_cast<std::int32_t>(at);
      const std::uint32_t start = replicas_.add_shared(here, number, 0);
      const std::uint32_t end = replicas_.add_shared(here, number, 1);
      for (const int member : set.members) {
        for (const std::uint32_t task : ready[static_cast<std::size_t>(member)])
          replicas_.add_edge(task, start);
        ended[static_cast<std::size_t>(member)].push_back(end);
      }
      for (std::size_t flow = 0; flow < set.flows.size(); ++flow) {
        const std::uint32_t task = add_flow(operation, exchange, at, flow);
        replicas_.add_edge(start, task);
        replicas_.add_edge(task, end);
      }
    }
    replicas_.use_slots(2);
  }

  Stage stage_of(const PlannedOperation& operation) const {
    return {replicas_.graph().tasks[operation.task].stage};
  }

  std::uint32_t add_flow(const PlannedOperation& operation, const PlannedExchange& exchange,
                         std::size_t at, std::size_t number) {
    const RankGroups& groups = plan_.groups[exchange.groups];
    const GroupSet& set = groups.sets[at];
    const GroupFlow& flow = set.flows[number];
    const double bytes = exchange.pass.bytes.value / pieces_;
    Task task = replicas_.graph().tasks[operation.task];
    task.stream = Stream::Collective;
    task.group = flow_of(groups.group);
    task.position = -1;
    task.cell_ops = 1;
    task.seconds = std::max(0.0, exchange.pass.alone.value / pieces_ - flow.alone_s(bytes));
    task.bytes = bytes * flow.wire;
    task.rank = static_cast<std::int32_t>(replicas_.place(set.from[number], groups.rank));
    task.peer = static_cast<std::int32_t>(replicas_.place(set.to[number], groups.rank));
    task.route = routes_[exchange.groups][at][number];
    return replicas_.add_own(task, set.from[number]);
  }

  /// What goes for operations at the ends of an edge goes for their exchanges.
  void join(Edge edge) {
    const std::uint32_t before = around(edge.first);
    const std::uint32_t after = around(edge.second);
    if (before != kNone)
      for (const std::uint32_t last : around_[before].last) {
        replicas_.add_edge(last, edge.second);
        if (after == kNone) continue;
        for (const std::uint32_t first : around_[after].first) replicas_.add_edge(last, first);
      }
    if (after != kNone)
      for (const std::uint32_t first : around_[after].first) replicas_.add_edge(edge.first, first);
  }

  std::uint32_t around(std::uint32_t task) const {
    return task < operation_.size() ? operation_[task] : kNone;
  }

  const GroupPlan& plan_;
  int pieces_;
  ReplicaGraph& replicas_;
  std::vector<std::uint32_t> operation_;  ///< [task that was there before] of around_
  std::vector<OperationEdges> around_;
  std::vector<std::vector<std::vector<std::int32_t>>> routes_;  ///< [groups][set][flow]
};

}  // namespace

std::int64_t lowered_tasks(const GroupPlan& plan, int replicas, int pieces) {
  std::vector<std::int64_t> each;
  for (const RankGroups& groups : plan.groups) {
    std::int64_t tasks = 0;
    for (const GroupSet& set : groups.sets)
      tasks += 2 + static_cast<std::int64_t>(set.flows.size());
    each.push_back(tasks);
  }
  std::int64_t sum = 0;
  for (const PlannedOperation& operation : plan.operations) {
    sum += replicas * (1 + static_cast<std::int64_t>(operation.exchanges.size()));
    for (const PlannedExchange& exchange : operation.exchanges) sum += each[exchange.groups];
  }
  return sum * pieces;
}

std::vector<OperationEnd> lower_group_exchanges(const GroupPlan& plan, int pieces,
                                                ReplicaGraph& replicas) {
  return Lowering(plan, pieces, replicas).run();
}

}  // namespace pipecast
