#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <map>
#include <numeric>
#include <string>

#include "sim/read/platform_preset.hpp"
#include "sim/study/ping.hpp"
#include "tests/support/csv_table.hpp"

namespace pipecast {
namespace {

/// A preset at a number of nodes.
Platform machine(const std::string& preset_name, int nodes) {
  const std::vector<PlatformKind> kinds = builtin_platform_kinds();
  const std::vector<std::string> folders{std::string(PIPECAST_SOURCE_DIR) + "/platforms"};
  Result<PlatformPreset> preset = find_platform_preset(preset_name, folders, kinds);
  EXPECT_TRUE(preset) << render(preset.error());
  if (nodes > 1) preset->values["nodes"] = std::int64_t{nodes};
  const Result<Platform> platform =
      make_platform(*find_platform_kind(kinds, preset->kind), preset->values);
  EXPECT_TRUE(platform) << render(platform.error());
  return *platform;
}

CollectivePoint collective(const Platform& platform, Collective kind, CollectiveAlgorithm algorithm,
                           int devices, double bytes) {
  CollectiveRequest request{kind, algorithm, {}, {}};
  for (std::int32_t device = 0; device < devices; ++device) request.group.push_back({device});
  const std::vector<Bytes> sizes{Bytes{bytes}};
  const auto points = ping_collective(platform, request, sizes, Engine::Simgrid);
  EXPECT_TRUE(points) << render(points.error());
  return points->front();
}

constexpr double kMebibyte = 1048576;

/// Below 256 KiB the four-node sweep takes longer the smaller the message is (32 KiB: 6.3 ms,
/// 256 KiB: 0.4 ms), because its bus bandwidth is printed with two digits after the point. Nothing
/// can be held against these three points.
bool is_rounded_away(const test::CsvRow& row) {
  return row.integer("nodes") == 4 && row.number("bytes") < 262144;
}

/// Issue 4: within 10 % from 1 MiB on and within 25 % below, from three constants per fabric.
TEST(NcclTests, SweepsAreReproducedFromThreeConstantsPerFabric) {
  std::map<std::string, Platform> machines;
  int held = 0;
  for (const test::CsvRow& row : test::read_csv_table(std::string(PIPECAST_TEST_DIR) +
                                                      "/published/data/collective_sweeps.csv")) {
    if (is_rounded_away(row)) continue;
    const std::string& name = row.text("preset");
    if (!machines.contains(name)) machines.emplace(name, machine(name, row.integer("nodes")));
    const CollectivePoint point =
        collective(machines.at(name), Collective::AllReduce, CollectiveAlgorithm::Automatic,
                   row.integer("devices"), row.number("bytes"));
    const double tolerance = row.number("bytes") >= kMebibyte ? 0.10 : 0.25;
    EXPECT_NEAR(point.time.value / row.number("seconds"), 1, tolerance)
        << name << " " << row.text("bytes");
    ++held;
  }
  EXPECT_EQ(held, 95);
}

/// What the fits were not made from: other collectives, ring instead of NVLS, other machines.
TEST(NcclTests, OtherCollectivesComeCloseWithoutAFit) {
  const Platform h200 = machine("h200-nvlink-node", 1);
  const auto bus = [&](Collective kind, CollectiveAlgorithm algorithm) {
    return collective(h200, kind, algorithm, 8, 17179869184).bus_bandwidth.value;
  };
  EXPECT_NEAR(bus(Collective::AllGather, CollectiveAlgorithm::Automatic) / 3.614e11, 1, 0.12);
  EXPECT_NEAR(bus(Collective::ReduceScatter, CollectiveAlgorithm::Automatic) / 3.629e11, 1, 0.12);
  EXPECT_NEAR(bus(Collective::AllReduce, CollectiveAlgorithm::Ring) / 3.672e11, 1, 0.12);
  const double mi300x = collective(machine("mi300x-node", 1), Collective::AllReduce,
                                   CollectiveAlgorithm::Automatic, 8, 4294967296)
                            .bus_bandwidth.value;
  EXPECT_NEAR(mi300x / 3.12912e11, 1, 0.12);
  const auto four_nodes = [&](const char* preset, double bytes) {
    return collective(machine(preset, 4), Collective::AllReduce, CollectiveAlgorithm::Automatic, 32,
                      bytes)
        .bus_bandwidth.value;
  };
  EXPECT_NEAR(four_nodes("dgx-h200-ib", 4294967296) / 3.6487e11, 1, 0.12);
  EXPECT_NEAR(four_nodes("dgx-h100-ib", 17179869184) / 3.45e11, 1, 0.12);
}

/// All-to-all of 1 GiB, bytes/s on the bus: NVIDIA GTC 2025, session S72583, on which the two
/// fractions of kExchangeReaches are set.
TEST(NcclTests, ExchangesReachWhatNvidiaShows) {
  const auto bus = [](const char* preset, int nodes, int devices) {
    return collective(machine(preset, nodes), Collective::AllToAll, CollectiveAlgorithm::Automatic,
                      devices, 1073741824)
        .bus_bandwidth.value;
  };
  EXPECT_NEAR(bus("a100-nvlink-node", 1, 8) / 210e9, 1, 0.06);
  EXPECT_NEAR(bus("h100-nvlink-node", 1, 8) / 320e9, 1, 0.06);
  EXPECT_NEAR(bus("b200-nvlink-node", 1, 8) / 640e9, 1, 0.06);
  EXPECT_NEAR(bus("gb200-nvl72", 1, 32) / 640e9, 1, 0.06);
  EXPECT_NEAR(bus("dgx-a100-ib", 4, 32) / 24e9, 1, 0.06);
  EXPECT_NEAR(bus("dgx-h100-ib", 4, 32) / 48e9, 1, 0.06);
}

/// Rings over ten thousand devices share nothing that matters: no simulation is needed.
TEST(NcclTests, LargeGroupsAreMeasuredAtOnce) {
  const Platform platform = machine("llama3-roce", 2048);
  const auto begin = std::chrono::steady_clock::now();
  const CollectivePoint point =
      collective(platform, Collective::AllReduce, CollectiveAlgorithm::Ring, 16384, 1073741824);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(took.count(), 10);
  EXPECT_GT(point.bus_bandwidth.value, 0);
}

}  // namespace
}  // namespace pipecast
