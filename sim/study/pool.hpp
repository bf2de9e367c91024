#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "sim/base/diagnostic.hpp"

namespace pipecast {

/// What a worker made of an item.
struct PoolAnswer {
  std::int64_t item = 0;
  std::string bytes;  ///< what `work` returned
  std::string crash;  ///< how the worker died, twice; then `bytes` is empty
};

struct PoolOptions {
  int jobs = 1;
  int stop_descriptor = -1;  ///< readable when the work is to stop (a signalfd, say); −1: never
  int patience_ms = 5000;    ///< after a stop, how long what has begun may go on
};

enum class PoolEnd : std::uint8_t { Done, Stopped };

/// Runs `work` on every item in `jobs` forked processes and hands each answer to `take`, here, in
/// the order in which they come. `idle` is called at least ten times a second.
///
/// A worker that dies loses nothing but the item it was at, which is tried once more in another
/// worker and then answered with the cause of death; so is an exception. Workers die with this
/// process and never see its signals. When `take` fails, so does the whole; nothing is left
/// running. Call it before the process has threads. About 20 us per item and 1 ms per worker.
Result<PoolEnd> run_in_pool(std::span<const std::int64_t> items, const PoolOptions& options,
                            const std::function<std::string(std::int64_t)>& work,
                            const std::function<Result<void>(PoolAnswer)>& take,
                            const std::function<void()>& idle);

}  // namespace pipecast
