#pragma once
#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace pipecast {

/// A forked process that answers items one after the other.
class Worker {
 public:
  struct Answer {
    std::string bytes;
    bool is_exception = false;
  };

  /// Forks. `others` are the descriptors of workers that this one must not keep open. Nothing when
  /// the system has no process to give.
  static std::optional<Worker> start(const std::function<std::string(std::int64_t)>& work,
                                     std::span<const int> others);

  Worker(Worker&& other) noexcept;
  Worker& operator=(Worker&& other) noexcept;
  Worker(const Worker&) = delete;
  ~Worker();  ///< kills the process if it still runs

  /// Items go to the worker in one write; false when it is dead.
  bool send(std::span<const std::int64_t> items);
  /// Items sent and not answered yet, in the order of their answers.
  const std::deque<std::int64_t>& pending() const { return pending_; }
  std::deque<std::int64_t> take_pending() { return std::move(pending_); }

  /// Readable when an answer waits or the worker is dead.
  int descriptor() const { return socket_; }
  /// Reads what is there, without waiting. False at the end of the stream.
  bool receive();
  /// A whole answer that has been received, with its item.
  std::optional<std::pair<std::int64_t, Answer>> next_answer();

  /// Waits for the end of a process that has closed its stream, and says how it came.
  std::string cause_of_death();

 private:
  Worker(pid_t process, int socket) : process_(process), socket_(socket) {}

  pid_t process_ = -1;
  int socket_ = -1;
  std::deque<std::int64_t> pending_;
  std::string received_;
  std::size_t read_ = 0;
};

}  // namespace pipecast
