#include "sim/run/child_process.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <type_traits>
#include <utility>

namespace pipecast {
namespace {

static_assert(std::is_trivially_copyable_v<Interval>, "intervals travel through a pipe as bytes");

constexpr std::size_t kQuotedBytes = 2000;

/// A file descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }

  int number() const { return number_; }
  bool valid() const { return number_ >= 0; }
  void reset(int number) {
    close();
    number_ = number;
  }
  void close() {
    if (number_ >= 0) ::close(number_);
    number_ = -1;
  }

 private:
  int number_;
};

/// False when the other end is gone.
bool write_all(int descriptor, const void* bytes, std::size_t size) {
  const char* next = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t written = ::write(descriptor, next, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    next += written;
    size -= static_cast<std::size_t>(written);
  }
  return true;
}

/// Bytes read until `size` are there or the writer is gone.
std::size_t read_all(int descriptor, void* bytes, std::size_t size) {
  char* next = static_cast<char*>(bytes);
  std::size_t total = 0;
  while (total < size) {
    const ssize_t got = ::read(descriptor, next + total, size - total);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    total += static_cast<std::size_t>(got);
  }
  return total;
}

/// The end of what the child said, without the last newline.
std::string quoted(int messages) {
  const off_t size = ::lseek(messages, 0, SEEK_END);
  if (size <= 0) return {};
  const auto length = std::min(static_cast<std::size_t>(size), kQuotedBytes);
  std::string text(length, '\0');
  if (::lseek(messages, size - static_cast<off_t>(length), SEEK_SET) < 0) return {};
  text.resize(read_all(messages, text.data(), length));
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

/// The child's whole life after the fork. The count goes first, so that a short answer is noticed.
[[noreturn]] void live_as_child(const std::function<std::vector<Interval>()>& simulate, int answer,
                                int messages) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::dup2(messages, STDERR_FILENO);
  try {
    const std::vector<Interval> intervals = simulate();
    const std::size_t count = intervals.size();
    const bool sent = write_all(answer, &count, sizeof count) &&
                      write_all(answer, intervals.data(), count * sizeof(Interval));
    ::_exit(sent ? 0 : 1);
  } catch (const std::exception& problem) {
    const std::string text = problem.what();
    write_all(messages, text.data(), text.size());
  }
  ::_exit(1);
}

std::string cause_of_death(int status) {
  if (WIFSIGNALED(status))
    return "was killed by signal " + std::to_string(WTERMSIG(status)) + " (" +
           ::strsignal(WTERMSIG(status)) + ")";
  return "ended with status " + std::to_string(WEXITSTATUS(status));
}

int wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  return status;
}

Diagnostic system_error(const std::string& what) {
  return infeasible("cannot start a simulation process: " + what + ": " + std::strerror(errno));
}

}  // namespace

Result<std::vector<Interval>> run_in_child(const std::function<std::vector<Interval>()>& simulate) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) return fail(system_error("pipe"));
  Descriptor reading(ends[0]);
  Descriptor writing(ends[1]);
  Descriptor messages(::memfd_create("messages", MFD_CLOEXEC));
  if (!messages.valid()) return fail(system_error("memfd_create"));

  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child < 0) return fail(system_error("fork"));
  if (child == 0) live_as_child(simulate, writing.number(), messages.number());
  writing.close();

  std::size_t count = 0;
  std::vector<Interval> intervals;
  bool whole = read_all(reading.number(), &count, sizeof count) == sizeof count;
  if (whole) {
    intervals.resize(count);
    const std::size_t bytes = count * sizeof(Interval);
    whole = read_all(reading.number(), intervals.data(), bytes) == bytes;
  }
  const int status = wait_for(child);
  if (whole && status == 0) return intervals;
  return fail(
      infeasible("the simulation process " + cause_of_death(status), quoted(messages.number())));
}

}  // namespace pipecast
