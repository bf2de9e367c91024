#pragma once
#include <iosfwd>
#include <span>
#include <string_view>
#include <vector>

#include "sim/report/run_view.hpp"

namespace pipecast {

/// A row of the exporter registry. `write` streams: it never holds the whole output.
struct ExporterInfo {
  std::string_view name;
  std::string_view suffix;   ///< of the files it writes, with its dot
  std::string_view summary;  ///< one line
  void (*write)(const RunView& run, std::ostream& out) = nullptr;
};

/// Every exporter we know.
std::vector<ExporterInfo> builtin_exporters();

const ExporterInfo* find_exporter(std::span<const ExporterInfo> exporters, std::string_view name);

/// A table for a person: both bubble definitions by name, idle time by cause, memory per rank.
/// No colour. At most kMaxTableRows ranks; the JSON has all.
void write_text_summary(const RunView& run, std::ostream& out);
inline constexpr std::size_t kMaxTableRows = 32;

/// `"format": "pipecast.run/1"`, every field of Summary. Numbers read back as the same doubles.
void write_json_summary(const RunView& run, std::ostream& out);

/// rank,stream,kind,stage,microbatch,start_s,end_s,bytes,peer: a row per operation of a compute
/// task (the two of an overlapped pair share their interval), per pause and per transfer, in task
/// order. `stream` is compute, transfer or collective; `bytes` of a computation is what it takes
/// from or gives back (negative) to the activation memory; fields without meaning are empty.
void write_interval_csv(const RunView& run, std::ostream& out);

}  // namespace pipecast
