#include <fmt/format.h>

#include <algorithm>

#include "sim/graph/task_graph.hpp"
#include "sim/report/collective_stream.hpp"
#include "sim/report/lanes.hpp"
#include "sim/report/link_load.hpp"
#include "sim/report/trace_tracks.hpp"

namespace pipecast {
namespace {

constexpr std::size_t kLinkSamples = 200'000;  ///< of all links together, to bound the file
constexpr std::size_t kMostPieces = 500;

/// The op whose name the receiving end of a transfer has.
Op receiving_op(const Task& task) {
  switch (task.kind) {
    case OpKind::SendForward:
      return {.kind = OpKind::ReceiveForward,
              .stage = {task.stage + 1},
              .microbatch = {task.microbatch}};
    case OpKind::SendBackward:
      return {.kind = OpKind::ReceiveBackward,
              .stage = {task.stage - 1},
              .microbatch = {task.microbatch}};
    case OpKind::Forward:
    case OpKind::BackwardFull:
    case OpKind::BackwardInput:
    case OpKind::BackwardWeight:
    case OpKind::ReceiveForward:
    case OpKind::ReceiveBackward:
    case OpKind::Unshard:
    case OpKind::Reshard:
    case OpKind::ReduceGrad:
    case OpKind::Optimizer:
    case OpKind::EvictActivation:
    case OpKind::RestoreActivation:
    case OpKind::Gap:
      break;
  }
  return {.kind = task.kind, .stage = {task.stage}, .microbatch = {task.microbatch}};
}

class FullTracks {
 public:
  FullTracks(TraceEvents& events, TextSink& sink, const TraceRun& trace)
      : events_(events), sink_(sink), trace_(trace), run_(trace.run) {
    sends_ = communication([](const Task& task) { return is_transfer(task); },
                           [](const Task& task) { return task.rank; });
    receives_ = communication([](const Task& task) { return is_transfer(task) && task.peer >= 0; },
                              [](const Task& task) { return task.peer; });
    collectives_ = communication([](const Task& task) { return is_collective(task); },
                                 [](const Task& task) { return task.rank; });
  }

  void write() {
    for (std::int32_t rank = 0; rank < run_.program.shape.ranks; ++rank) {
      write_rank_names(events_, trace_, Rank{rank});
      write_compute(Rank{rank});
      write_communication(Rank{rank}, CommThread::Send, sends_.of(Rank{rank}));
      write_communication(Rank{rank}, CommThread::Receive, receives_.of(Rank{rank}));
      write_communication(Rank{rank}, CommThread::Collective, collectives_.of(Rank{rank}));
      write_memory(Rank{rank});
    }
    write_links();
  }

 private:
  /// Grouped by rank, each group in the order of the starts.
  template <class Keep, class RankOf>
  TasksByRank communication(Keep keep, RankOf rank_of) const {
    TasksByRank groups = group_tasks(run_.graph, keep, rank_of);
    for (std::size_t rank = 0; rank + 1 < groups.begin.size(); ++rank)
      std::sort(groups.ids.begin() + groups.begin[rank],
                groups.ids.begin() + groups.begin[rank + 1], [&](std::uint32_t a, std::uint32_t b) {
                  const double start_a = run_.timeline.intervals[a].start_s;
                  const double start_b = run_.timeline.intervals[b].start_s;
                  return start_a != start_b ? start_a < start_b : a < b;
                });
    return groups;
  }

  void write_compute(Rank rank) {
    const auto stretches =
        idle_stretches(run_.program, run_.graph, run_.timeline, trace_.index, rank);
    auto idle = stretches.begin();
    for (const std::uint32_t task : trace_.index.compute.of(rank)) {
      if (!is_work(run_.tasks[task])) continue;
      const Interval& interval = run_.timeline.intervals[task];
      for (; idle != stretches.end() && idle->end_s <= interval.start_s; ++idle)
        write_idle(events_, sink_, trace_, rank, *idle);
      write_cell(rank, run_.tasks[task], interval);
    }
    for (; idle != stretches.end(); ++idle) write_idle(events_, sink_, trace_, rank, *idle);
  }

  void write_cell(Rank rank, const Task& task, const Interval& interval) {
    const auto& ops = run_.program.ranks[rank.at()];
    const std::span<const Op> cell(ops.data() + task.position, task.cell_ops);
    const bool pair = cell.size() > 1;
    events_.open_slice(trace_.compute_track(rank), pair ? "overlap" : op_word(task.kind));
    if (pair) sink_.text("(");
    double bytes = 0;
    for (std::size_t i = 0; i < cell.size(); ++i) {
      if (i > 0) sink_.text(";");
      events_.op_name(cell[i]);
      bytes += taken_at_start(run_.workload, cell[i]).bytes +
               released_at_end(run_.workload, cell[i], trace_.backward).bytes;
    }
    if (pair) sink_.text(")OVERLAP_F_B");
    events_.close_slice(to_nanoseconds(interval.start_s), to_nanoseconds(interval.end_s),
                        kind_color(task.kind));
    write_arguments(task.stage, task.microbatch, pair ? "OVERLAP_F_B" : op_word(task.kind), bytes);
  }

