#pragma once
#include <cstdint>
#include <vector>

#include "sim/graph/fabric_traffic.hpp"
#include "sim/graph/group_flows.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/model/replica_devices.hpp"

namespace pipecast {

/// Replicas that exchange inside operations with each other.
struct GroupSet {
  std::vector<int> members;
  std::vector<GroupFlow> flows;
  std::vector<int> from;  ///< [flow] the replica that sends it
  std::vector<int> to;
};

/// All groups of one kind around one rank of the pipeline.
struct RankGroups {
  int rank = 0;
  ParallelDimension group = ParallelDimension::Tensor;
  Collective collective = Collective::AllGather;
  std::vector<GroupSet> sets;
  double latency_s = 0;   ///< of the longest way
  double per_byte_s = 0;  ///< of the slowest flow, on links that only its exchange uses

  /// Bounds how long every flow of an exchange in as many pieces takes by itself.
  double alone_s(Bytes bytes, int pieces) const {
    return pieces * latency_s + bytes.value * per_byte_s;
  }
};

struct PlannedExchange {
  std::size_t groups = 0;  ///< of GroupPlan::groups
  PassExchange pass;       ///< with its seconds known
};

/// An operation of the pipeline and what it exchanges, in the order in which that runs: what hides
/// behind computation first.
struct PlannedOperation {
  std::uint32_t task = 0;
  std::vector<PlannedExchange> exchanges;

  double exposed_s() const;
};

/// What operations exchange inside their groups, on which ways.
struct GroupPlan {
  std::vector<RankGroups> groups;
  std::vector<PlannedOperation> operations;  ///< in the order of the pipeline's tasks
};

/// Of a layout on its devices. Empty without Workload::inside, and for groups of one device.
/// Errors: no route; an operation that exchanges for longer than it lasts. O(replicas · ranks ·
/// flows + operations).
Result<GroupPlan> plan_group_exchanges(const TaskGraph& pipeline, const Program& program,
                                       const Workload& workload, const ParallelLayout& layout,
                                       const ReplicaDevices& devices, const Platform& platform);

/// What the exchanges of a step send.
RoutedLoads group_loads(const GroupPlan& plan, int pieces);

/// Links that some route uses.
std::vector<char> links_used(const std::vector<Route>& routes, const Platform& platform);

/// Whether flows of the plan take no longer than their operations say, whatever else happens, when
/// all replicas do the same at the same time. They do when nothing else uses their links
/// (`others`), every shared link serves flows that leave, or reach, one device, whose operations
/// follow each other, and each flow alone is as fast as its exchange.
bool groups_are_undisturbed(const GroupPlan& plan, const std::vector<char>& others,
                            const Platform& platform, int pieces);

}  // namespace pipecast
