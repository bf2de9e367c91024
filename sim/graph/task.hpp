#pragma once
#include <cstdint>

#include "sim/model/ids.hpp"
#include "sim/model/program.hpp"

namespace pipecast {

/// What a task occupies on its device. Communication overlaps computation because streams differ.
enum class Stream : std::uint8_t { Compute, Transfer, Collective };

/// Which exchange inside operations a flow belongs to.
enum class GroupFlowOf : std::uint8_t { None, Tensor, Context, Expert };

/// A vertex of the task graph: a compute cell of a rank, a pause of its runtime, or a transfer
/// between ranks.
struct Task {
  double seconds =
      0;  ///< compute and Gap: its duration; transfer: extra latency before the bytes flow
  double bytes = 0;        ///< transfer: its size; else 0
  std::int32_t rank = 0;   ///< where it runs; for a transfer the sender
  std::int32_t peer = -1;  ///< transfer: the receiver; else −1
  std::int32_t stage = 0;  ///< for a transfer the sender's stage
  std::int32_t microbatch = 0;
  std::int32_t route = -1;  ///< transfer: index into TaskGraph::routes; else −1
  std::int32_t position =
      -1;  ///< compute: index of the cell's first op in the rank's program; else −1
  OpKind kind = OpKind::Forward;  ///< of the cell's first op; of a transfer SendForward,
                                  ///< SendBackward, EvictActivation or RestoreActivation; of a
                                  ///< flow of a group that of the operation it is part of
  Stream stream = Stream::Compute;
  std::uint8_t cell_ops = 1;  ///< ops in the cell; 2 for an overlapped pair
  GroupFlowOf group = GroupFlowOf::None;

  bool operator==(const Task&) const = default;
};

constexpr bool is_transfer(const Task& task) { return task.stream == Stream::Transfer; }
/// A compute cell of the program: what counts as busy time.
constexpr bool is_work(const Task& task) {
  return task.stream == Stream::Compute && task.kind != OpKind::Gap;
}

}  // namespace pipecast
