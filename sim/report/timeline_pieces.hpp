#pragma once
#include <vector>

#include "sim/graph/task_graph.hpp"
#include "sim/model/program.hpp"
#include "sim/model/timeline.hpp"
#include "sim/model/workload.hpp"
#include "sim/report/idle.hpp"

namespace pipecast {

/// A box of a pipeline diagram: an operation of a rank, or a stretch in which it idles.
struct Piece {
  double start_s = 0;
  double end_s = 0;
  Op op;                ///< of an operation
  int chunk = 0;        ///< which of the rank's stages, in stage order; of a bidirectional schedule
                        ///< the direction
  bool paired = false;  ///< one half of an overlapped pair
  bool idle = false;
  IdleCause cause = IdleCause::Dependency;  ///< of an idle stretch

  double seconds() const { return end_s - start_s; }
  bool operator==(const Piece&) const = default;
};

/// What a rank does and when it idles, in time order. The halves of an overlapped pair share its
/// interval in the proportion of their durations. O(operations of the rank).
std::vector<Piece> timeline_pieces(const Program& program, const Workload& workload,
                                   const TaskGraph& graph, const Timeline& timeline,
                                   const RunIndex& index, Rank rank);

/// The most stages that a rank holds: 1 where a microbatch number alone tells an operation.
int chunks_per_rank(const Program& program);

}  // namespace pipecast
