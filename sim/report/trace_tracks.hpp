#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/report/accelerators.hpp"
#include "sim/report/idle.hpp"
#include "sim/report/memory.hpp"
#include "sim/report/run_index.hpp"
#include "sim/report/run_view.hpp"
#include "sim/report/trace_events.hpp"

namespace pipecast {

/// A run being written to a trace: where its processes begin and what is looked up per rank.
struct TraceRun {
  const RunView& run;
  std::int64_t first_process = 0;
  std::int64_t first_flow = 0;  ///< added to task ids, so that arrows of different runs differ
  std::string prefix;           ///< of process names; empty for a single run
  RunIndex index;
  Backward backward = Backward::Present;
  std::vector<MemoryCurve> exchanged;  ///< [rank] of a program that exchanges activations
  std::vector<RankMemory> held = {};   ///< [rank] static_memory()
  DeviceNames names{run.platform, run.device_of_rank};

  std::int64_t process(Rank rank) const { return first_process + rank.value; }
  TrackId compute_track(Rank rank) const { return {process(rank), 0}; }
};

/// Calls visit(time_s, change_bytes) for every change of the activations on a rank.
template <class Visit>
void visit_rank_memory(const TraceRun& trace, Rank rank, Visit visit) {
  if (!trace.exchanged.empty()) {
    double before = 0;
    for (const MemoryPoint& point : trace.exchanged[rank.at()]) {
      visit(point.time_s, point.bytes - before);
      before = point.bytes;
    }
    return;
  }
  for (const std::uint32_t id : trace.index.compute.of(rank))
    visit_memory_changes(trace.run.program, trace.run.workload, trace.run.tasks[id],
                         trace.run.timeline.intervals[id], trace.backward,
                         [&](const Op&, double time_s, const ActivationCount& change) {
                           if (change.bytes != 0) visit(time_s, change.bytes);
                         });
}

/// Thread numbers: compute is 0; lane k of a kind of communication is kind + 3k.
enum class CommThread : std::uint8_t { Send = 1, Receive = 2, Collective = 3 };

/// Colour words of the trace viewer.
std::string_view kind_color(OpKind kind);

/// Names and order of a rank's process and its compute thread.
void write_rank_names(TraceEvents& events, const TraceRun& trace, Rank rank);

/// Why the rank is idle: `warm-up`, `steady`, `cool-down`, `waiting for transfer 0SEND_F3`, `gap`.
void write_idle(TraceEvents& events, TextSink& sink, const TraceRun& trace, Rank rank,
                const IdleStretch& stretch);

/// Writes the memory counters of a rank.
class MemoryCounter {
 public:
  MemoryCounter(TraceEvents& events, TextSink& sink, const TraceRun& trace, Rank rank);
  void write(std::int64_t at_ns, double activation_bytes);

 private:
  TraceEvents& events_;
  TextSink& sink_;
  std::int64_t process_;
  std::string static_series_;
};

/// Everything of a rank and of the links, at full detail.
void write_full_tracks(TraceEvents& events, TextSink& sink, const TraceRun& trace);
/// What fits the bounds of TraceDetail::Coarse. `ranks` counts those of all runs in the file.
void write_coarse_tracks(TraceEvents& events, TextSink& sink, const TraceRun& trace,
                         std::int64_t ranks);

}  // namespace pipecast
