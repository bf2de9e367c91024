#pragma once
#include <cstdint>
#include <vector>

#include "sim/graph/group_plan.hpp"
#include "sim/graph/replica_graph.hpp"

namespace pipecast {

/// An operation has ended when the task has, too.
struct OperationEnd {
  std::uint32_t operation = 0;
  std::uint32_t task = 0;

  bool operator==(const OperationEnd&) const = default;
};

/// Tasks that lower_group_exchanges() adds.
std::int64_t lowered_tasks(const GroupPlan& plan, int replicas, int pieces);

/// Puts the exchanges into the graph. An operation keeps its task and its seconds; beside it run,
/// as often as there are pieces, a delay as long as it computes and then its exchanges, flows that
/// begin when all members of the group are there and take by themselves what the plan says; those
/// that hide begin before the delay ends. What waits for the operation waits for the last of its
/// exchanges too. So nothing is longer than its operations unless flows are disturbed, or members
/// wait for each other. Returns the ends of replica 0's operations. O(tasks + edges).
std::vector<OperationEnd> lower_group_exchanges(const GroupPlan& plan, int pieces,
                                                ReplicaGraph& replicas);

}  // namespace pipecast
