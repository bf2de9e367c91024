#pragma once
#include <string>
#include <vector>

#include "sim/base/diagnostic.hpp"
#include "sim/model/program.hpp"

namespace pipecast {

/// One operation as it was measured. Seconds on the clock that all ranks of a step share.
struct MeasuredOp {
  OpKind kind = OpKind::Forward;
  bool joined = false;  ///< overlapped with the next of the list; the two share a cell
  Stage stage;
  Microbatch microbatch;
  double begin_s = 0;  ///< of the computation: the wait for its input is taken off
  double end_s = 0;
  double waited_s = 0;  ///< what was taken off

  double seconds() const { return end_s - begin_s; }
  bool operator==(const MeasuredOp&) const = default;
};

/// Point-to-point kernels of a rank, where the trace has them: the shortest is the transfer, what
/// others last beyond it is waiting for the peer.
struct MeasuredKernels {
  int count = 0;
  double shortest_s = 0;
  double median_s = 0;

  bool operator==(const MeasuredKernels&) const = default;
};

/// A rank in one step.
struct MeasuredRank {
  double begin_s = 0;  ///< when the rank entered the step
  double end_s = 0;
  std::vector<MeasuredOp> ops;  ///< in the order they began
  MeasuredKernels transfers;

  bool operator==(const MeasuredRank&) const = default;
};

struct MeasuredStep {
  std::string name;  ///< as the file calls it: `step 3`
  std::vector<MeasuredRank> ranks;

  /// Latest end − earliest begin of a rank.
  double seconds() const;
  bool operator==(const MeasuredStep&) const = default;
};

/// Steps of one pipeline, all with the same operations.
struct MeasuredRun {
  std::vector<MeasuredStep> steps;
  std::vector<std::string> notes;  ///< what the reader left out or assumed

  bool operator==(const MeasuredRun&) const = default;
};

/// The order that a step executed, as a schedule; where a stage was computed on several ranks, the
/// microbatch decides. Errors: ranks or operations missing, more than the shape allows.
Result<Program> measured_program(const MeasuredStep& step);

/// Ranks in order without a hole, every step with the operations of the first; sorts them by begin.
/// A forward and a backward that a rank worked on at once become a pair: each was given the time of
/// both, which is now divided as the two last alone. A rank without a total lasts from its first to
/// its last operation.
/// Every fault found, at most a few of each kind.
Diagnostics tidy(MeasuredRun& run);

}  // namespace pipecast
