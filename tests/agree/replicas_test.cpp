// One replica that stands for all symmetric ones gives the times of all of them on the same fabric;
// what replicas exchange takes the time of its closed form.
#include <gtest/gtest.h>

#include "platforms/platform_kind.hpp"
#include "schedules/schedule.hpp"
#include "sim/graph/replicated_graph.hpp"
#include "sim/run/longest_path.hpp"
#include "sim/run/simgrid_run.hpp"

namespace pipecast {
namespace {

Platform made_platform(const std::string& kind_name,
                       const std::map<std::string, std::string, std::less<>>& texts) {
  const auto kinds = builtin_platform_kinds();
  const PlatformKind* kind = find_platform_kind(kinds, kind_name);
  EXPECT_NE(kind, nullptr) << kind_name;
  const auto values = parse_fields(kind->fields, texts);
  EXPECT_TRUE(values) << render(values.error());
  auto platform = make_platform(*kind, *values);
  EXPECT_TRUE(platform) << render(platform.error());
  return *platform;
}

std::map<std::string, std::string, std::less<>> rail(const std::string& nodes) {
  return {{"nodes", nodes},
          {"scale_up_bandwidth", "400 GB/s"},
          {"card_bandwidth", "400 Gb/s"},
          {"scale_up_latency", "2 us"}};
}

struct Case {
  std::string schedule = "1f1b";
  Shape shape{2, 1, 4};
  ParallelLayout layout;
  StageSync sync{{400e6}, {200e6}, {}, {}, {0.002}};
};

Program program_of(const Case& made, const Workload& workload) {
  const auto schedules = builtin_schedules();
  const ScheduleInfo& schedule = *find_schedule(schedules, made.schedule);
  return make_program(schedule, {made.shape, parse_fields(schedule.fields, {}).value(), workload})
      .value();
}

Workload workload_of(const Case& made) {
  Workload workload = uniform_workload(made.shape, {{0.010}, {0.012}, {0.008}});
  for (StageBytes& bytes : workload.bytes) {
    bytes.message_forward = {40e6};
    bytes.message_backward = {40e6};
  }
  workload.sync.assign(static_cast<std::size_t>(made.shape.stages()), made.sync);
  return workload;
}

ReplicatedGraph replicated(Case made, const Platform& platform, Replicas replicas) {
  made.layout.pipeline = made.shape.ranks;
  made.layout.chunks = made.shape.chunks;
  made.layout.replicas = replicas;
  std::vector<DeviceId> devices;
  for (int device = 0; device < made.layout.devices(); ++device) devices.push_back({device});
  const Workload workload = workload_of(made);
  auto built =
      build_replicated_graph(program_of(made, workload), workload, platform, made.layout, devices);
  EXPECT_TRUE(built) << render(built.error());
  return std::move(*built);
}

/// Both ways, both evaluators; the shown replica has the same times.
void expect_one_stands_for_all(const Case& made, const Platform& platform) {
  const ReplicatedGraph all = replicated(made, platform, Replicas::All);
  const ReplicatedGraph one = replicated(made, platform, Replicas::Symmetric);
  EXPECT_EQ(one.simulated, 1);
  EXPECT_EQ(all.simulated, made.layout.tensor * made.layout.context * made.layout.data);
  const double exact = makespan(longest_path(one.graph)).value;
  EXPECT_NEAR(makespan(longest_path(all.graph)).value, exact, 1e-12);
  const auto shared_all = simgrid_run(all.graph, all.platform);
  const auto shared_one = simgrid_run(one.graph, one.platform);
  ASSERT_TRUE(shared_all);
  ASSERT_TRUE(shared_one);
  const double expected = makespan(*shared_all).value;
  EXPECT_NEAR(makespan(*shared_one).value, expected, 1e-9 * expected);
  EXPECT_NEAR(makespan(shown_timeline(all, *shared_all)).value, expected, 1e-9 * expected);
  EXPECT_GE(expected, exact * (1 - 1e-9));
}

TEST(Replicas, OneStandsForAllOnARailCluster) {
  const Platform platform = made_platform("rail-cluster", rail("8"));
  for (const char* schedule : {"1f1b", "gpipe", "zb-h1"})
    for (const int zero : {0, 1, 2})
      for (const bool overlap : {true, false}) {
        SCOPED_TRACE(std::string(schedule) + " zero " + std::to_string(zero));
        Case made;
        made.schedule = schedule;
        made.layout.tensor = 8;
        made.layout.data = 4;
        made.layout.zero = zero;
        made.layout.gradient_reduction.overlap = overlap;
        made.layout.gradient_reduction.bucket = {150e6};
        made.layout.gradient_reduction.algorithm = CollectiveAlgorithm::Ring;
        made.layout.parameter_gather = {overlap, CollectiveAlgorithm::Ring};
        expect_one_stands_for_all(made, platform);
      }
}

TEST(Replicas, ReplicasThatDifferAreAllSimulated) {
  Platform platform = made_platform("rail-cluster", rail("4"));
  platform.devices[9].slowdown = 1.1;
  Case made;
  made.layout.tensor = 8;
  made.layout.data = 2;
  const ReplicatedGraph built = replicated(made, platform, Replicas::Symmetric);
  EXPECT_EQ(built.simulated, 16);
}

TEST(Replicas, AReductionAtTheEndTakesItsClosedForm) {
  const Platform platform = constant_delay_platform(4, {0.001});
  Case made;
  made.layout.data = 2;
  made.layout.gradient_reduction.overlap = false;
  made.sync.optimizer = {0.005};
  const ReplicatedGraph with = replicated(made, platform, Replicas::All);
  made.sync.gradients = {0};
  made.sync.optimizer = {0};
  const ReplicatedGraph without = replicated(made, platform, Replicas::All);
  // A ring of two: 2 (n - 1) hops of the delay; bytes take no time on a constant delay.
  EXPECT_NEAR(makespan(longest_path(with.graph)).value,
              makespan(longest_path(without.graph)).value + 2 * 0.001 + 0.005, 1e-9);
}

/// Seconds of the longest path on two replicas whose messages and hops take `delay` each.
double with_delay(const Case& made, double delay_s) {
  const Platform platform = constant_delay_platform(made.shape.ranks * made.layout.data, {delay_s});
  return makespan(longest_path(replicated(made, platform, Replicas::All).graph)).value;
}

TEST(Replicas, NobodyToExchangeWithLeavesTheUpdate) {
  const Platform platform = constant_delay_platform(2, {0.001});
  Case made;
  Case alone = made;
  alone.sync = {};
  const ReplicatedGraph built = replicated(made, platform, Replicas::Symmetric);
  EXPECT_EQ(built.simulated, 1);
  EXPECT_NEAR(makespan(longest_path(built.graph)).value,
              makespan(longest_path(replicated(alone, platform, Replicas::Symmetric).graph)).value +
                  made.sync.optimizer.value,
              1e-12);
}

TEST(Replicas, BucketsAreReducedWhileTheLastBackwardRuns) {
  Case made;
  made.layout.data = 2;
  made.sync.optimizer = {0};
  Case alone = made;
  alone.sync.gradients = {0};
  for (const double pieces : {1, 2, 4}) {
    made.layout.gradient_reduction.bucket = {made.sync.gradients.value / pieces};
    // Only the last piece, a ring of two, is left when the backward of 20 ms ends.
    EXPECT_NEAR(with_delay(made, 0.001), with_delay(alone, 0.001) + 2 * 0.001, 1e-12) << pieces;
  }
}

TEST(Replicas, PiecesOfParametersHoldBackTheRestOfTheFirstForward) {
  Case made;
  made.shape = {1, 1, 1};
  made.layout.data = 2;
  made.layout.zero = 1;
  made.sync.optimizer = {0};
  made.layout.gradient_reduction.bucket = {made.sync.gradients.value / 2};
  // The forward of 10 ms runs from 20 ms on; its second half waits for the second piece until 40
  // ms. The first half of the gradient is ready at 55 ms, the second at 65 ms; each takes 20 ms.
  EXPECT_NEAR(with_delay(made, 0.020), 0.055 + 2 * 0.020, 1e-12);
  // Hidden pieces cost nothing but the first gather and the last reduction.
  EXPECT_NEAR(with_delay(made, 0.001), 0.001 + 0.030 + 0.001, 1e-12);
}

}  // namespace
}  // namespace pipecast