  void write_arguments(std::int32_t stage, std::int32_t microbatch, std::string_view kind,
                       double bytes) {
    sink_.text(R"(,"args":{"stage":)").integer(stage).text(R"(,"microbatch":)").integer(microbatch);
    sink_.text(R"(,"kind":")").text(kind).text(R"(","bytes":)").number(bytes).text("}}");
  }

  void write_communication(Rank rank, CommThread kind, std::span<const std::uint32_t> tasks) {
    Lanes lanes;
    for (const std::uint32_t id : tasks) {
      const Task& task = run_.tasks[id];
      const std::int64_t start_ns = to_nanoseconds(run_.timeline.intervals[id].start_s);
      const std::int64_t end_ns = to_nanoseconds(run_.timeline.intervals[id].end_s);
      const int known = lanes.count();
      const int lane = lanes.take(start_ns, end_ns);
      const TrackId track{trace_.process(rank), static_cast<int>(kind) + 3 * lane};
      if (lanes.count() > known) name_lane(track, kind, lane);
      const Op op =
          kind == CommThread::Receive
              ? receiving_op(task)
              : Op{.kind = task.kind, .stage = {task.stage}, .microbatch = {task.microbatch}};
      events_.open_slice(track, "comm");
      events_.op_name(op);
      const bool inside = task.group != GroupFlowOf::None;
      if (inside) sink_.text(" ").text(group_word(task.group));
      events_.close_slice(start_ns, end_ns, kind_color(inside ? OpKind::ReduceGrad : task.kind));
      write_arguments(op.stage.value, op.microbatch.value,
                      inside ? group_word(task.group) : op_word(op.kind), task.bytes);
      if (kind != CommThread::Collective) write_arrow(kind, track, id, start_ns, end_ns);
    }
  }

  void name_lane(TrackId track, CommThread kind, int lane) {
    constexpr std::int64_t kManyLanes = 1'000'000;
    const std::string_view word = kind == CommThread::Send      ? "send"
                                  : kind == CommThread::Receive ? "receive"
                                                                : "collectives";
    events_.name_thread(track, lane == 0 ? std::string(word) : fmt::format("{} {}", word, lane + 1),
                        static_cast<int>(kind) * kManyLanes + lane);
  }

  /// The arrow leaves at the start of the send and arrives in the middle of the receive, which is
  /// inside the slice whatever its length.
  void write_arrow(CommThread kind, TrackId track, std::uint32_t id, std::int64_t start_ns,
                   std::int64_t end_ns) {
    const std::string_view name =
        run_.tasks[id].kind == OpKind::SendBackward ? "gradient" : "activation";
    if (kind == CommThread::Send)
      events_.flow(TraceEvents::FlowEnd::Start, track, trace_.first_flow + id, name, start_ns);
    else
      events_.flow(TraceEvents::FlowEnd::Finish, track, trace_.first_flow + id, name,
                   start_ns + (end_ns - start_ns) / 2);
  }

  /// One event per instant: what is released and taken at the same time shows as its result.
  void write_memory(Rank rank) {
    MemoryCounter counter(events_, sink_, trace_, rank);
    double bytes = 0;
    std::int64_t at_ns = 0;
    visit_rank_memory(trace_, rank, [&](double time_s, double change_bytes) {
      const std::int64_t now_ns = to_nanoseconds(time_s);
      if (now_ns != at_ns) counter.write(at_ns, bytes);
      at_ns = now_ns;
      bytes += change_bytes;
    });
    counter.write(at_ns, bytes);
  }

  void write_links() {
    const std::size_t links = std::max<std::size_t>(run_.summary.links.size(), 1);
    const std::size_t pieces = std::clamp<std::size_t>(kLinkSamples / links, 1, kMostPieces);
    const auto loads = link_loads(run_.platform, run_.graph, run_.timeline, pieces);
    if (loads.empty()) return;
    const std::int64_t process = trace_.first_process + run_.program.shape.ranks;
    events_.name_process(process, trace_.prefix + "links", process);
    for (const LinkLoad& load : loads) write_load(process, load);
  }

  void write_load(std::int64_t process, const LinkLoad& load) {
    std::string quoted = "\"";
    for (const char letter : run_.platform.links[load.link.at()].name)
      quoted += letter == '"' || letter == '\\' || static_cast<unsigned char>(letter) < 0x20
                    ? '_'
                    : letter;
    quoted += "\"";
    const double piece_s = trace_.index.makespan_s / static_cast<double>(load.utilization.size());
    double before = -1;
    for (std::size_t i = 0; i <= load.utilization.size(); ++i) {
      const double now = i < load.utilization.size() ? load.utilization[i] : 0;
      if (now == before) continue;
      before = now;
      events_.open_counter(process, quoted, to_nanoseconds(piece_s * static_cast<double>(i)));
      sink_.text("\"utilization\":").number(now).text("}}");
    }
  }

  TraceEvents& events_;
  TextSink& sink_;
  const TraceRun& trace_;
  const RunView& run_;
  TasksByRank sends_;
  TasksByRank receives_;
  TasksByRank collectives_;
};

}  // namespace

void write_full_tracks(TraceEvents& events, TextSink& sink, const TraceRun& trace) {
  FullTracks(events, sink, trace).write();
}

}  // namespace pipecast
