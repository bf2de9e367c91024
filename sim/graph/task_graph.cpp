#include "sim/graph/task_graph.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "sim/base/large_vector.hpp"
#include "sim/graph/deadlock.hpp"
#include "sim/graph/device_costs.hpp"
#include "sim/graph/edge_list.hpp"
#include "sim/graph/transfers_order.hpp"

namespace pipecast {
namespace {

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

/// Which task computes a (stage, microbatch), forward and input gradient.
class Producers {
 public:
  explicit Producers(const Program& program)
      : microbatches_(static_cast<std::size_t>(program.shape.microbatches)),
        tasks_(2 * static_cast<std::size_t>(program.placement.stages) * microbatches_, kNone) {}

  std::uint32_t& forward(std::int32_t stage, std::int32_t microbatch) {
    return tasks_[2 * index(stage, microbatch)];
  }
  std::uint32_t& gradient(std::int32_t stage, std::int32_t microbatch) {
    return tasks_[2 * index(stage, microbatch) + 1];
  }

 private:
  std::size_t index(std::int32_t stage, std::int32_t microbatch) const {
    return static_cast<std::size_t>(stage) * microbatches_ + static_cast<std::size_t>(microbatch);
  }
  std::size_t microbatches_;
  std::vector<std::uint32_t> tasks_;
};

class GraphBuilder {
 public:
  GraphBuilder(const Program& program, const Workload& workload, const Platform& platform,
               std::span<const DeviceId> device_of_rank)
      : program_(program),
        workload_(workload),
        platform_(platform),
        costs_(workload, platform),
        producers_(program),
        routes_from_(program.ranks.size()) {
    graph_.ranks = program.shape.ranks;
    graph_.device_of_rank.assign(device_of_rank.begin(), device_of_rank.end());
    for (const DeviceId device : device_of_rank) costs_of_rank_.push_back(&costs_.on(device));
  }

  Result<TaskGraph> build(TransferPolicy policy) {
    reserve();
    for (std::int32_t rank = 0; rank < program_.shape.ranks; ++rank) add_computes(rank);
    const auto computes = static_cast<std::uint32_t>(graph_.tasks.size());
    for (std::uint32_t task = 0; task < computes; ++task) add_inputs(task);
    if (!faults_.empty()) return fail(std::move(faults_));
    finish();
    if (policy != TransferPolicy::Overlapped && complete()) {
      if (auto ordered = add_transfer_order(policy); !ordered) return fail(ordered.error());
      finish();
    }
    if (!program_.exchanges.empty()) {
      for (const ActivationExchange& exchange : program_.exchanges) add_exchange(exchange);
      if (!faults_.empty()) return fail(std::move(faults_));
      finish();
    }
    if (!complete()) return fail(describe_deadlock(graph_, program_));
    return std::move(graph_);
  }

 private:
  void finish() {
    graph_.dependencies = dependency_graph(graph_.tasks.size(), edges_);
    graph_.order = topological_order(graph_);
  }

  bool complete() const { return graph_.order.size() == graph_.tasks.size(); }

  /// The graph without a policy is acyclic by now, so a lowering finds a place for every transfer.
  Result<void> add_transfer_order(TransferPolicy policy) {
    if (has_transfers(program_)) {
      order_transfers(program_, policy, graph_.tasks, edges_);
    } else {
      const auto lowered = policy == TransferPolicy::Blocking
                               ? lower_batched(program_)
                               : lower_pytorch(program_, PytorchVersion::Main);
      if (!lowered) return fail(lowered.error());
      order_transfers(*lowered, policy, graph_.tasks, edges_);
    }
    std::sort(edges_.begin(), edges_.end());
    edges_.erase(std::unique(edges_.begin(), edges_.end()), edges_.end());
    return {};
  }

  void reserve() {
    std::size_t ops = 0;
    for (const auto& list : program_.ranks) ops += list.size();
    reserve_large(graph_.tasks, 2 * ops);
    reserve_large(edges_, 4 * ops);
  }

  std::uint32_t add_task(const Task& task) {
    graph_.tasks.push_back(task);
    return static_cast<std::uint32_t>(graph_.tasks.size() - 1);
  }

