#include <benchmark/benchmark.h>
#include <malloc.h>

#include "platforms/platform_kind.hpp"

namespace pipecast {
namespace {

Platform sixteen_thousand() {
  const std::vector<PlatformKind> kinds = builtin_platform_kinds();
  const PlatformKind* kind = find_platform_kind(kinds, "rail-cluster");
  const Result<FieldValues> values = parse_fields(kind->fields, {{"nodes", "2048"},
                                                                 {"pod_nodes", "256"},
                                                                 {"scale_up_bandwidth", "450 GB/s"},
                                                                 {"card_bandwidth", "400 Gb/s"}});
  return *make_platform(*kind, *values);
}

/// Build, check and drop 16,384 devices; heap_bytes is what the value holds.
void build_rail_cluster(benchmark::State& state) {
  double heap_bytes = 0;
  for (auto _ : state) {
    const std::size_t before = mallinfo2().uordblks;
    const Platform platform = sixteen_thousand();
    heap_bytes = static_cast<double>(mallinfo2().uordblks - before);
    benchmark::DoNotOptimize(platform.links.data());
  }
  state.counters["heap_bytes"] = heap_bytes;
}
BENCHMARK(build_rail_cluster)->Unit(benchmark::kMillisecond);

/// Three neighbours of every device: next in the node, same rail, another pod.
void route_rail_cluster(benchmark::State& state) {
  const Platform platform = sixteen_thousand();
  for (auto _ : state)
    for (std::int32_t from = 0; from < 16384; ++from)
      for (const std::int32_t step : {1, 8, 8191})
        benchmark::DoNotOptimize(route(platform, {from}, {(from + step) % 16384}));
  state.counters["routes"] = 3 * 16384;
}
BENCHMARK(route_rail_cluster)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace pipecast
