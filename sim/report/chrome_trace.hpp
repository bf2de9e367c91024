#pragma once
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <span>

#include "sim/report/run_view.hpp"
#include "sim/report/text_sink.hpp"

namespace pipecast {

enum class TraceDetail : std::uint8_t {
  Full,    ///< every operation, transfer, message arrow, memory change and idle stretch
  Coarse,  ///< bounded: neighbouring operations merged, long idle stretches, sampled memory peaks;
           ///< no transfers. Under 50 MB for a million tasks
};

struct TraceOptions {
  TraceDetail detail = TraceDetail::Full;
  Compression compression = Compression::None;
};

/// Chrome's trace event format, JSON object form, for Perfetto, chrome://tracing and speedscope.
///
/// A process per rank, `rank 0 (device)`; threads compute, send, receive and collectives. Transfers
/// of a rank that overlap get further threads of the same name, so that slices of a thread never
/// overlap. A slice is named with the cell's text in PyTorch's notation. Idle stretches are slices
/// of category `bubble` with the reason in their arguments; an arrow leads from each send to its
/// receive; counters show memory in bytes per component and the utilization of links.
///
/// Streamed: the memory taken beyond the run is a few task ids per task. O(tasks · log transfers).
void write_chrome_trace(const RunView& run, std::ostream& out, const TraceOptions& options = {});

/// Several runs, such as one scenario under several schedules, in one file: the processes of each
/// run follow those of the one before and carry the name of its schedule.
void write_chrome_trace(std::span<const RunView> runs, std::ostream& out,
                        const TraceOptions& options = {});

/// The same run by run, so that only one need be in memory.
class ChromeTrace {
 public:
  /// `most_runs` is how many will follow at most: it shares out the bounds of TraceDetail::Coarse,
  /// and a trace of one run does not name its schedule in every process.
  ChromeTrace(std::ostream& out, std::size_t most_runs, const TraceOptions& options = {});
  ~ChromeTrace();
  ChromeTrace(const ChromeTrace&) = delete;
  ChromeTrace& operator=(const ChromeTrace&) = delete;

  void add(const RunView& run);
  /// Ends the file; nothing may be added after it. The destructor calls it.
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace pipecast
