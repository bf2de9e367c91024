#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>

#include "platforms/platform_kind.hpp"
#include "schedules/schedule.hpp"
#include "sim/study/ranking.hpp"
#include "sim/study/sweep.hpp"

/// Studies as the command runs them: read, cut into candidates, two forked workers, rows in a
/// database, ranked. The sweep runs in a child, so that memory is that of the process which has the
/// study and the rows. cpu_ms_per_row counts user and system time of parent and workers.
namespace pipecast {
namespace {

struct Cost {
  double wall_s = 0;
  double cpu_s = 0;        ///< of parent and workers, user and system
  double peak_rss_mb = 0;  ///< of the parent
  std::int64_t rows = 0;
};

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

double cpu_seconds(int who) {
  rusage usage{};
  getrusage(who, &usage);
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double peak_rss_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

Cost sweep_here(const std::string& text, const std::string& database) {
  const auto schedules = builtin_schedules();
  const auto kinds = builtin_platform_kinds();
  const ReadContext context{schedules, kinds, {"../platforms"}};
  const auto begin = std::chrono::steady_clock::now();
  const Result<Study> study = read_study(text, "study.yaml", context);
  if (!study) {
    std::fputs(render(study.error()).c_str(), stderr);
    return {};
  }
  Result<Store> store = Store::open(database, StoreAccess::Write);
  SweepOptions options;
  options.jobs = 2;
  if (!store || !sweep(*study, context, *store, options)) return {};
  const auto rows = rows_of(*study, *store);
  if (!rows || !store->close()) return {};
  benchmark::DoNotOptimize(rank_rows(*study, *rows));
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
  return {wall.count(), cpu_seconds(RUSAGE_SELF) + cpu_seconds(RUSAGE_CHILDREN), peak_rss_mb(),
          static_cast<std::int64_t>(rows->size())};
}

std::optional<Cost> sweep_in_child(const std::string& text) {
  const std::string database =
      (std::filesystem::temp_directory_path() / fmt::format("study-bench-{}.db", getpid()))
          .string();
  std::filesystem::remove(database);
  int ends[2];
  if (pipe(ends) != 0) return std::nullopt;
  const pid_t child = fork();
  if (child == 0) {
    const Cost cost = sweep_here(text, database);
    _exit(write(ends[1], &cost, sizeof cost) == sizeof cost ? 0 : 1);
  }
  close(ends[1]);
  Cost cost;
  const bool came = read(ends[0], &cost, sizeof cost) == sizeof cost;
  close(ends[0]);
  waitpid(child, nullptr, 0);
  std::filesystem::remove(database);
  if (!came || cost.rows == 0) return std::nullopt;
  return cost;
}

void run_study(benchmark::State& state, const std::string& text) {
  for (auto _ : state) {
    const std::optional<Cost> cost = sweep_in_child(text);
    if (!cost) {
      state.SkipWithError("the study did not end");
      return;
    }
    const auto rows = static_cast<double>(cost->rows);
    state.SetIterationTime(cost->wall_s);
    state.counters["rows"] = rows;
    state.counters["rows_per_s"] = rows / cost->wall_s;
    state.counters["cpu_ms_per_row"] = 1000 * cost->cpu_s / rows;
    state.counters["parent_rss_mb"] = cost->peak_rss_mb;
  }
}

std::string study_of(const std::string& axes, const std::string& simgrid) {
  return "name: bench\n"
         "scenario:\n"
         "  pipeline: {schedule: 1f1b, ranks: 8, microbatches: 64}\n"
         "  workload:\n"
         "    costs: {forward: 10 ms, backward_input: 10 ms, backward_weight: 9 ms}\n"
         "    activation: {held_by_forward: 500 MiB, released_by_backward_input: 100 MiB}\n"
         "    message: 27 MiB\n"
         "  platform: {preset: dgx-h100-ib}\n"
         "axes:\n" +
         axes + "simgrid: " + simgrid + "\n";
}

/// P to 16, m to 128, seven schedules that take all these shapes, `messages` sizes of the message:
/// all candidates differ and none is refused; 2,650 tasks each in the mean. 7 × 4 × 5 × messages.
std::string mixed_axes(int messages) {
  return fmt::format(
      "  pipeline.schedule, pipeline.chunks: [[gpipe, 1], [1f1b, 1], [zb-h1, 1], [zb-h2, 1], "
      "[interleaved-1f1b, 2], [interleaved-1f1b, 4], [zbv, 2]]\n"
      "  pipeline.ranks: {{powers_of_two: [2, 16]}}\n"
      "  pipeline.microbatches: {{powers_of_two: [8, 128]}}\n"
      "  workload.message: {{range: [1 MiB, {} MiB]}}\n",
      messages);
}

/// Screening tier: reading, schedule, graph, longest path, summary with memory, row.
void study_screening(benchmark::State& state) {
  run_study(state, study_of(mixed_axes(static_cast<int>(state.range(0))), "none"));
}
BENCHMARK(study_screening)
    ->Arg(30)   // 4,200 candidates
    ->Arg(715)  // 100,100 candidates
    ->Iterations(1)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

/// A thousand runs of SimGrid with P = 8, m = 64, and as many of screening before them.
void study_simgrid(benchmark::State& state) {
  run_study(state, study_of("  workload.message: {range: [1 MiB, 1000 MiB]}\n", "all"));
}
BENCHMARK(study_simgrid)->Iterations(1)->UseManualTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace pipecast
