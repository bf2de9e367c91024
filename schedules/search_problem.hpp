#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "schedules/schedule.hpp"

/// The ordering problem behind zb-auto and zb-v-auto, in compact integers.
namespace pipecast::search {

/// Time on an integer grid fine enough for any cost and coarse enough for any step, so that equal
/// sums compare equal.
using Ticks = std::int64_t;

enum class Objective : std::uint8_t {
  LargestSpan,  ///< the largest end-of-last − start-of-first of a rank
  Makespan,     ///< end of the last operation
};

/// What a rank can do next, as one small number: kind · chunks + chunk. The k-th occurrence of a
/// symbol belongs to microbatch k; with equal microbatches no order is lost by that.
using Symbol = std::uint8_t;
enum class Part : std::uint8_t { Forward, BackwardInput, BackwardWeight };

/// Per rank the sequence of symbols, each 3 · chunks symbols m times.
using Word = std::vector<Symbol>;
using Order = std::vector<Word>;

/// Ranks, operations, dependencies, durations and memory of one request. One chunk is placed in a
/// loop, two chunks on a V.
struct Problem {
  int ranks = 1;
  int chunks = 1;
  int microbatches = 1;
  Ticks transfer = 0;  ///< from the end of an operation to its consumer on another rank
  Ticks gap = 0;       ///< between two operations of a rank
  Objective objective = Objective::LargestSpan;
  double tick_s = 1e-12;
  std::vector<Ticks> duration;      ///< [(rank · symbols + symbol) · microbatches + microbatch]
  std::vector<std::int64_t> delta;  ///< [rank · symbols + symbol] memory taken (+) or freed (−)
  std::vector<std::int64_t> limit;  ///< [rank] memory that may be alive at any moment
  std::vector<std::int32_t> feeds;  ///< [rank · symbols + symbol] producer on another rank, or −1
  std::vector<std::int32_t>
      feeds_to;  ///< [rank · symbols + symbol] consumer on another rank, or −1
  std::vector<std::int32_t>
      local;  ///< [rank · symbols + symbol] symbol of the same rank that must come first, or −1

  int symbols() const { return 3 * chunks; }
  int length() const { return symbols() * microbatches; }  ///< operations of one rank
  Symbol symbol(Part part, int chunk) const {
    return static_cast<Symbol>(static_cast<int>(part) * chunks + chunk);
  }
  Part part(Symbol code) const { return static_cast<Part>(code / chunks); }
  int chunk(Symbol code) const { return code % chunks; }
  std::size_t row(int rank, int code) const {
    return static_cast<std::size_t>(rank * symbols() + code);
  }
  Ticks cost(int rank, int code, int microbatch) const {
    return duration[row(rank, code) * static_cast<std::size_t>(microbatches) +
                    static_cast<std::size_t>(microbatch)];
  }
  int stage(int rank, int chunk_index) const {
    return chunk_index == 0 ? rank : 2 * ranks - 1 - rank;
  }
};

/// What the parameters of a searching schedule decide.
struct Limits {
  Seconds transfer;        ///< between neighbouring ranks, all overheads included
  double activations = 0;  ///< limit in activations of one chunk and microbatch; 0: none
  Bytes bytes;             ///< limit in bytes; 0: none
  Objective objective = Objective::LargestSpan;
};

/// Memory is bytes when the workload has activation bytes, else one unit per forward that its
/// weight gradient frees. `activations` counts in the rank's largest activation.
Problem make_problem(const ScheduleRequest& request, const Limits& limits);

/// Durations and gaps of everything a rank runs.
Ticks total_work(const Problem& problem, int rank);

/// Memory a rank needs to run at all: one microbatch at a time.
std::int64_t smallest_limit(const Problem& problem, int rank);

/// The limit holds on every prefix of every rank and local dependencies are in order.
bool legal(const Problem& problem, const Order& order);

/// One microbatch after the other: fits whenever smallest_limit() does.
Order serial_order(const Problem& problem);

/// The order of a program with the problem's placement, its operations in microbatch order.
Order to_order(const Problem& problem, const Program& program);

/// The order as a program, the k-th occurrence of a symbol on microbatch k.
Program to_program(const Problem& problem, const Order& order);

}  // namespace pipecast::search
