#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "sim/base/quantity.hpp"
#include "sim/graph/task.hpp"
#include "sim/model/program.hpp"
#include "sim/model/timeline.hpp"
#include "sim/model/weights.hpp"
#include "sim/model/workload.hpp"

namespace pipecast {

/// What is alive at a moment, or what changes at one.
struct ActivationCount {
  double bytes = 0;
  int in_flight = 0;                ///< microbatch-chunks, released by B or W
  int in_flight_free_at_input = 0;  ///< the same, released by B or I

  ActivationCount& operator+=(const ActivationCount& change) {
    bytes += change.bytes;
    in_flight += change.in_flight;
    in_flight_free_at_input += change.in_flight_free_at_input;
    return *this;
  }
  bool operator==(const ActivationCount&) const = default;
};

/// Whether anything ever releases what a forward holds. Without a backward a forward keeps its
/// activation only while it runs.
enum class Backward : std::uint8_t { Present, Absent };

/// A forward takes `held_by_forward` when it starts; other operations take nothing.
ActivationCount taken_at_start(const Workload& workload, const Op& op);
/// A full backward gives all of it back when it ends; a split one gives
/// `released_by_backward_input` at I's end and the rest at W's end. Zero or negative.
ActivationCount released_at_end(const Workload& workload, const Op& op, Backward backward);

/// Calls visit(op, time_s, change) for what a compute task takes at its start and releases at its
/// end, in this order.
template <class Visit>
void visit_memory_changes(const Program& program, const Workload& workload, const Task& task,
                          const Interval& interval, Backward backward, Visit visit) {
  if (!is_work(task) || task.position < 0) return;
  const std::vector<Op>& ops = program.ranks[static_cast<std::size_t>(task.rank)];
  const std::span<const Op> cell(ops.data() + task.position, task.cell_ops);
  for (const Op& op : cell)
    if (is_forward(op.kind)) visit(op, interval.start_s, taken_at_start(workload, op));
  for (const Op& op : cell) visit(op, interval.end_s, released_at_end(workload, op, backward));
}

/// Activation bytes alive from `time_s` on.
struct MemoryPoint {
  double time_s = 0;
  double bytes = 0;

  bool operator==(const MemoryPoint&) const = default;
};
using MemoryCurve = std::vector<MemoryPoint>;

struct RankMemory {
  Bytes peak_activation;
  double peak_at_s = 0;  ///< when the peak is first reached
  int peak_in_flight = 0;
  int peak_in_flight_free_at_input = 0;
  Bytes parameters;  ///< of every version of every stage copy on the rank
  Bytes gradients;
  Bytes optimizer;
  WeightUse weights;  ///< the most of any stage copy on the rank

  Bytes static_memory() const { return parameters + gradients + optimizer; }
  bool operator==(const RankMemory&) const = default;
};

/// One copy of a stage.
struct StageMemory {
  Bytes peak_activation;
  int peak_in_flight = 0;

  bool operator==(const StageMemory&) const = default;
};

struct MemoryUse {
  std::vector<RankMemory> ranks;    ///< [rank]
  std::vector<StageMemory> stages;  ///< [direction · stages + stage], as Placement::rank_of

  bool operator==(const MemoryUse&) const = default;
};

/// Weights (every version kept), gradients and optimizer state of each rank, which need no run:
/// peaks stay zero. [rank]. O(operations).
std::vector<RankMemory> static_memory(const Program& program, const Workload& workload);

/// Peaks of every rank and stage by one sweep over the compute tasks. Operations of a rank take and
/// release in program order, so what one operation releases at an instant is free for the next one
/// that starts at the same instant. The cells of an overlapped pair hold both: its forward takes at
/// the start and its backward releases at the end of the cell. An exchanged activation counts on
/// both ranks while it is on its way; stage copies count it wherever it is. O(tasks), with
/// exchanges O(tasks + exchanges · log).
MemoryUse measure_memory(const Program& program, const Workload& workload,
                         std::span<const Task> tasks, const Timeline& timeline);

/// The ranks of measure_memory() without a timeline: whenever operations run, those of a rank take
/// and release in program order. Exact, `peak_at_s` apart, unless activations are exchanged; then
/// none are counted. O(operations).
std::vector<RankMemory> ordered_memory(const Program& program, const Workload& workload);

/// Activation bytes over time of each rank: a point wherever they change, times in order. Points at
/// the same time follow program order. Starts at (0, 0). O(tasks).
std::vector<MemoryCurve> rank_curves(const Program& program, const Workload& workload,
                                     std::span<const Task> tasks, const Timeline& timeline);
/// The same per stage copy, indexed as Placement::rank_of.
std::vector<MemoryCurve> stage_curves(const Program& program, const Workload& workload,
                                      std::span<const Task> tasks, const Timeline& timeline);

}  // namespace pipecast
