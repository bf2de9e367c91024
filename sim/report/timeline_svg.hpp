#pragma once
#include <iosfwd>
#include <string>

#include "sim/report/timeline_text.hpp"

namespace pipecast {

struct TimelineSvgOptions {
  std::string title = {};     ///< above the diagram; empty: none
  std::string subtitle = {};  ///< a smaller line below it; empty: none
  TimeLabels labels = TimeLabels::Measured;
  int most_boxes = 20'000;  ///< beyond, rows show shares of time in kCompressedColumns columns
  int most_ranks = 64;      ///< of more ranks, so many evenly spaced ones are drawn
};
inline constexpr int kCompressedColumns = 1'200;

/// A pipeline diagram as papers print them: a row per rank, microbatch numbers in the boxes, a time
/// axis, a legend with the kinds that occur.
///
/// Kinds differ in brightness, so they stay apart in grey print; odd chunks (or the opposite
/// direction) are hatched, and where a rank has more than two chunks the boxes carry their stage
/// where it fits. The shortest operation is as wide as its number, within bounds. For equal
/// durations draw the run of a uniform workload. Streamed; the same bytes on every run.
/// O(operations + ranks · columns).
void write_timeline_svg(const Program& program, const Workload& workload, const TaskGraph& graph,
                        const Timeline& timeline, const TimelineSvgOptions& options,
                        std::ostream& out);

}  // namespace pipecast
