#include "sim/study/step_ends.hpp"

#include <algorithm>

#include "sim/report/collective_stream.hpp"

namespace pipecast {
namespace {

struct Landmarks {
  double first_s = 0;     ///< start of the first operation
  double computed_s = 0;  ///< end of the last
  double end_s = 0;
  std::int32_t last_rank = -1;  ///< whose collective or update ends the run
};

Landmarks landmarks_of(const TaskGraph& graph, const Timeline& timeline) {
  Landmarks marks;
  bool started = false;
  for (std::size_t id = 0; id < graph.tasks.size(); ++id) {
    const Interval& interval = timeline.intervals[id];
    if (is_work(graph.tasks[id])) {
      marks.first_s = started ? std::min(marks.first_s, interval.start_s) : interval.start_s;
      marks.computed_s = std::max(marks.computed_s, interval.end_s);
      started = true;
    }
    if (interval.end_s <= marks.end_s) continue;
    marks.end_s = interval.end_s;
    marks.last_rank = is_collective(graph.tasks[id]) ? graph.tasks[id].rank : -1;
  }
  return marks;
}

}  // namespace

StepEnds step_ends(const TaskGraph& graph, const Timeline& timeline) {
  const Landmarks marks = landmarks_of(graph, timeline);
  StepEnds ends;
  ends.first_gather_s = marks.first_s;
  ends.reduction_s = marks.end_s - marks.computed_s;
  for (std::size_t id = 0; id < graph.tasks.size(); ++id) {
    if (graph.tasks[id].kind != OpKind::Optimizer || graph.tasks[id].rank != marks.last_rank)
      continue;
    const Interval& update = timeline.intervals[id];
    const double begin_s = std::max(marks.computed_s, update.start_s);
    const double end_s = std::max(begin_s, update.end_s);
    ends.reduction_s = begin_s - marks.computed_s;
    ends.update_s = end_s - begin_s;
    ends.last_gather_s = marks.end_s - end_s;
  }
  return ends;
}

}  // namespace pipecast
