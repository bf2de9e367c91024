#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "sim/graph/fabric_traffic.hpp"
#include "sim/graph/group_lowering.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/model/parallel_layout.hpp"
#include "sim/model/timeline.hpp"

namespace pipecast {

/// A pipeline with its replicas: what evaluators run, and the part that reports show.
struct ReplicatedGraph {
  TaskGraph graph;    ///< of every simulated replica; ranks count replica · P + rank
  Platform platform;  ///< to run it on: that of the scenario, or with links that stand for several
  int replicas = 1;   ///< of the layout
  int simulated = 1;  ///< 1: one stands for all
  TaskGraph shown;    ///< replica 0 on its own devices
  std::vector<std::uint32_t> shown_tasks;  ///< [task of `shown`] its id in `graph`
  std::vector<OperationEnd> ends;          ///< of the operations of `shown` that exchange as flows
  FabricTraffic traffic;                   ///< of all replicas, on the links of the scenario
  bool groups_left_out = false;  ///< exchanges inside operations are closed forms although they may
                                 ///< contend: they would be more than kMostGroupTasks
};

/// Tasks of all replicas together, above which `automatic` leaves exchanges inside operations out.
inline constexpr std::int64_t kMostGroupTasks = 500'000;

/// Tasks of all replicas together that are taken on.
inline constexpr std::int64_t kMaxReplicatedTasks = 64'000'000;

/// The pipeline on every replica of the layout, with gradient reductions, parameter gathers,
/// updates, and what operations exchange inside their groups (lower_group_exchanges). `devices` are
/// those of the layout, in its order. Collectives are flows on the platform's links
/// (plan_collective), so they contend with messages; a rank runs its reductions one after the
/// other, its gathers too, and a collective starts when all its devices have reached it.
///
/// Under Replicas::Symmetric, when every replica provably does the same (equal tasks, routes that
/// map onto each other link by link, links that carry the same), one replica is simulated: a link
/// then stands for all its images, and a flow crosses it as often as images of the flow do.
/// O(all tasks) to build and compare, not to simulate; where replicas exchange nothing, O(tasks of
/// one replica + replicas · routes).
///
/// Under GroupTraffic::As::Automatic exchanges inside operations are left out of the graph, not of
/// the traffic, where one replica stands for all and groups_are_undisturbed(): they would change
/// nothing; and where all together would be more than kMostGroupTasks. Errors: those of
/// build_task_graph, plan_collective and plan_group_exchanges; too many tasks.
Result<ReplicatedGraph> build_replicated_graph(const Program& program, const Workload& workload,
                                               const Platform& platform,
                                               const ParallelLayout& layout,
                                               std::span<const DeviceId> devices,
                                               TransferPolicy policy = TransferPolicy::Overlapped);

/// When the tasks of `shown` ran, from a run of `graph`. An operation lasts until its exchanges
/// have ended.
Timeline shown_timeline(const ReplicatedGraph& replicated, const Timeline& timeline);

}  // namespace pipecast