  double slowdown(std::int32_t rank) const {
    return platform_.devices[graph_.device_of_rank[static_cast<std::size_t>(rank)].at()].slowdown;
  }

  void add_computes(std::int32_t rank) {
    const std::vector<Op>& ops = program_.ranks[static_cast<std::size_t>(rank)];
    std::uint32_t previous = kNone;
    for (std::size_t position = 0; position < ops.size(); position += cell_size(ops, position)) {
      const std::size_t size = cell_size(ops, position);
      if (!is_compute(ops[position].kind)) continue;
      if (previous != kNone && workload_.overheads.gap.value > 0)
        previous = add_gap(rank, previous);
      const std::uint32_t task = add_cell(rank, position, size);
      if (previous != kNone) edges_.emplace_back(previous, task);
      previous = task;
    }
  }

  std::uint32_t add_gap(std::int32_t rank, std::uint32_t previous) {
    Task gap;
    gap.kind = OpKind::Gap;
    gap.seconds = workload_.overheads.gap.value;
    gap.rank = rank;
    gap.stage = -1;
    gap.microbatch = -1;
    const std::uint32_t task = add_task(gap);
    edges_.emplace_back(previous, task);
    return task;
  }

  std::uint32_t add_cell(std::int32_t rank, std::size_t position, std::size_t size) {
    const std::vector<Op>& ops = program_.ranks[static_cast<std::size_t>(rank)];
    const std::span<const Op> cell(ops.data() + position, size);
    Task compute;
    compute.kind = cell.front().kind;
    compute.seconds =
        cell_duration(*costs_of_rank_[static_cast<std::size_t>(rank)], cell).value * slowdown(rank);
    compute.rank = rank;
    compute.stage = cell.front().stage.value;
    compute.microbatch = cell.front().microbatch.value;
    compute.position = static_cast<std::int32_t>(position);
    compute.cell_ops = static_cast<std::uint8_t>(size);
    const std::uint32_t task = add_task(compute);
    for (const Op& op : cell) {
      if (is_forward(op.kind)) producers_.forward(op.stage.value, op.microbatch.value) = task;
      if (produces_input_gradient(op.kind))
        producers_.gradient(op.stage.value, op.microbatch.value) = task;
    }
    return task;
  }

  void add_inputs(std::uint32_t task) {
    const Task compute = graph_.tasks[task];  // a copy: add_task may move the vector
    if (compute.position < 0) return;
    const std::vector<Op>& ops = program_.ranks[static_cast<std::size_t>(compute.rank)];
    for (std::size_t i = 0; i < compute.cell_ops; ++i) {
      const Op& op = ops[static_cast<std::size_t>(compute.position) + i];
      const std::int32_t stage = op.stage.value;
      if (is_forward(op.kind) && stage > 0)
        connect(producers_.forward(stage - 1, op.microbatch.value), task, OpKind::SendForward,
                stage - 1, op.microbatch);
      if (produces_input_gradient(op.kind) && stage + 1 < program_.placement.stages)
        connect(producers_.gradient(stage + 1, op.microbatch.value), task, OpKind::SendBackward,
                stage + 1, op.microbatch);
    }
  }

  /// Same rank: program order already carries the result, unless the order is wrong (then the edge
  /// makes the deadlock visible). Another rank: a transfer between the two.
  void connect(std::uint32_t producer, std::uint32_t consumer, OpKind kind, std::int32_t stage,
               Microbatch microbatch) {
    if (producer == consumer) return;
    const std::int32_t from = graph_.tasks[producer].rank;
    const std::int32_t to = graph_.tasks[consumer].rank;
    if (from == to) {
      if (producer > consumer) edges_.emplace_back(producer, consumer);
      return;
    }
    const StageBytes& bytes = workload_.bytes[static_cast<std::size_t>(stage)];
    const Bytes message =
        kind == OpKind::SendForward ? bytes.message_forward : bytes.message_backward;
    const std::uint32_t task = add_transfer(kind, {stage}, microbatch, message, from, to);
    edges_.emplace_back(producer, task);
    edges_.emplace_back(task, consumer);
  }

