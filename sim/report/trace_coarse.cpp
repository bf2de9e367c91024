#include <algorithm>

#include "sim/graph/task_graph.hpp"
#include "sim/report/trace_tracks.hpp"

namespace pipecast {
namespace {

// An event takes about 100 bytes, so a file has at most some 40 MB.
constexpr std::int64_t kWorkSlices = 220'000;
constexpr std::int64_t kIdleSlices = 100'000;
constexpr std::int64_t kMemorySamples = 40'000;

class CoarseTracks {
 public:
  CoarseTracks(TraceEvents& events, TextSink& sink, const TraceRun& trace, std::int64_t ranks)
      : events_(events), sink_(sink), trace_(trace), run_(trace.run), ranks_(ranks) {}

  void write() {
    for (std::int32_t rank = 0; rank < run_.program.shape.ranks; ++rank) {
      write_rank_names(events_, trace_, Rank{rank});
      write_compute(Rank{rank});
      write_memory(Rank{rank});
    }
  }

 private:
  /// A rank's part of a bound on the whole file.
  std::size_t share(std::int64_t bound) const {
    return static_cast<std::size_t>(std::max<std::int64_t>(bound / ranks_, 1));
  }

  /// At most share(kIdleSlices) stretches of a rank can be this long.
  bool is_long(const IdleStretch& stretch) const {
    return stretch.seconds() * static_cast<double>(share(kIdleSlices)) >= trace_.index.makespan_s;
  }

  void write_compute(Rank rank) {
    const auto tasks = trace_.index.compute.of(rank);
    const std::size_t most = (tasks.size() + share(kWorkSlices) - 1) / share(kWorkSlices);
    const auto stretches =
        idle_stretches(run_.program, run_.graph, run_.timeline, trace_.index, rank);
    auto idle = stretches.begin();
    group_.clear();
    for (const std::uint32_t task : tasks) {
      if (!is_work(run_.tasks[task])) continue;
      for (; idle != stretches.end() && idle->end_s <= run_.timeline.intervals[task].start_s;
           ++idle) {
        if (!is_long(*idle)) continue;
        write_group(rank);
        write_idle(events_, sink_, trace_, rank, *idle);
      }
      group_.push_back(task);
      if (group_.size() >= most) write_group(rank);
    }
    write_group(rank);
    for (; idle != stretches.end(); ++idle)
      if (is_long(*idle)) write_idle(events_, sink_, trace_, rank, *idle);
  }

  void write_group(Rank rank) {
    if (group_.empty()) return;
    const Task& first = run_.tasks[group_.front()];
    const bool alone = group_.size() == 1;
    events_.open_slice(trace_.compute_track(rank), alone ? op_word(first.kind) : "operations");
    write_cell_name(rank, first);
    if (!alone) {
      sink_.text(" .. ");
      write_cell_name(rank, run_.tasks[group_.back()]);
    }
    const std::int64_t start_ns = to_nanoseconds(run_.timeline.intervals[group_.front()].start_s);
    const std::int64_t end_ns = to_nanoseconds(run_.timeline.intervals[group_.back()].end_s);
    if (alone) {
      events_.close_slice(start_ns, end_ns, kind_color(first.kind)).text("}");
    } else {
      events_.times(start_ns, end_ns).text(R"(,"args":{"operations":)");
      sink_.integer(static_cast<std::int64_t>(group_.size())).text("}}");
    }
    group_.clear();
  }

  void write_cell_name(Rank rank, const Task& task) {
    const auto& ops = run_.program.ranks[rank.at()];
    for (std::size_t i = 0; i < task.cell_ops; ++i) {
      if (i > 0) sink_.text(";");
      events_.op_name(ops[static_cast<std::size_t>(task.position) + i]);
    }
  }

  /// The largest amount held in each of equally long pieces of the step, so that peaks stay.
  void write_memory(Rank rank) {
    MemoryCounter counter(events_, sink_, trace_, rank);
    const double pieces = static_cast<double>(share(kMemorySamples));
    const double makespan_s = trace_.index.makespan_s;
    const auto at_ns = [&](double piece) { return to_nanoseconds(makespan_s * piece / pieces); };
    double bytes = 0;
    double peak = 0;
    double piece = 0;
    visit_rank_memory(trace_, rank, [&](double time_s, double change_bytes) {
      const double now = makespan_s > 0 ? std::floor(time_s / makespan_s * pieces) : 0;
      if (now != piece) {
        counter.write(at_ns(piece), peak);
        if (now > piece + 1 && bytes != peak) counter.write(at_ns(piece + 1), bytes);
        piece = now;
        peak = bytes;
      }
      bytes += change_bytes;
      peak = std::max(peak, bytes);
    });
    counter.write(at_ns(piece), peak);
    counter.write(to_nanoseconds(makespan_s), bytes);
  }

  TraceEvents& events_;
  TextSink& sink_;
  const TraceRun& trace_;
  const RunView& run_;
  std::int64_t ranks_;
  std::vector<std::uint32_t> group_;
};

}  // namespace

void write_coarse_tracks(TraceEvents& events, TextSink& sink, const TraceRun& trace,
                         std::int64_t ranks) {
  CoarseTracks(events, sink, trace, ranks).write();
}

}  // namespace pipecast
