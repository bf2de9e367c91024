#include "schedules/search_problem.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "schedules/building.hpp"

namespace pipecast::search {
namespace {

constexpr double kFinestTick_s = 1e-12;
constexpr double kLargestTotal = 1e17;  ///< ticks of all operations together; sums stay exact

OpKind kind_of(Part part) {
  switch (part) {
    case Part::Forward:
      return OpKind::Forward;
    case Part::BackwardInput:
      return OpKind::BackwardInput;
    case Part::BackwardWeight:
      return OpKind::BackwardWeight;
  }
  return OpKind::Forward;
}

template <class Visit>
void for_each_symbol(const Problem& problem, Visit visit) {
  for (int rank = 0; rank < problem.ranks; ++rank)
    for (int code = 0; code < problem.symbols(); ++code) visit(rank, static_cast<Symbol>(code));
}

double operation_seconds(const Problem& problem, const ScheduleRequest& request, int rank,
                         Symbol code, int microbatch) {
  const Op op =
      make_op(kind_of(problem.part(code)), problem.stage(rank, problem.chunk(code)), microbatch);
  return cell_duration(request.workload, {&op, 1}).value;
}

double total_seconds(const Problem& problem, const ScheduleRequest& request) {
  double total = 0;
  for_each_symbol(problem, [&](int rank, Symbol code) {
    for (int microbatch = 0; microbatch < problem.microbatches; ++microbatch)
      total += operation_seconds(problem, request, rank, code, microbatch) +
               request.workload.overheads.gap.value + problem.tick_s;
  });
  return total;
}

/// An operation lasts at least one tick, so that a circle of waits is never free.
void fill_durations(Problem& problem, const ScheduleRequest& request, const Limits& limits) {
  const double total = total_seconds(problem, request) +
                       limits.transfer.value * problem.ranks * problem.microbatches * 4;
  problem.tick_s = std::max(kFinestTick_s, total / kLargestTotal);
  const auto ticks = [&](double seconds) {
    return static_cast<Ticks>(std::llround(seconds / problem.tick_s));
  };
  problem.transfer = ticks(limits.transfer.value);
  problem.gap = ticks(request.workload.overheads.gap.value);
  problem.duration.reserve(static_cast<std::size_t>(problem.ranks) *
                           static_cast<std::size_t>(problem.length()));
  for_each_symbol(problem, [&](int rank, Symbol code) {
    for (int microbatch = 0; microbatch < problem.microbatches; ++microbatch)
      problem.duration.push_back(
          std::max<Ticks>(1, ticks(operation_seconds(problem, request, rank, code, microbatch))));
  });
}

void fill_memory(Problem& problem, const ScheduleRequest& request, const Limits& limits) {
  const std::vector<StageBytes>& bytes = request.workload.bytes;
  const bool measured = std::any_of(bytes.begin(), bytes.end(), [](const StageBytes& stage) {
    return stage.held_by_forward.value > 0;
  });
  for (int rank = 0; rank < problem.ranks; ++rank) {
    std::vector<std::int64_t> held(static_cast<std::size_t>(problem.chunks), 1);
    std::vector<std::int64_t> early(static_cast<std::size_t>(problem.chunks), 0);
    for (int chunk = 0; measured && chunk < problem.chunks; ++chunk) {
      const StageBytes& stage = bytes[static_cast<std::size_t>(problem.stage(rank, chunk))];
      held[static_cast<std::size_t>(chunk)] = std::llround(stage.held_by_forward.value);
      early[static_cast<std::size_t>(chunk)] = std::llround(stage.released_by_backward_input.value);
    }
    const std::int64_t largest = *std::max_element(held.begin(), held.end());
    for (const std::int64_t amount : held) problem.delta.push_back(amount);
    for (const std::int64_t amount : early) problem.delta.push_back(-amount);
    for (std::size_t chunk = 0; chunk < held.size(); ++chunk)
      problem.delta.push_back(early[chunk] - held[chunk]);
    std::int64_t limit = std::accumulate(held.begin(), held.end(), std::int64_t{0}) *
                         static_cast<std::int64_t>(problem.microbatches);
    if (limits.activations > 0)
      limit = std::min(limit, static_cast<std::int64_t>(std::floor(
                                  limits.activations * static_cast<double>(largest) + 1e-6)));
    if (limits.bytes.value > 0 && measured)
      limit = std::min(limit, static_cast<std::int64_t>(limits.bytes.value));
    problem.limit.push_back(limit);
  }
}

/// Where the stage before or behind lives: only values of other ranks are feeds, those of the same
/// rank are kept in order by the word itself.
void fill_feeds(Problem& problem) {
  const int last_stage = problem.ranks * problem.chunks - 1;
  const auto rank_of = [&](int stage) {
    return stage < problem.ranks ? stage : 2 * problem.ranks - 1 - stage;
  };
  const auto row_of = [&](Part part, int stage) {
    return static_cast<std::int32_t>(
        problem.row(rank_of(stage), problem.symbol(part, stage / problem.ranks)));
  };
  const std::size_t rows = problem.row(problem.ranks, 0);
  problem.feeds.assign(rows, -1);
  problem.feeds_to.assign(rows, -1);
  problem.local.assign(rows, -1);
  for_each_symbol(problem, [&](int rank, Symbol code) {
    const int stage = problem.stage(rank, problem.chunk(code));
    const auto row = static_cast<std::int32_t>(problem.row(rank, code));
    std::int32_t producer = -1;
    std::int32_t own = -1;
    switch (problem.part(code)) {
      case Part::Forward:
        if (stage > 0) producer = row_of(Part::Forward, stage - 1);
        break;
      case Part::BackwardInput:
        own = row_of(Part::Forward, stage);
        if (stage < last_stage) producer = row_of(Part::BackwardInput, stage + 1);
        break;
      case Part::BackwardWeight:
        own = row_of(Part::BackwardInput, stage);
        break;
    }
    const int symbols = problem.symbols();
    if (producer >= 0 && producer / symbols == rank) own = std::exchange(producer, -1);
    if (own >= 0) problem.local[static_cast<std::size_t>(row)] = own % symbols;
    if (producer < 0) return;
    problem.feeds[static_cast<std::size_t>(row)] = producer;
    problem.feeds_to[static_cast<std::size_t>(producer)] = row;
  });
}

}  // namespace

Problem make_problem(const ScheduleRequest& request, const Limits& limits) {
  Problem problem;
  problem.ranks = request.shape.ranks;
  problem.chunks = request.shape.chunks;
  problem.microbatches = request.shape.microbatches;
  problem.objective = limits.objective;
  fill_durations(problem, request, limits);
  fill_memory(problem, request, limits);
  fill_feeds(problem);
  return problem;
}

Ticks total_work(const Problem& problem, int rank) {
  const auto begin = problem.duration.begin() + std::ptrdiff_t{rank} * problem.length();
  return std::accumulate(begin, begin + problem.length(),
                         problem.gap * static_cast<Ticks>(problem.length() - 1));
}

std::int64_t smallest_limit(const Problem& problem, int rank) {
  std::int64_t needed = 0;
  for (int chunk = 0; chunk < problem.chunks; ++chunk)
    needed += problem.delta[problem.row(rank, problem.symbol(Part::Forward, chunk))];
  return needed;
}

bool legal(const Problem& problem, const Order& order) {
  if (order.size() != static_cast<std::size_t>(problem.ranks)) return false;
  for (int rank = 0; rank < problem.ranks; ++rank) {
    std::vector<int> count(static_cast<std::size_t>(problem.symbols()), 0);
    std::int64_t alive = 0;
    for (const Symbol code : order[static_cast<std::size_t>(rank)]) {
      const std::int32_t before = problem.local[problem.row(rank, code)];
      if (before >= 0 && count[code] >= count[static_cast<std::size_t>(before)]) return false;
      ++count[code];
      alive += problem.delta[problem.row(rank, code)];
      if (alive > problem.limit[static_cast<std::size_t>(rank)]) return false;
    }
    if (std::any_of(count.begin(), count.end(),
                    [&](int done) { return done != problem.microbatches; }))
      return false;
  }
  return true;
}

Order serial_order(const Problem& problem) {
  Word word;
  for (int microbatch = 0; microbatch < problem.microbatches; ++microbatch) {
    for (int chunk = 0; chunk < problem.chunks; ++chunk)
      word.push_back(problem.symbol(Part::Forward, chunk));
    for (int chunk = problem.chunks - 1; chunk >= 0; --chunk) {
      word.push_back(problem.symbol(Part::BackwardInput, chunk));
      word.push_back(problem.symbol(Part::BackwardWeight, chunk));
    }
  }
  return Order(static_cast<std::size_t>(problem.ranks), word);
}

Order to_order(const Problem& problem, const Program& program) {
  const auto part_of = [](OpKind kind) {
    if (kind == OpKind::Forward) return Part::Forward;
    return kind == OpKind::BackwardInput ? Part::BackwardInput : Part::BackwardWeight;
  };
  Order order;
  for (const std::vector<Op>& ops : program.ranks) {
    Word word;
    for (const Op& op : ops)
      word.push_back(problem.symbol(part_of(op.kind), op.stage.value / problem.ranks));
    order.push_back(std::move(word));
  }
  return order;
}

Program to_program(const Problem& problem, const Order& order) {
  const Shape shape{problem.ranks, problem.chunks, problem.microbatches};
  Program program =
      empty_program(shape, problem.chunks == 1 ? loop_placement(shape) : zigzag_placement(shape));
  for (int rank = 0; rank < problem.ranks; ++rank) {
    std::vector<int> next(static_cast<std::size_t>(problem.symbols()), 0);
    for (const Symbol code : order[static_cast<std::size_t>(rank)])
      program.ranks[static_cast<std::size_t>(rank)].push_back(make_op(
          kind_of(problem.part(code)), problem.stage(rank, problem.chunk(code)), next[code]++));
  }
  return program;
}

}  // namespace pipecast::search