  /// `bytes` are those of a whole microbatch.
  std::uint32_t add_transfer(OpKind kind, Stage stage, Microbatch microbatch, Bytes bytes,
                             std::int32_t from, std::int32_t to) {
    Task transfer;
    transfer.kind = kind;
    transfer.stream = Stream::Transfer;
    transfer.seconds = workload_.overheads.message.value;
    transfer.bytes = bytes.value * workload_.bytes_share(microbatch);
    transfer.rank = from;
    transfer.peer = to;
    transfer.stage = stage.value;
    transfer.microbatch = microbatch.value;
    transfer.route = route_between(from, to);
    return add_task(transfer);
  }

  /// The activation's way to its host and back. Exchanges keep out of the transfer policy: they
  /// have no place in a framework's list of sends and receives.
  void add_exchange(const ActivationExchange& exchange) {
    const auto [stage, microbatch, host, restore_after] = exchange;
    const std::uint32_t forward = producers_.forward(stage.value, microbatch.value);
    const std::int32_t home = graph_.tasks[forward].rank;
    const Bytes held = workload_.bytes[stage.at()].held_by_forward;
    const std::uint32_t evict =
        add_transfer(OpKind::EvictActivation, stage, microbatch, held, home, host.value);
    const std::uint32_t restore =
        add_transfer(OpKind::RestoreActivation, stage, microbatch, held, host.value, home);
    edges_.emplace_back(forward, evict);
    edges_.emplace_back(evict, restore);
    edges_.emplace_back(producers_.gradient(stage.value, restore_after.value), restore);
    edges_.emplace_back(restore, producers_.gradient(stage.value, microbatch.value));
  }

  std::int32_t route_between(std::int32_t from, std::int32_t to) {
    auto& known = routes_from_[static_cast<std::size_t>(from)];
    for (const auto& [peer, id] : known)
      if (peer == to) return id;
    auto way = route(platform_, graph_.device_of_rank[static_cast<std::size_t>(from)],
                     graph_.device_of_rank[static_cast<std::size_t>(to)]);
    const auto id = static_cast<std::int32_t>(graph_.routes.size());
    known.emplace_back(to, id);
    if (way)
      graph_.routes.push_back(std::move(*way));
    else
      faults_.insert(faults_.end(), way.error().begin(), way.error().end());
    return id;
  }

  const Program& program_;
  const Workload& workload_;
  const Platform& platform_;
  DeviceCosts costs_;
  std::vector<const Workload*> costs_of_rank_;
  Producers producers_;
  std::vector<std::vector<std::pair<std::int32_t, std::int32_t>>> routes_from_;
  TaskGraph graph_;
  std::vector<Edge> edges_;
  Diagnostics faults_;
};

Diagnostics check_devices(const Program& program, const Platform& platform,
                          std::span<const DeviceId> device_of_rank) {
  if (device_of_rank.size() != program.ranks.size())
    return {infeasible("the schedule has " + std::to_string(program.ranks.size()) +
                       " ranks, devices are given for " + std::to_string(device_of_rank.size()))};
  for (const DeviceId device : device_of_rank)
    if (device.value < 0 || device.at() >= platform.devices.size())
      return {infeasible("platform " + platform.name + " has " +
                         std::to_string(platform.devices.size()) +
                         " devices, a rank is placed on device " + std::to_string(device.value))};
  return {};
}

}  // namespace

Result<TaskGraph> build_task_graph(const Program& program, const Workload& workload,
                                   const Platform& platform,
                                   std::span<const DeviceId> device_of_rank,
                                   TransferPolicy policy) {
  if (workload.cuts != program.cuts)
    return build_task_graph(program, fitted(workload, program), platform, device_of_rank, policy);
  if (Diagnostics faults = check(workload, program); !faults.empty())
    return fail(std::move(faults));
  if (Diagnostics faults = check_devices(program, platform, device_of_rank); !faults.empty())
    return fail(std::move(faults));
  if (has_transfers(program))
    if (Diagnostics faults = check_transfers(program); !faults.empty())
      return fail(std::move(faults));
  return GraphBuilder(program, workload, platform, device_of_rank).build(policy);
}

}  // namespace pipecast
