#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/diagnostic.hpp"

namespace pipecast {

/// Largest YAML file (scenario, study, preset, model) and largest schedule CSV, in bytes.
inline constexpr std::size_t kMaxYamlBytes = std::size_t{16} << 20;
inline constexpr std::size_t kMaxCsvBytes = std::size_t{64} << 20;

/// The bytes of a file, refused when it is missing, unreadable, a folder or longer than `limit`.
Result<std::string> read_text_file(const std::string& path, std::size_t limit_bytes);

/// The first byte that no text of ours may hold: NUL, a control character, or one that is not
/// UTF-8. `file` is for the message. O(bytes).
std::optional<Diagnostic> text_fault(std::string_view text, const std::string& file);

/// A piece of the input for a message: at most 40 bytes, whatever cannot be printed as `\xNN`.
std::string shown(std::string_view text);

/// The whole text with everything that cannot be printed as `\xNN`.
std::string printable(std::string_view text);

/// A span with its source line. Lines above 64 KiB are left out, bytes that cannot be printed are
/// shown as '?'. Lines and columns count from 1.
SourceSpan text_span(const std::string& file, int line, int column, std::size_t length,
                     std::string_view line_text);

/// A text and where its lines begin, to find the line of a span.
class LinedText {
 public:
  LinedText() = default;
  explicit LinedText(std::string text);

  const std::string& text() const { return text_; }
  int lines() const { return static_cast<int>(starts_.size()); }
  /// Line `line` (from 1) without its end; empty beyond the last one. O(1).
  std::string_view line(int line) const;

 private:
  std::string text_;
  std::vector<std::uint32_t> starts_;  ///< offset of each line
};

/// Collects the faults of one file: the first kMaxFaults in full, the rest as a number.
class FaultList {
 public:
  static constexpr std::size_t kMaxFaults = 100;

  void add(Diagnostic fault);
  void add(Diagnostics faults);
  /// Counts a fault that will not be shown because the list is full: making its span would cost
  /// time.
  void add_hidden() { ++hidden_; }
  bool empty() const { return faults_.empty(); }
  /// Nothing more will be shown; a reader may stop looking.
  bool full() const { return faults_.size() >= kMaxFaults; }
  std::size_t size() const { return faults_.size() + hidden_; }
  /// In the order of the file: those of `file` by line and column, then the others as they came.
  Diagnostics take(const std::string& file);

 private:
  Diagnostics faults_;
  std::size_t hidden_ = 0;
};

}  // namespace pipecast
