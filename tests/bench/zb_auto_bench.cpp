#include <benchmark/benchmark.h>

#include <algorithm>

#include "schedules/search_improve.hpp"
#include "schedules/search_random.hpp"
#include "schedules/search_timing.hpp"

/// What the search of zb-auto costs: moves evaluated per second, and construction alone.
namespace pipecast::search {
namespace {

Problem problem_for(const Shape& shape, double limit) {
  const Workload workload = uniform_workload(shape, {{29718e-6}, {29444e-6}, {19927e-6}});
  const ScheduleRequest request{shape, {}, workload};
  return make_problem(request, {.transfer = {527e-6},
                                .activations = limit,
                                .bytes = {},
                                .objective = Objective::LargestSpan});
}

/// Short random moves around a good order, refused when they make it worse by more than 1 %.
void MoveEvaluations(benchmark::State& state) {
  const Problem problem = problem_for({8, 1, 24}, 16);
  Timing timing(problem);
  timing.assign(best_order(problem, {}, {}).order);
  Random random(1);
  const Ticks ceiling = timing.objective() + timing.objective() / 100;
  std::int64_t evaluated = 0;
  for (auto _ : state) {
    Move move{random.below(8), 1 + random.below(problem.length() - 1), 0};
    move.to = move.from + 1 + random.below(4);
    if (move.to >= problem.length() || !timing.movable(move)) continue;
    benchmark::DoNotOptimize(timing.try_move(move, ceiling));
    ++evaluated;
  }
  state.counters["evaluated"] =
      benchmark::Counter(static_cast<double>(evaluated), benchmark::Counter::kIsRate);
  state.counters["retimed"] = static_cast<double>(timing.retimed()) /
                              static_cast<double>(std::max<std::int64_t>(1, evaluated));
}
BENCHMARK(MoveEvaluations);

void Construction(benchmark::State& state) {
  const auto ranks = static_cast<int>(state.range(0));
  const Problem problem = problem_for({ranks, 1, static_cast<int>(state.range(1))}, ranks);
  for (auto _ : state) benchmark::DoNotOptimize(best_order(problem, {}, {}));
}
BENCHMARK(Construction)
    ->Args({8, 24})
    ->Args({32, 256})
    ->Args({64, 512})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace pipecast::search
