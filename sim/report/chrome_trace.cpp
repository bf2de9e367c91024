#include "sim/report/chrome_trace.hpp"

#include <fmt/format.h>

#include <ostream>

#include "sim/report/trace_tracks.hpp"

namespace pipecast {
namespace {

void write_about(TextSink& sink, std::span<const RunView> runs) {
  sink.text(R"({"displayTimeUnit":"ms","otherData":{"runs":[)");
  for (std::size_t i = 0; i < runs.size(); ++i) {
    sink.text(i > 0 ? ",{" : "{").text(R"("scenario":)").quoted(runs[i].scenario);
    sink.text(R"(,"schedule":)").quoted(runs[i].schedule);
    sink.text(R"(,"engine":)").quoted(runs[i].engine);
    sink.text(R"(,"digest":)").quoted(fmt::format("{:016x}", runs[i].summary.digest)).text("}");
  }
  sink.text(R"(]},"traceEvents":[)");
}

/// Only for programs that exchange activations: others are written without keeping their curves.
std::vector<MemoryCurve> exchanged_memory(const RunView& run) {
  if (run.program.exchanges.empty()) return {};
  return rank_curves(run.program, run.workload, run.tasks, run.timeline);
}

}  // namespace

void write_chrome_trace(const RunView& run, std::ostream& out, const TraceOptions& options) {
  write_chrome_trace(std::span(&run, 1), out, options);
}

void write_chrome_trace(std::span<const RunView> runs, std::ostream& out,
                        const TraceOptions& options) {
  TextSink sink(out, options.compression);
  TraceEvents events(sink);
  write_about(sink, runs);
  std::int64_t ranks = 0;
  for (const RunView& run : runs) ranks += run.program.shape.ranks;
  std::int64_t process = 0;
  std::int64_t flow = 0;
  for (const RunView& run : runs) {
    const TraceRun trace{run,
                         process,
                         flow,
                         runs.size() > 1 ? run.schedule + " " : "",
                         index_run(run.graph, run.timeline),
                         has_backward(run.program) ? Backward::Present : Backward::Absent,
                         exchanged_memory(run)};
    switch (options.detail) {
      case TraceDetail::Full:
        write_full_tracks(events, sink, trace);
        break;
      case TraceDetail::Coarse:
        write_coarse_tracks(events, sink, trace, ranks);
        break;
    }
    process += run.program.shape.ranks + 1;  // the links are a process too
    flow += static_cast<std::int64_t>(run.tasks.size());
  }
  sink.text("\n]}\n");
}

}  // namespace pipecast
