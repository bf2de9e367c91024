#include "sim/report/run_timeline.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/graph/task_graph.hpp"
#include "sim/report/collective_stream.hpp"
#include "sim/report/critical_path.hpp"
#include "sim/report/lanes.hpp"
#include "sim/report/run_index.hpp"
#include "sim/report/timeline_pieces.hpp"
#include "sim/report/trace_events.hpp"

namespace pipecast {
namespace {

class RunTimeline {
 public:
  RunTimeline(const RunView& run, const RunTimelineOptions& options)
      : run_(run),
        most_boxes_(std::max<std::size_t>(options.most_boxes, 1)),
        index_(index_run(run.graph, run.timeline)),
        critical_(run.tasks.size(), 0) {
    for (const std::uint32_t task : critical_path(run.graph, run.timeline)) critical_[task] = 1;
  }

  TimelineData build() {
    data_.name = run_.schedule;
    data_.length_s = index_.makespan_s;
    data_.stages = run_.program.placement.stages;
    data_.many_chunks = chunks_per_rank(run_.program) > 2;
    const TasksByRank collectives = group_tasks(
        run_.graph, [](const Task& task) { return is_collective(task); },
        [](const Task& task) { return task.rank; });
    for (const Rank rank : shown_ranks()) {
      add_computation(rank);
      add_collectives(rank, collectives.of(rank));
    }
    add_messages();
    return std::move(data_);
  }

 private:
  std::vector<Rank> shown_ranks() {
    const int all = run_.program.shape.ranks;
    const std::size_t boxes = std::max<std::size_t>(index_.compute.ids.size(), 1);
    int shown = all;
    if (boxes > most_boxes_) {
      const double share = static_cast<double>(most_boxes_) / static_cast<double>(boxes);
      shown = std::max(static_cast<int>(share * all), 1);
      data_.notes.push_back(fmt::format("{} of {} ranks are drawn.", shown, all));
    }
    std::vector<Rank> ranks;
    for (int i = 0; i < shown; ++i)
      ranks.push_back(
          {shown == 1 ? 0 : static_cast<int>(std::int64_t{i} * (all - 1) / (shown - 1))});
    return ranks;
  }

  void add_computation(Rank rank) {
    TimelineLine line{.name = fmt::format("rank {}", rank.value), .rank = rank};
    for (const Piece& piece :
         timeline_pieces(run_.program, run_.workload, run_.graph, run_.timeline, index_, rank))
      if (!piece.idle)
        line.boxes.push_back({.start_s = piece.start_s,
                              .end_s = piece.end_s,
                              .op = piece.op,
                              .chunk = static_cast<std::uint8_t>(piece.chunk)});
    mark_critical(line, rank);
    line.idle = idle_stretches(run_.program, run_.graph, run_.timeline, index_, rank);
    if (line.boxes.size() > most_boxes_) {
      line.boxes.resize(most_boxes_);
      const double end_s = line.boxes.back().end_s;
      std::erase_if(line.idle, [&](const IdleStretch& idle) { return idle.end_s > end_s; });
      data_.notes.push_back(
          fmt::format("Of rank {} the first {} operations are drawn.", rank.value, most_boxes_));
    }
    data_.lines.push_back(std::move(line));
  }

  /// The boxes of a rank stand in the order of its tasks' operations.
  void mark_critical(TimelineLine& line, Rank rank) {
    std::size_t box = 0;
    for (const std::uint32_t id : index_.compute.of(rank)) {
      if (!is_work(run_.tasks[id])) continue;
      for (int i = 0; i < run_.tasks[id].cell_ops && box < line.boxes.size(); ++i)
        line.boxes[box++].critical = critical_[id] != 0;
    }
  }

  /// Collectives of a rank that overlap get further lines.
  void add_collectives(Rank rank, std::span<const std::uint32_t> tasks) {
    std::vector<std::uint32_t> by_start(tasks.begin(), tasks.end());
    std::stable_sort(by_start.begin(), by_start.end(), [&](std::uint32_t a, std::uint32_t b) {
      return run_.timeline.intervals[a].start_s < run_.timeline.intervals[b].start_s;
    });
    Lanes lanes;
    const std::size_t first = data_.lines.size();
    for (const std::uint32_t id : by_start) {
      const Task& task = run_.tasks[id];
      const Interval& interval = run_.timeline.intervals[id];
      const auto lane = static_cast<std::size_t>(
          lanes.take(to_nanoseconds(interval.start_s), to_nanoseconds(interval.end_s)));
      if (first + lane == data_.lines.size())
        data_.lines.push_back({.name = "collectives", .rank = rank, .thin = true});
      data_.lines[first + lane].boxes.push_back(
          {.start_s = interval.start_s,
           .end_s = interval.end_s,
           .op = {.kind = task.kind, .stage = {task.stage}, .microbatch = {task.microbatch}},
           .critical = critical_[id] != 0});
    }
  }

  void add_messages() {
    if (!data_.notes.empty()) return;  // some boxes are missing: arrows would lead nowhere
    for (std::size_t id = 0; id < run_.tasks.size(); ++id) {
      const Task& task = run_.tasks[id];
      if (!is_transfer(task) || task.peer < 0) continue;
      const Interval& interval = run_.timeline.intervals[id];
      data_.messages.push_back({.start_s = interval.start_s,
                                .end_s = interval.end_s,
                                .kind = task.kind,
                                .stage = {task.stage},
                                .microbatch = {task.microbatch},
                                .from = {task.rank},
                                .to = {task.peer},
                                .bytes = task.bytes,
                                .critical = critical_[id] != 0});
    }
  }

  const RunView& run_;
  std::size_t most_boxes_;
  RunIndex index_;
  std::vector<std::uint8_t> critical_;
  TimelineData data_;
};

}  // namespace

TimelineData run_timeline(const RunView& run, const RunTimelineOptions& options) {
  return RunTimeline(run, options).build();
}

}  // namespace pipecast
