#include "sim/report/exporters.hpp"

#include <algorithm>

namespace pipecast {

std::vector<ExporterInfo> builtin_exporters() {
  return {
      {"text", ".txt", "tables for a person", write_text_summary},
      {"json", ".json", "every figure of the run, format pipecast.run/1", write_json_summary},
      {"timeline", ".csv", "start and end of every task", write_interval_csv},
  };
}

const ExporterInfo* find_exporter(std::span<const ExporterInfo> exporters, std::string_view name) {
  const auto found = std::find_if(exporters.begin(), exporters.end(),
                                  [&](const ExporterInfo& info) { return info.name == name; });
  return found == exporters.end() ? nullptr : &*found;
}

}  // namespace pipecast
