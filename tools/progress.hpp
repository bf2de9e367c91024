#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace pipecast {

/// How far a long job is, on stderr: a bar that is redrawn on a terminal, a line every ten seconds
/// elsewhere. Nothing when it is over within a second and not on a terminal.
class ProgressLine {
 public:
  explicit ProgressLine(bool quiet);
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine();

  /// `done` of `total`; `resumed` of them were done before and do not count for the rate.
  void show(std::string_view what, std::int64_t done, std::int64_t total, std::int64_t resumed);
  /// Leaves the terminal's line.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;

  bool quiet_;
  bool terminal_;
  bool drawn_ = false;
  std::string what_;
  Clock::time_point began_;
  Clock::time_point shown_;
};

/// `3 s`, `2 min 5 s`, `1 h 20 min`.
std::string duration_text(double seconds);

}  // namespace pipecast
