#pragma once
#include <cstdint>
#include <string>

#include "sim/base/diagnostic.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/model/program.hpp"
#include "sim/model/timeline.hpp"
#include "sim/model/workload.hpp"

namespace pipecast {

/// What the numbers of a diagram's time axis say.
enum class TimeLabels : std::uint8_t {
  Measured,  ///< with a unit
  Ticks,     ///< bare numbers: the costs have no unit
};

struct TimelineTextOptions {
  int columns = 80;  ///< of the terminal; at least 40 are used
  Color color = Color::Plain;
  TimeLabels labels = TimeLabels::Measured;
  int most_pages = 4;   ///< more pages than this become one compressed page
  int most_ranks = 64;  ///< of more ranks, so many evenly spaced ones are drawn
};

/// A pipeline diagram for a terminal: a line per rank, time to the right, a time axis and a legend.
///
/// A box is its letter (F, B, I, W; of odd chunks in lower case), its microbatch, and a fill that
/// differs per kind, so it is readable without colour; with more than two chunks per rank a box is
/// named as in PyTorch's CSV. Costs that are whole ticks get whole columns per tick. What does not
/// fit is cut into pages, or, beyond `most_pages`, compressed: then a column shows what filled most
/// of it. O(operations + ranks · columns).
std::string timeline_text(const Program& program, const Workload& workload, const TaskGraph& graph,
                          const Timeline& timeline, const TimelineTextOptions& options = {});

}  // namespace pipecast
