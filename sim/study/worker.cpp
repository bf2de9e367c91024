#include "sim/study/worker.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <utility>

namespace pipecast {
namespace {

struct Frame {
  std::uint64_t size = 0;
  std::uint64_t is_exception = 0;
};

/// MSG_NOSIGNAL: a dead reader is an answer here, not a reason to die.
bool send_all(int descriptor, const void* bytes, std::size_t size) {
  const char* next = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t sent = ::send(descriptor, next, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    next += sent;
    size -= static_cast<std::size_t>(sent);
  }
  return true;
}

bool receive_item(int descriptor, std::int64_t& item) {
  char* next = reinterpret_cast<char*>(&item);
  std::size_t missing = sizeof item;
  while (missing > 0) {
    const ssize_t got = ::recv(descriptor, next, missing, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    next += got;
    missing -= static_cast<std::size_t>(got);
  }
  return true;
}

/// The parent decides about signals from the keyboard: it is told of them, its workers are not.
void keep_signals_out() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, number);
  sigprocmask(SIG_BLOCK, &set, nullptr);
}

[[noreturn]] void live(int socket, pid_t parent,
                       const std::function<std::string(std::int64_t)>& work) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  keep_signals_out();
  std::int64_t item = 0;
  while (receive_item(socket, item)) {
    Worker::Answer answer;
    try {
      answer.bytes = work(item);
    } catch (const std::exception& problem) {
      answer = {problem.what(), true};
    }
    std::string message(sizeof(Frame), '\0');
    const Frame frame{answer.bytes.size(), answer.is_exception ? 1U : 0U};
    std::memcpy(message.data(), &frame, sizeof frame);
    message += answer.bytes;
    if (!send_all(socket, message.data(), message.size())) break;
  }
  ::_exit(0);
}

}  // namespace

std::optional<Worker> Worker::start(const std::function<std::string(std::int64_t)>& work,
                                    std::span<const int> others) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) return std::nullopt;
  const pid_t parent = ::getpid();
  std::fflush(nullptr);
  const pid_t process = ::fork();
  if (process == 0) {
    ::close(ends[0]);
    for (const int other : others) ::close(other);
    live(ends[1], parent, work);
  }
  ::close(ends[1]);
  if (process < 0) {
    ::close(ends[0]);
    return std::nullopt;
  }
  return Worker(process, ends[0]);
}

Worker::Worker(Worker&& other) noexcept
    : process_(std::exchange(other.process_, -1)),
      socket_(std::exchange(other.socket_, -1)),
      pending_(std::move(other.pending_)),
      received_(std::move(other.received_)),
      read_(other.read_) {}

Worker& Worker::operator=(Worker&& other) noexcept {
  std::swap(process_, other.process_);
  std::swap(socket_, other.socket_);
  std::swap(pending_, other.pending_);
  std::swap(received_, other.received_);
  std::swap(read_, other.read_);
  return *this;
}

Worker::~Worker() {
  if (socket_ >= 0) ::close(socket_);
  if (process_ < 0) return;
  ::kill(process_, SIGKILL);
  int status = 0;
  while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) continue;
}

bool Worker::send(std::span<const std::int64_t> items) {
  pending_.insert(pending_.end(), items.begin(), items.end());
  return send_all(socket_, items.data(), items.size_bytes());
}

bool Worker::receive() {
  std::array<char, 65536> buffer;
  for (;;) {
    const ssize_t got = ::recv(socket_, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got > 0) {
      received_.append(buffer.data(), static_cast<std::size_t>(got));
      continue;
    }
    if (got < 0 && errno == EINTR) continue;
    return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
  }
}

std::optional<std::pair<std::int64_t, Worker::Answer>> Worker::next_answer() {
  Frame frame;
  if (received_.size() - read_ < sizeof frame) return std::nullopt;
  std::memcpy(&frame, received_.data() + read_, sizeof frame);
  if (received_.size() - read_ - sizeof frame < frame.size) return std::nullopt;
  Answer answer{received_.substr(read_ + sizeof frame, frame.size), frame.is_exception != 0};
  read_ += sizeof frame + frame.size;
  if (read_ == received_.size()) {
    received_.clear();
    read_ = 0;
  }
  const std::int64_t item = pending_.front();
  pending_.pop_front();
  return std::pair{item, std::move(answer)};
}

std::string Worker::cause_of_death() {
  int status = 0;
  while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) continue;
  process_ = -1;
  if (WIFSIGNALED(status))
    return fmt::format("was killed by signal {} ({})", WTERMSIG(status),
                       ::strsignal(WTERMSIG(status)));
  return fmt::format("ended with status {}", WEXITSTATUS(status));
}

}  // namespace pipecast
