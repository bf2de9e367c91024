#include "tools/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "tools/console.hpp"

namespace pipecast {
namespace {

/// A progress line that cannot be written, on a full disk say, is no reason to stop.
void tell(const std::string& text) { std::fputs(text.c_str(), stderr); }

}  // namespace

std::string duration_text(double seconds) {
  const auto whole = static_cast<std::int64_t>(seconds + 0.5);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

ProgressLine::ProgressLine(bool quiet)
    : quiet_(quiet), terminal_(isatty(STDERR_FILENO) == 1), began_(Clock::now()), shown_(began_) {}

ProgressLine::~ProgressLine() { finish(); }

void ProgressLine::show(std::string_view what, std::int64_t done, std::int64_t total,
                        std::int64_t resumed) {
  if (quiet_ || total == 0) return;
  const Clock::time_point now = Clock::now();
  if (what != what_) {
    finish();
    what_ = what;
    began_ = shown_ = now;
  }
  const auto pause = std::chrono::milliseconds(terminal_ ? 100 : 10'000);
  if (now - shown_ < pause && !(terminal_ && done == total)) return;
  shown_ = now;
  const double seconds = std::chrono::duration<double>(now - began_).count();
  const double rate = seconds > 0 ? static_cast<double>(done - resumed) / seconds : 0;
  const std::string left =
      rate > 0 ? duration_text(static_cast<double>(total - done) / rate) + " left" : "";
  const std::string text = fmt::format("{} {}/{}  {:.0f}/s  {}", what, done, total, rate, left);
  if (!terminal_) {
    tell(text + "\n");
    return;
  }
  constexpr std::int64_t kBar = 30;
  const auto filled = static_cast<std::size_t>(kBar * done / std::max<std::int64_t>(total, 1));
  tell(fmt::format("\r[{}{}] {}\x1b[K", std::string(filled, '#'), std::string(kBar - filled, '.'),
                   text));
  drawn_ = true;
}

void ProgressLine::finish() {
  if (drawn_) tell("\n");
  drawn_ = false;
}

}  // namespace pipecast
