#include "sim/report/chrome_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "sim/report/page_json.hpp"
#include "sim/report/trace_tracks.hpp"

namespace pipecast {
namespace {

/// Only for programs that exchange activations: others are written without keeping their curves.
std::vector<MemoryCurve> exchanged_memory(const RunView& run) {
  if (run.program.exchanges.empty()) return {};
  return rank_curves(run.program, run.workload, run.tasks, run.timeline);
}

}  // namespace

struct ChromeTrace::State {
  TextSink sink;
  TraceEvents events{sink};
  TraceOptions options;
  std::size_t most_runs;
  std::int64_t process = 0;
  std::int64_t flow = 0;
  std::string about = {};  ///< JSON of the runs so far
  bool finished = false;

  State(std::ostream& out, std::size_t most, const TraceOptions& chosen)
      : sink(out, chosen.compression), options(chosen), most_runs(most) {}
};

ChromeTrace::ChromeTrace(std::ostream& out, std::size_t most_runs, const TraceOptions& options)
    : state_(std::make_unique<State>(out, std::max<std::size_t>(most_runs, 1), options)) {
  state_->sink.text(R"({"displayTimeUnit":"ms","traceEvents":[)");
}

ChromeTrace::~ChromeTrace() { finish(); }

void ChromeTrace::add(const RunView& run) {
  State& state = *state_;
  const TraceRun trace{run,
                       state.process,
                       state.flow,
                       state.most_runs > 1 ? run.schedule + " " : "",
                       index_run(run.graph, run.timeline),
                       has_backward(run.program) ? Backward::Present : Backward::Absent,
                       exchanged_memory(run),
                       static_memory(run.program, run.workload)};
  switch (state.options.detail) {
    case TraceDetail::Full:
      write_full_tracks(state.events, state.sink, trace);
      break;
    case TraceDetail::Coarse:
      write_coarse_tracks(state.events, state.sink, trace,
                          run.program.shape.ranks * static_cast<std::int64_t>(state.most_runs));
      break;
  }
  state.process += run.program.shape.ranks + 1;  // the links are a process too
  state.flow += static_cast<std::int64_t>(run.tasks.size());
  PageJson about;
  about.open_object().key("scenario").text(run.scenario).key("schedule").text(run.schedule);
  about.key("engine").text(run.engine).key("digest");
  about.text(fmt::format("{:016x}", run.summary.digest)).close_object();
  state.about += (state.about.empty() ? "" : ",") + about.str();
}

void ChromeTrace::finish() {
  if (state_->finished) return;
  state_->finished = true;
  state_->sink.text("\n],\"otherData\":{\"runs\":[").text(state_->about).text("]}}\n");
  state_->sink.finish();
}

void write_chrome_trace(const RunView& run, std::ostream& out, const TraceOptions& options) {
  write_chrome_trace(std::span(&run, 1), out, options);
}

void write_chrome_trace(std::span<const RunView> runs, std::ostream& out,
                        const TraceOptions& options) {
  ChromeTrace trace(out, runs.size(), options);
  for (const RunView& run : runs) trace.add(run);
}

}  // namespace pipecast
