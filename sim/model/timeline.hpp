#pragma once
#include <cstdint>
#include <vector>

#include "sim/base/quantity.hpp"
#include "sim/model/ids.hpp"

namespace pipecast {

/// When a task ran, seconds from the start of the step. Trivially copyable: a child process pipes
/// it.
struct Interval {
  double start_s = 0;
  double end_s = 0;

  bool operator==(const Interval&) const = default;
};

/// Intervals indexed by task id.
struct Timeline {
  std::vector<Interval> intervals;

  const Interval& operator[](TaskId task) const { return intervals[task.at()]; }
  bool operator==(const Timeline&) const = default;
};

/// Latest end, 0 for an empty timeline.
Seconds makespan(const Timeline& timeline);

/// 64-bit FNV-1a hash over the bits of every interval: two runs agree when their digests do.
std::uint64_t digest(const Timeline& timeline);

}  // namespace pipecast
