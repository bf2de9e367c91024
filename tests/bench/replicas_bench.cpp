#include <benchmark/benchmark.h>

#include "platforms/platform_kind.hpp"
#include "schedules/schedule.hpp"
#include "sim/graph/replicated_graph.hpp"
#include "sim/run/simgrid_run.hpp"
#include "tests/bench/pipelines.hpp"

namespace pipecast {
namespace {

constexpr Shape kShape{16, 1, 32};

Platform rail_cluster(int nodes) {
  const std::vector<PlatformKind> kinds = builtin_platform_kinds();
  const PlatformKind* kind = find_platform_kind(kinds, "rail-cluster");
  return *make_platform(*kind, *parse_fields(kind->fields, {{"nodes", std::to_string(nodes)},
                                                            {"scale_up_bandwidth", "450 GB/s"},
                                                            {"scale_up_latency", "2 us"},
                                                            {"card_bandwidth", "400 Gb/s"},
                                                            {"leaf_latency", "3 us"},
                                                            {"spine_latency", "4 us"}}));
}

Workload workload() {
  Workload result = uniform_workload(kShape, {{0.010}, {0.010}, {0.010}});
  for (StageBytes& bytes : result.bytes)
    bytes.message_forward = bytes.message_backward = {32.0 * (1 << 20)};
  result.sync.assign(16, StageSync{{1e9}, {}, {}, {}, {}});
  return result;
}

/// Every operation of 64 replicas of 16 ranks gathers and scatters over its tensor group, 8 devices
/// of a node. As: seconds of the operations only, flows of all replicas, flows of the one that
/// stands for all, or left to the program, which sees that nothing disturbs them.
void simgrid_group_traffic(benchmark::State& state) {
  enum : std::int64_t { ClosedForm, FlowsOfAll, FlowsOfOne, Automatic };
  ParallelLayout layout;
  layout.tensor = 8;
  layout.pipeline = kShape.ranks;
  layout.data = 8;
  layout.replicas = state.range(0) <= FlowsOfAll ? Replicas::All : Replicas::Symmetric;
  layout.group_traffic.as = state.range(0) == ClosedForm  ? GroupTraffic::As::ClosedForm
                            : state.range(0) == Automatic ? GroupTraffic::As::Automatic
                                                          : GroupTraffic::As::Flows;
  const Platform platform = rail_cluster(layout.devices() / 8);
  std::vector<DeviceId> devices;
  for (std::int32_t device = 0; device < layout.devices(); ++device) devices.push_back({device});
  Workload costs = workload();
  costs.sync.clear();
  const PassExchange pass{{1e9}, {0.003}, {0.003}, {}};
  costs.inside.assign(16, {{ParallelDimension::Tensor, Collective::AllGather, pass, pass, {}}});
  const std::vector<ScheduleInfo> schedules = builtin_schedules();
  const Program program = *make_program(*find_schedule(schedules, "1f1b"), {kShape, {}, costs});
  std::size_t tasks = 0;
  for (auto _ : state) {
    const double before = testing::cpu_seconds();
    const Result<ReplicatedGraph> built =
        build_replicated_graph(program, costs, platform, layout, devices);
    Result<Timeline> timeline = simgrid_run(built->graph, built->platform);
    if (!timeline) state.SkipWithError(render(timeline.error()).c_str());
    state.SetIterationTime(testing::cpu_seconds() - before);
    tasks = built->graph.tasks.size();
    benchmark::DoNotOptimize(timeline);
  }
  state.counters["tasks"] = static_cast<double>(tasks);
}
BENCHMARK(simgrid_group_traffic)
    ->DenseRange(0, 3)
    ->Iterations(1)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

/// Devices: 16 ranks × tensor 8 × data. Every replica is simulated, and the gradients of a stage go
/// round a ring of all its data replicas.
void simgrid_reductions(benchmark::State& state) {
  ParallelLayout layout;
  layout.tensor = 8;
  layout.pipeline = kShape.ranks;
  layout.data = static_cast<int>(state.range(0)) / layout.tensor / layout.pipeline;
  layout.gradient_reduction.algorithm = CollectiveAlgorithm::Ring;
  layout.replicas = Replicas::All;
  const Platform platform = rail_cluster(layout.devices() / 8);
  std::vector<DeviceId> devices;
  for (std::int32_t device = 0; device < layout.devices(); ++device) devices.push_back({device});
  const std::vector<ScheduleInfo> schedules = builtin_schedules();
  const Program program =
      *make_program(*find_schedule(schedules, "1f1b"), {kShape, {}, workload()});
  std::size_t tasks = 0;
  for (auto _ : state) {
    const double before = testing::cpu_seconds();
    const Result<ReplicatedGraph> built =
        build_replicated_graph(program, workload(), platform, layout, devices);
    Result<Timeline> timeline = simgrid_run(built->graph, built->platform);
    if (!timeline) state.SkipWithError(render(timeline.error()).c_str());
    state.SetIterationTime(testing::cpu_seconds() - before);
    tasks = built->graph.tasks.size();
    benchmark::DoNotOptimize(timeline);
  }
  state.counters["tasks"] = static_cast<double>(tasks);
  state.counters["devices"] = static_cast<double>(layout.devices());
}
BENCHMARK(simgrid_reductions)
    ->Arg(256)
    ->Arg(1024)
    ->Arg(4096)
    ->Arg(16384)
    ->Iterations(1)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace pipecast
