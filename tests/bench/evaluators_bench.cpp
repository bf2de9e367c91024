#include <benchmark/benchmark.h>
#include <malloc.h>

#include "sim/run/longest_path.hpp"
#include "sim/run/simgrid_run.hpp"
#include "tests/bench/pipelines.hpp"

namespace pipecast {
namespace {

using testing::Placed;

void count_tasks(benchmark::State& state, std::size_t tasks) {
  state.counters["tasks"] = static_cast<double>(tasks);
  state.counters["tasks_per_s"] =
      benchmark::Counter(static_cast<double>(tasks), benchmark::Counter::kIsIterationInvariantRate);
}

void run_simgrid(benchmark::State& state, const Placed& placed) {
  for (auto _ : state) {
    const double before = testing::cpu_seconds();
    Result<Timeline> timeline = simgrid_run(placed.graph, placed.platform);
    state.SetIterationTime(testing::cpu_seconds() - before);
    if (!timeline) state.SkipWithError(render(timeline.error()).c_str());
    benchmark::DoNotOptimize(timeline);
  }
  count_tasks(state, placed.graph.tasks.size());
  state.counters["devices"] = static_cast<double>(placed.platform.devices.size());
}

/// Ranks, microbatches. The whole call: fork, platform, run, intervals back.
void simgrid_pipeline(benchmark::State& state) {
  run_simgrid(state, testing::one_f_one_b_pipeline(static_cast<int>(state.range(0)),
                                                   static_cast<int>(state.range(1)))
                         .placed());
}
BENCHMARK(simgrid_pipeline)
    ->Args({8, 256})
    ->Args({16, 512})
    ->Args({64, 512})
    ->Args({64, 4096})
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

/// Replicas, ranks, microbatches: many devices busy at once.
void simgrid_replicas(benchmark::State& state) {
  run_simgrid(state,
              testing::replicas(static_cast<int>(state.range(0)), static_cast<int>(state.range(1)),
                                static_cast<int>(state.range(2))));
}
BENCHMARK(simgrid_replicas)
    ->Args({16, 16, 64})
    ->Args({64, 16, 64})
    ->Args({256, 16, 32})
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

void longest_path_pipeline(benchmark::State& state) {
  const Placed placed = testing::one_f_one_b_pipeline(static_cast<int>(state.range(0)),
                                                      static_cast<int>(state.range(1)))
                            .placed();
  for (auto _ : state) benchmark::DoNotOptimize(longest_path(placed.graph));
  count_tasks(state, placed.graph.tasks.size());
}
BENCHMARK(longest_path_pipeline)
    ->Args({8, 256})
    ->Args({64, 512})
    ->Args({64, 4096})
    ->Unit(benchmark::kMillisecond);

/// bytes_per_task is what the finished graph holds on the heap; peak_bytes_per_task would need a
/// hook in the allocator, see task_graph.cpp for what building holds besides.
void build_graph(benchmark::State& state) {
  const testing::Pipeline pipeline = testing::one_f_one_b_pipeline(
      static_cast<int>(state.range(0)), static_cast<int>(state.range(1)));
  std::size_t tasks = 0;
  double held_bytes = 0;
  const auto held = [] {
    const struct mallinfo2 heap = mallinfo2();
    return static_cast<double>(heap.uordblks + heap.hblkhd);
  };
  for (auto _ : state) {
    const double before = held();
    const Result<TaskGraph> graph =
        build_task_graph(pipeline.program, pipeline.workload, pipeline.platform, pipeline.devices);
    held_bytes = held() - before;
    tasks = graph->tasks.size();
  }
  count_tasks(state, tasks);
  state.counters["bytes_per_task"] = held_bytes / static_cast<double>(tasks);
}
BENCHMARK(build_graph)
    ->Args({8, 256})
    ->Args({64, 512})
    ->Args({64, 4096})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace pipecast
