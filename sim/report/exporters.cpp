#include "sim/report/exporters.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/report/chrome_trace.hpp"
#include "sim/report/html_report.hpp"
#include "sim/report/timeline_svg.hpp"

namespace pipecast {
namespace {

void write_trace(const RunView& run, std::ostream& out) { write_chrome_trace(run, out); }

void write_packed_trace(const RunView& run, std::ostream& out) {
  write_chrome_trace(run, out, {TraceDetail::Full, Compression::Gzip});
}

void write_coarse_trace(const RunView& run, std::ostream& out) {
  write_chrome_trace(run, out, {TraceDetail::Coarse, Compression::None});
}

void write_packed_coarse_trace(const RunView& run, std::ostream& out) {
  write_chrome_trace(run, out, {TraceDetail::Coarse, Compression::Gzip});
}

void write_svg(const RunView& run, std::ostream& out) {
  const Shape& shape = run.program.shape;
  TimelineSvgOptions options;
  options.title = run.scenario;
  options.subtitle = fmt::format(
      "{}, {} ranks, {}; step {}, bubble fraction {:.2f} %, bubble overhead {:.2f} %", run.schedule,
      shape.ranks, microbatches_text(run.program), format(Seconds{run.summary.step_s}),
      100 * run.summary.bubble_fraction, 100 * run.summary.bubble_overhead);
  write_timeline_svg(run.program, run.workload, run.graph, run.timeline, options, out);
}

}  // namespace

std::vector<ExporterInfo> builtin_exporters() {
  return {
      {"text", ".txt", "tables for a person", write_text_summary},
      {"json", ".json", "every figure of the run, format pipecast.run/1", write_json_summary},
      {"timeline", ".csv", "start and end of every task", write_interval_csv},
      {"trace", ".trace.json", "Chrome trace for Perfetto, chrome://tracing, speedscope",
       write_trace},
      {"trace-gz", ".trace.json.gz", "the same, packed", write_packed_trace},
      {"trace-coarse", ".coarse.trace.json", "Chrome trace of bounded size, for huge runs",
       write_coarse_trace},
      {"trace-coarse-gz", ".coarse.trace.json.gz", "the same, packed", write_packed_coarse_trace},
      {"html", ".html", "one page to read offline: figures, timeline, idle time, memory",
       write_html_report},
      {"svg", ".svg", "pipeline diagram as papers print them", write_svg},
  };
}

const ExporterInfo* find_exporter(std::span<const ExporterInfo> exporters, std::string_view name) {
  const auto found = std::find_if(exporters.begin(), exporters.end(),
                                  [&](const ExporterInfo& info) { return info.name == name; });
  return found == exporters.end() ? nullptr : &*found;
}

}  // namespace pipecast
