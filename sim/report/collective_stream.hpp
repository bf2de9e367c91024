#pragma once
#include "sim/graph/task.hpp"

namespace pipecast {

/// A flow of a collective or an update: what reports show of a rank's collective stream. What else
/// is on it are points of time within an operation (see replicated_graph.hpp).
constexpr bool is_collective(const Task& task) {
  return task.stream == Stream::Collective && task.kind != OpKind::Gap;
}

}  // namespace pipecast
