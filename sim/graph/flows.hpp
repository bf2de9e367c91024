#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "sim/graph/task_graph.hpp"

namespace pipecast {

/// A message from one device to another. It starts when the flows it names in `after` have
/// arrived; they must stand before it in the list.
struct Flow {
  DeviceId from;
  DeviceId to;
  Bytes bytes;
  Seconds extra = {};  ///< before the bytes flow, on top of the route's latency
  std::vector<std::uint32_t> after = {};

  bool operator==(const Flow&) const = default;
};

/// Flows alone as a task graph: one transfer per flow, in the order of the list, and no computes.
/// Every device that sends or receives becomes a rank, in the order of device numbers.
/// Infeasible when a pair has no route. O(flows + dependencies).
Result<TaskGraph> build_flow_graph(std::span<const Flow> flows, const Platform& platform);

}  // namespace pipecast
