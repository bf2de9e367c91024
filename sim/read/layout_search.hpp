#pragma once
#include <span>
#include <string>
#include <vector>

#include "schedules/schedule.hpp"
#include "sim/base/diagnostic.hpp"
#include "sim/cost/training_plan.hpp"

namespace pipecast {

/// Schedules a search tries when it is not told others: what frameworks ship, and the V shape that
/// needs no more memory.
inline constexpr std::string_view kSearchedSchedules[] = {"1f1b", "interleaved-1f1b", "zb-h1",
                                                          "zbv"};
/// Largest chunks per rank, microbatch size, and smallest share of a sequence that a search tries
/// by itself.
inline constexpr int kSearchedChunks = 8;
inline constexpr int kSearchedMicrobatchSize = 16;
inline constexpr int kSearchedTokens = 2048;

/// What a search may choose from. An empty list stands for what the comment says.
struct LayoutBounds {
  int devices = 0;                     ///< 0: those of the quote, else of the platform
  std::vector<int> tensor;             ///< divisors of a scale-up domain
  std::vector<int> pipeline;           ///< divisors of the devices
  std::vector<int> context;            ///< powers of two that leave each device kSearchedTokens
  std::vector<int> expert;             ///< divisors of the number of experts
  std::vector<int> data;               ///< what is left of the devices
  std::vector<int> chunks;             ///< 1 to kSearchedChunks
  std::vector<int> microbatch_size;    ///< powers of two up to kSearchedMicrobatchSize
  std::vector<Recompute> recompute;    ///< none, full; selective where attention is not fused
  std::vector<std::string> schedules;  ///< kSearchedSchedules

  bool operator==(const LayoutBounds&) const = default;
};

/// What a search is for: a model, its batch and a machine.
struct LayoutProblem {
  TrainingPlan
      plan;  ///< its layout says what is not searched: sequence, ZeRO, sequence parallelism
  int global_batch = 1;  ///< sequences
  int devices = 1;       ///< all of them are used
  int domain = 1;        ///< devices that meet at the innermost level
};

/// A layout, and the schedule that runs it. Microbatches follow from the batch.
struct LayoutChoice {
  ParallelLayout layout;
  std::string schedule;

  int microbatches() const { return layout.global_batch / (layout.microbatch_size * layout.data); }
  bool operator==(const LayoutChoice&) const = default;
};

/// Every layout within the bounds that divides: tensor × pipeline × context × data are the devices,
/// check(layout, model) finds nothing, the layers can be split into the stages, microbatch size ×
/// data divides the batch, and the schedule takes the shape. Whether it fits into memory is not
/// asked. A schedule that is made for several chunks is not tried with one. Tensor varies slowest,
/// then pipeline, context, expert, chunks, microbatch size, schedule, recompute. With one pipeline
/// rank all schedules are one: only the first that takes one chunk is listed. When nothing divides,
/// the reason of the layout that came farthest (infeasible). `schedules` must hold those of the
/// bounds. O(combinations).
Result<std::vector<LayoutChoice>> search_layouts(const LayoutBounds& bounds,
                                                 const LayoutProblem& problem,
                                                 std::span<const ScheduleInfo> schedules);

}  // namespace pipecast
