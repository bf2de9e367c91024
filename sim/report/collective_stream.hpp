#pragma once
#include <string_view>

#include "sim/graph/task.hpp"

namespace pipecast {

/// A flow of a collective or an update: what reports show of a rank's collective stream. What else
/// is on it are points of time within an operation (see replicated_graph.hpp).
constexpr bool is_collective(const Task& task) {
  return task.stream == Stream::Collective && task.kind != OpKind::Gap;
}

/// `TENSOR`, `CONTEXT`, `EXPERT`: what a flow inside an operation is called; empty for other tasks.
constexpr std::string_view group_word(GroupFlowOf group) {
  switch (group) {
    case GroupFlowOf::None:
      return {};
    case GroupFlowOf::Tensor:
      return "TENSOR";
    case GroupFlowOf::Context:
      return "CONTEXT";
    case GroupFlowOf::Expert:
      return "EXPERT";
  }
  return {};
}

}  // namespace pipecast
