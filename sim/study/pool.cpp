#include "sim/study/pool.hpp"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "sim/study/worker.hpp"

namespace pipecast {
namespace {

using Clock = std::chrono::steady_clock;

/// Few enough that all workers end together, and that one write never blocks.
constexpr std::size_t kLargestBatch = 64;
constexpr int kTick_ms = 100;

class Pool {
 public:
  Pool(std::span<const std::int64_t> items, const PoolOptions& options,
       const std::function<std::string(std::int64_t)>& work,
       const std::function<Result<void>(PoolAnswer)>& take)
      : waiting_(items.begin(), items.end()),
        left_(items.size()),
        options_(options),
        work_(work),
        take_(take) {}

  Result<PoolEnd> run(const std::function<void()>& idle) {
    const std::size_t count =
        std::min(static_cast<std::size_t>(std::max(options_.jobs, 1)), waiting_.size());
    for (std::size_t i = 0; i < count; ++i)
      if (Result<void> started = start_worker(); !started) return fail(started.error());
    while (left_ > 0) {
      if (!stopping()) feed();
      if (stopping() && (nothing_begun() || Clock::now() >= *give_up_)) return PoolEnd::Stopped;
      if (Result<void> served = serve(wait()); !served) return fail(served.error());
      idle();
    }
    return PoolEnd::Done;
  }

 private:
  bool stopping() const { return give_up_.has_value(); }

  bool nothing_begun() const {
    return std::all_of(workers_.begin(), workers_.end(),
                       [](const Worker& worker) { return worker.pending().empty(); });
  }

  Result<void> start_worker() {
    std::vector<int> others;
    for (const Worker& worker : workers_) others.push_back(worker.descriptor());
    std::optional<Worker> worker = Worker::start(work_, others);
    if (worker)
      workers_.push_back(std::move(*worker));
    else if (workers_.empty())
      return fail(
          infeasible("cannot start a worker process: " + std::string(std::strerror(errno))));
    return {};
  }

  /// A worker always has its next items when it ends with the ones before.
  void feed() {
    for (Worker& worker : workers_) {
      const std::size_t batch =
          std::clamp<std::size_t>(left_ / (4 * workers_.size()), 1, kLargestBatch);
      if (waiting_.empty() || worker.pending().size() > batch / 2) continue;
      std::vector<std::int64_t> items;
      while (items.size() < batch && !waiting_.empty()) {
        items.push_back(waiting_.front());
        waiting_.pop_front();
      }
      worker.send(items);  // a dead worker is noticed by serve()
    }
  }

  std::vector<pollfd> wait() {
    std::vector<pollfd> watched;
    for (const Worker& worker : workers_) watched.push_back({worker.descriptor(), POLLIN, 0});
    watched.push_back({stopping() ? -1 : options_.stop_descriptor, POLLIN, 0});
    if (::poll(watched.data(), watched.size(), kTick_ms) < 0)
      for (pollfd& entry : watched) entry.revents = 0;
    return watched;
  }

  Result<void> serve(const std::vector<pollfd>& watched) {
    if (watched.back().revents != 0)
      give_up_ = Clock::now() + std::chrono::milliseconds(options_.patience_ms);
    std::vector<std::size_t> dead;
    for (std::size_t w = 0; w + 1 < watched.size(); ++w) {
      if (watched[w].revents == 0) continue;
      const bool alive = workers_[w].receive();
      while (auto answer = workers_[w].next_answer())
        if (Result<void> taken = settle(answer->first, std::move(answer->second)); !taken)
          return taken;
      if (!alive) dead.push_back(w);
    }
    for (std::size_t i = dead.size(); i-- > 0;)
      if (Result<void> buried = bury(dead[i]); !buried) return buried;
    return {};
  }

  Result<void> settle(std::int64_t item, Worker::Answer answer) {
    if (answer.is_exception) return failed(item, "met an exception: " + answer.bytes);
    --left_;
    return take_({item, std::move(answer.bytes), {}});
  }

  /// Its first pending item is the one it died of; the others were not begun.
  Result<void> bury(std::size_t index) {
    Worker worker = std::move(workers_[index]);
    workers_.erase(workers_.begin() + static_cast<std::ptrdiff_t>(index));
    const std::string cause = worker.cause_of_death();
    std::deque<std::int64_t> pending = worker.take_pending();
    if (!pending.empty()) {
      const std::int64_t culprit = pending.front();
      pending.pop_front();
      waiting_.insert(waiting_.begin(), pending.begin(), pending.end());
      if (Result<void> noted = failed(culprit, cause); !noted) return noted;
    }
    if (stopping() || left_ == 0) return {};
    return start_worker();
  }

  Result<void> failed(std::int64_t item, const std::string& cause) {
    if (++failures_[item] == 1) {
      waiting_.push_front(item);
      return {};
    }
    --left_;
    return take_({item, {}, cause});
  }

  std::deque<std::int64_t> waiting_;
  std::size_t left_;
  const PoolOptions& options_;
  const std::function<std::string(std::int64_t)>& work_;
  const std::function<Result<void>(PoolAnswer)>& take_;
  std::vector<Worker> workers_;
  std::map<std::int64_t, int> failures_;
  std::optional<Clock::time_point> give_up_;
};

}  // namespace

Result<PoolEnd> run_in_pool(std::span<const std::int64_t> items, const PoolOptions& options,
                            const std::function<std::string(std::int64_t)>& work,
                            const std::function<Result<void>(PoolAnswer)>& take,
                            const std::function<void()>& idle) {
  return Pool(items, options, work, take).run(idle);
}

}  // namespace pipecast
