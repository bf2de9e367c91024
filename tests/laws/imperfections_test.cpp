// A slow device, jitter and broken links: closed forms, reproducibility, and who is blamed.
#include <gtest/gtest.h>

#include <algorithm>

#include "schedules/schedule.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/run/longest_path.hpp"
#include "sim/study/imperfect_runs.hpp"

namespace pipecast {
namespace {

struct Pipeline {
  Program program;
  Workload workload;
  Platform platform;
  TaskGraph graph;
};

std::vector<double> ordinary(const Pipeline& run) {
  return ordinary_seconds(run.graph, run.program, run.workload, run.platform);
}

Pipeline one_f_one_b(int ranks, int microbatches, const Imperfections& wrong) {
  const auto schedules = builtin_schedules();
  const ScheduleInfo& schedule = *find_schedule(schedules, "1f1b");
  const Shape shape{ranks, 1, microbatches};
  const Workload workload = uniform_workload(shape, {{1.0}, {1.0}, {1.0}});
  const Program program =
      make_program(schedule, {shape, parse_fields(schedule.fields, {}).value(), workload}).value();
  std::vector<DeviceId> devices;
  for (int rank = 0; rank < ranks; ++rank) devices.push_back({rank});
  Platform platform = imperfect(constant_delay_platform(ranks, {0}), wrong).value();
  TaskGraph graph = build_task_graph(program, workload, platform, devices).value();
  return {program, workload, std::move(platform), std::move(graph)};
}

Result<Timeline> exact(const TaskGraph& graph) { return longest_path(graph); }

TEST(Imperfections, ASlowLastRankSetsThePace) {
  for (const double factor : {1.1, 1.5, 2.0})
    for (const int ranks : {2, 4, 8})
      for (const int microbatches : {8, 32}) {
        const Imperfections wrong{{{ranks - 1, factor}}, {}, {}};
        const Pipeline slow = one_f_one_b(ranks, microbatches, wrong);
        const Timeline timeline = longest_path(slow.graph);
        // The slow rank never waits once it has begun: (P - 1)(F + B) + m f (F + B).
        EXPECT_NEAR(makespan(timeline).value, 3.0 * (ranks - 1) + 3.0 * factor * microbatches,
                    1e-9);
        const Delays delays =
            delays_of(slow.graph, ordinary(slow), ranks, timeline, {}, exact).value();
        for (int rank = 0; rank < ranks; ++rank)
          EXPECT_NEAR(delays.blame_s[static_cast<std::size_t>(rank)],
                      rank == ranks - 1 ? 3.0 * (factor - 1) * microbatches : 0, 1e-9);
      }
}

/// Rank k waits for P - 1 - k microbatches of its own accord: that much of its extra work is
/// hidden.
TEST(Imperfections, ASlowRankCostsItsExtraWorkButThatOfItsOwnWarmUp) {
  for (int slow_rank = 0; slow_rank < 4; ++slow_rank) {
    const Pipeline slow = one_f_one_b(4, 16, {{{slow_rank, 1.1}}, {}, {}});
    const Pipeline even = one_f_one_b(4, 16, {});
    const Timeline timeline = longest_path(slow.graph);
    const double more = makespan(timeline).value - makespan(longest_path(even.graph)).value;
    EXPECT_NEAR(more, 0.1 * 3 * (16 - (4 - 1 - slow_rank)), 1e-9) << slow_rank;
    const Delays delays = delays_of(slow.graph, ordinary(slow), 4, timeline, {}, exact).value();
    const auto worst = std::max_element(delays.blame_s.begin(), delays.blame_s.end());
    EXPECT_EQ(worst - delays.blame_s.begin(), slow_rank);
  }
}

/// Stages on other accelerators: a factor per rank, on every replica's device of it.
TEST(Imperfections, ASlowRankIsSlowInEveryReplica) {
  ParallelLayout layout;
  layout.pipeline = 2;
  layout.data = 3;
  const std::vector<DeviceId> devices{{0}, {1}, {2}, {3}, {4}, {5}};
  Imperfections wrong;
  wrong.slow_ranks = {{1, 1.25}, {1, 2.0}};
  const Platform platform =
      in_step(constant_delay_platform(6, {0}), wrong, layout, devices).value();
  // Megatron's order: data before pipeline, so rank 1 has the last three.
  for (std::size_t device = 0; device < 6; ++device)
    EXPECT_DOUBLE_EQ(platform.devices[device].slowdown, device < 3 ? 1.0 : 2.5) << device;
  wrong.slow_ranks = {{2, 1.1}};
  const auto fault = in_step(constant_delay_platform(6, {0}), wrong, layout, devices);
  ASSERT_FALSE(fault);
  EXPECT_EQ(fault.error().front().message, "slow rank 2 does not exist, the pipeline has 2 ranks");
}

/// A tensor group exchanges in every layer, so the slowest of it sets the pace of all.
TEST(Imperfections, ATensorGroupIsAsSlowAsItsSlowest) {
  ParallelLayout layout;
  layout.tensor = 2;
  layout.pipeline = 2;
  layout.data = 2;
  std::vector<DeviceId> devices;
  for (std::int32_t device = 0; device < 8; ++device) devices.push_back({device});
  Imperfections wrong;
  wrong.slow_devices = {{3, 1.1}, {4, 1.3}};
  Platform platform = imperfect(constant_delay_platform(8, {0}), wrong).value();
  platform = in_step(std::move(platform), wrong, layout, devices).value();
  const double expected[] = {1, 1, 1.1, 1.1, 1.3, 1.3, 1, 1};
  for (std::size_t device = 0; device < 8; ++device)
    EXPECT_DOUBLE_EQ(platform.devices[device].slowdown, expected[device]) << device;
}

TEST(Imperfections, JitterIsReproducibleOrderedAndNeverFree) {
  const Pipeline even = one_f_one_b(4, 8, {});
  const Timeline timeline = longest_path(even.graph);
  Jitter jitter;
  jitter.sigma = 0.1;
  const Delays one = delays_of(even.graph, ordinary(even), 4, timeline, jitter, exact).value();
  EXPECT_EQ(one, delays_of(even.graph, ordinary(even), 4, timeline, jitter, exact).value());
  EXPECT_LE(one.least_s, one.median_s);
  EXPECT_LE(one.median_s, one.p95_s);
  EXPECT_LE(one.p95_s, one.most_s);
  // A longest path of varying parts is longer than that of their medians.
  EXPECT_GT(one.median_s, makespan(timeline).value);
  jitter.seed = 2;
  EXPECT_NE(one, delays_of(even.graph, ordinary(even), 4, timeline, jitter, exact).value());
}

TEST(Imperfections, AListOfOneFactorScalesTheStep) {
  const Pipeline even = one_f_one_b(4, 8, {});
  const Timeline timeline = longest_path(even.graph);
  Jitter jitter;
  jitter.factors = {1.25};
  jitter.samples = 3;
  const Delays delays = delays_of(even.graph, ordinary(even), 4, timeline, jitter, exact).value();
  EXPECT_NEAR(delays.median_s, 1.25 * makespan(timeline).value, 1e-9);
  EXPECT_EQ(delays.least_s, delays.most_s);
}

TEST(Imperfections, UnknownDevicesAndLinksAreFaults) {
  const Platform platform = constant_delay_platform(2, {0.001});
  const auto wrong = imperfect(platform, {{{7, 1.1}}, {{"nowhere", 0.5}}, {}});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().size(), 2U);
}

}  // namespace
}  // namespace pipecast
