#pragma once
#include <vector>

#include "sim/model/measured_run.hpp"
#include "sim/model/workload.hpp"
#include "sim/study/measured_lags.hpp"

namespace pipecast {

/// Where a measured step's time beyond the ideal went, along its critical path: the chain of
/// operations that each waited for the one before. measured = ideal + start + operations + gaps +
/// messages − slack, exactly.
struct ExcessTime {
  double ideal_s = 0;       ///< makespan with every operation at its ideal and nothing else
  double start_s = 0;       ///< before the first operation of the path
  double operations_s = 0;  ///< operations longer than their ideal
  double gaps_s = 0;        ///< between operations of a rank, and after the last
  double messages_s = 0;    ///< end of a producer to the begin of the consumer that waited for it
  double slack_s = 0;  ///< the ideal's own path is longer than the measured one's ideal by this
};

/// Where a rank's time in the step goes; the parts add up to the step.
struct RankExcess {
  Rank rank;
  double ideal_s = 0;       ///< its operations at their ideal
  double operations_s = 0;  ///< longer than that
  double gaps_s = 0;        ///< between operations, where the later one waited for no message
  double messages_s = 0;    ///< end of the producer to the begin of the consumer
  double waiting_s = 0;     ///< for a producer that was not done, and for the step to begin and end
};

/// Half, 95 and 99 of 100 of the values are at most this.
struct Percentiles {
  int count = 0;
  double p50_s = 0;
  double p95_s = 0;
  double p99_s = 0;
};

/// How much longer than their ideal the operations of a kind are.
struct KindOvershoot {
  OpKind kind = OpKind::Forward;
  Percentiles overshoot;
};

/// Pauses of a rank between an operation and the next that waited for nothing else.
struct GapBetween {
  OpKind before = OpKind::Forward;
  OpKind after = OpKind::Forward;
  Percentiles gap;
};

/// The excess of a step, from the whole down to what it is made of.
struct MeasuredExcess {
  ExcessTime path;
  std::vector<RankExcess> ranks;
  std::vector<KindOvershoot> overshoots;  ///< by kind
  std::vector<GapBetween> gaps;           ///< by the kinds before and after
  Percentiles messages;
};

/// `ideal` holds the durations that are taken for ideal, `ideal_s` the makespan with these and
/// nothing else. O(operations · log operations).
MeasuredExcess measured_excess(const MeasuredStep& step, const Workload& ideal, double ideal_s);

}  // namespace pipecast
