#include "sim/report/exporters.hpp"

#include <algorithm>

#include "sim/report/chrome_trace.hpp"

namespace pipecast {
namespace {

void write_trace(const RunView& run, std::ostream& out) { write_chrome_trace(run, out); }

void write_packed_trace(const RunView& run, std::ostream& out) {
  write_chrome_trace(run, out, {TraceDetail::Full, Compression::Gzip});
}

void write_coarse_trace(const RunView& run, std::ostream& out) {
  write_chrome_trace(run, out, {TraceDetail::Coarse, Compression::None});
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
  };
}

const ExporterInfo* find_exporter(std::span<const ExporterInfo> exporters, std::string_view name) {
  const auto found = std::find_if(exporters.begin(), exporters.end(),
                                  [&](const ExporterInfo& info) { return info.name == name; });
  return found == exporters.end() ? nullptr : &*found;
}

}  // namespace pipecast
