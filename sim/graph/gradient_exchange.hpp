#pragma once
#include <cstdint>
#include <vector>

#include "sim/graph/task_graph.hpp"
#include "sim/model/collective.hpp"
#include "sim/model/parallel_layout.hpp"

namespace pipecast {

/// A collective between the replicas of the ranks that hold a stage, once per step or per
/// microbatch.
struct Exchange {
  OpKind kind = OpKind::ReduceGrad;  ///< ReduceGrad or Unshard
  Collective collective = Collective::AllReduce;
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::Automatic;
  Bytes bytes;
  Stage stage;
  bool experts = false;       ///< between the devices that hold the same experts
  bool after_update = false;  ///< waits for the optimizer of its ranks
  /// Reductions: share of the last task of `after` that must have run. Gathers: share of the task
  /// of `before` that runs without it.
  double share = 1;
  std::vector<int> ranks;             ///< those that hold the stage: two in bidirectional schedules
  std::vector<std::uint32_t> after;   ///< tasks of the pipeline that must have ended
  std::vector<std::uint32_t> before;  ///< tasks of the pipeline that wait for its end
};

/// More pieces of one chunk's gradient than this are refused.
inline constexpr int kMaxBuckets = 4096;

/// What the replicas exchange, in the order a rank's communicators run it: sharded parameters are
/// gathered before the first forward of their stage (or after the update, or before each forward
/// and input gradient, as FSDP does when it gives them up after each use), gradients are added up
/// when the last backward of their chunk has ended (or after each backward, or after the rank's
/// last operation), bucket by bucket. Buckets (GradientReduction::bucket) of a gradient appear one
/// after the other while the last backward still runs; as many pieces of the parameters are
/// gathered while the first forward already does. With ZeRO the sum is scattered. `pipeline` is the
/// graph of one replica. Infeasible when a bucket is too small.
Result<std::vector<Exchange>> exchanges_of(const TaskGraph& pipeline, const Program& program,
                                           const Workload& workload, const ParallelLayout& layout);

/// Seconds of the update of everything a rank holds, on a device of ordinary speed.
Seconds update_seconds(const Program& program, const Workload& workload, int rank);

}  // namespace pipecast
