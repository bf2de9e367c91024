#include <benchmark/benchmark.h>
#include <malloc.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "sim/report/chrome_trace.hpp"
#include "sim/report/exporters.hpp"
#include "tests/support/law_run.hpp"

namespace pipecast {
namespace {

using testing::LawRun;

LawRun one_f_one_b_run(int ranks, int microbatches) {
  const Shape shape{ranks, 1, microbatches};
  Workload workload = uniform_workload(shape, {{18.522e-3}, {18.086e-3}, {9.337e-3}});
  for (StageBytes& bytes : workload.bytes)
    bytes = {{1.2e9}, {0.5e9}, {27e6}, {27e6}, {2e9}, {4e9}, {12e9}};
  const auto schedules = builtin_schedules();
  auto program = testing::program_of(*find_schedule(schedules, "1f1b"), shape, workload);
  return testing::run_program(*std::move(program), std::move(workload),
                              constant_delay_platform(ranks, {601e-6}));
}

RunView view_of(const LawRun& run) {
  return {"bench",
          "longest-path",
          "1f1b",
          run.program,
          run.workload,
          run.platform,
          run.graph,
          run.graph.tasks,
          run.graph.routes,
          run.graph.device_of_rank,
          run.timeline,
          run.summary,
          {}};
}

/// A line of /proc/self/status in megabytes.
double status_mb(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(key)) return std::stod(line.substr(key.size() + 1)) / 1024;
  return 0;
}

/// What the call needs beyond what was resident before it; Linux resets the peak on request.
template <class Call>
double peak_growth_mb(Call call) {
  malloc_trim(0);
  std::ofstream("/proc/self/clear_refs") << "5";
  const double before = status_mb("VmRSS");
  call();
  return status_mb("VmHWM") - before;
}

void write_trace(benchmark::State& state, const TraceOptions& options) {
  const LawRun run =
      one_f_one_b_run(static_cast<int>(state.range(0)), static_cast<int>(state.range(1)));
  const RunView view = view_of(run);
  const TraceOptions plain{options.detail, Compression::None};
  const auto path = std::filesystem::temp_directory_path() / "pipecast_report_bench.json";
  const double growth_mb = peak_growth_mb([&] {
    std::ofstream file(path, std::ios::binary);
    write_chrome_trace(view, file, plain);
  });
  const auto size = static_cast<double>(std::filesystem::file_size(path));
  std::filesystem::remove(path);
  for (auto _ : state) {
    std::ofstream nowhere("/dev/null", std::ios::binary);
    write_chrome_trace(view, nowhere, options);
  }
  state.counters["tasks"] = static_cast<double>(run.graph.tasks.size());
  state.counters["file_MB"] = size / 1e6;
  state.counters["peak_growth_MB"] = growth_mb;
  state.counters["bytes_per_s"] =
      benchmark::Counter(size, benchmark::Counter::kIsIterationInvariantRate);
}

void trace_full(benchmark::State& state) { write_trace(state, {}); }
void trace_full_gzip(benchmark::State& state) {
  write_trace(state, {TraceDetail::Full, Compression::Gzip});
}
void trace_coarse(benchmark::State& state) {
  write_trace(state, {TraceDetail::Coarse, Compression::None});
}
BENCHMARK(trace_full)->Args({64, 512})->Args({64, 4096})->Unit(benchmark::kMillisecond);
BENCHMARK(trace_full_gzip)->Args({64, 512})->Unit(benchmark::kMillisecond);
BENCHMARK(trace_coarse)->Args({64, 512})->Args({64, 4096})->Unit(benchmark::kMillisecond);

void summarise_run(benchmark::State& state) {
  const LawRun run =
      one_f_one_b_run(static_cast<int>(state.range(0)), static_cast<int>(state.range(1)));
  for (auto _ : state)
    benchmark::DoNotOptimize(
        summarise(run.program, run.workload, run.platform, run.graph, run.timeline));
  state.counters["tasks_per_s"] = benchmark::Counter(static_cast<double>(run.graph.tasks.size()),
                                                     benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(summarise_run)
    ->Args({8, 24})
    ->Args({64, 512})
    ->Args({64, 4096})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace pipecast
