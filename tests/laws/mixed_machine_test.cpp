// Costs that depend on the accelerator: a rank, a copy of a stage and a replica each take what
// their own device takes.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

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

  Timeline timeline() const { return longest_path(graph); }
  double makespan_s() const { return makespan(timeline()).value; }
};

/// Stages of F 10, I 12, W 8 ms on accelerator `fast`, `factor` times as much on `slow`.
Workload two_accelerators(const Shape& shape, double factor) {
  Workload workload = uniform_workload(shape, {{0.010}, {0.012}, {0.008}});
  const std::vector<Seconds> no_update(static_cast<std::size_t>(shape.stages()));
  workload.on.push_back({"fast", workload.costs, {}, no_update});
  for (StageCost& cost : workload.costs)
    cost = {cost.forward * factor, cost.backward_input * factor, cost.backward_weight * factor};
  workload.on.push_back({"slow", workload.costs, {}, no_update});
  return workload;
}

Pipeline on_ranks(std::string_view name, const Shape& shape,
                  const std::vector<std::string>& accelerators, double factor) {
  const auto schedules = builtin_schedules();
  const ScheduleInfo& schedule = *find_schedule(schedules, name);
  const FieldValues params = parse_fields(schedule.fields, {}).value();
  Workload workload = two_accelerators(shape, factor);
  const Placement placement = placement_of(schedule, {shape, params, workload});
  workload = settled(workload, placement, accelerators);
  Pipeline made{make_program(schedule, {shape, params, workload}).value(),
                workload,
                constant_delay_platform(shape.ranks, {0}),
                {}};
  std::vector<DeviceId> devices;
  for (int rank = 0; rank < shape.ranks; ++rank) {
    made.platform.devices[static_cast<std::size_t>(rank)].accelerator =
        accelerators[static_cast<std::size_t>(rank)];
    devices.push_back({rank});
  }
  made.graph = build_task_graph(made.program, workload, made.platform, devices).value();
  return made;
}

std::vector<std::string> slow_from(int first, int ranks) {
  std::vector<std::string> accelerators(static_cast<std::size_t>(ranks), "fast");
  std::fill(accelerators.begin() + first, accelerators.end(), "slow");
  return accelerators;
}

/// The same machine once as accelerators and once as `slow_ranks`, task by task. Schedules whose
/// order follows the costs see them only the first way.
TEST(MixedMachine, StagesOnASlowerAcceleratorAreSlowRanks) {
  for (const char* name :
       {"gpipe", "1f1b", "interleaved-1f1b", "zbv", "hanayo", "dualpipe", "dualpipe-v", "chimera"})
    for (const int first : {1, 2, 3}) {
      SCOPED_TRACE(std::string(name) + ", slow from rank " + std::to_string(first));
      const auto schedules = builtin_schedules();
      const int chunks = find_schedule(schedules, name)->default_chunks;
      const Shape shape{4, chunks, 8};
      const Pipeline mixed = on_ranks(name, shape, slow_from(first, 4), 1.5);
      Imperfections wrong;
      for (int rank = first; rank < 4; ++rank) wrong.slow_ranks.push_back({rank, 1.5});
      Pipeline slowed = on_ranks(name, shape, std::vector<std::string>(4, "fast"), 1.5);
      ParallelLayout layout;
      layout.pipeline = 4;
      const std::vector<DeviceId> devices{{0}, {1}, {2}, {3}};
      slowed.platform = in_step(slowed.platform, wrong, layout, devices).value();
      slowed.graph =
          build_task_graph(slowed.program, slowed.workload, slowed.platform, devices).value();
      ASSERT_EQ(mixed.program, slowed.program);
      const Timeline one = mixed.timeline();
      const Timeline other = slowed.timeline();
      for (std::size_t task = 0; task < one.intervals.size(); ++task)
        ASSERT_NEAR(one.intervals[task].end_s, other.intervals[task].end_s, 1e-12) << task;
      // Blame: beyond the fastest accelerator here, beyond an ordinary rank there.
      const auto exact = [](const TaskGraph& graph) {
        return Result<Timeline>(longest_path(graph));
      };
      const auto blame = [&](const Pipeline& run, const Timeline& timeline) {
        return delays_of(run.graph,
                         ordinary_seconds(run.graph, run.program, run.workload, run.platform), 4,
                         timeline, {}, exact)
            ->blame_s;
      };
      const std::vector<double> mine = blame(mixed, one);
      const std::vector<double> theirs = blame(slowed, other);
      // Which of equally slow ranks decides may differ; none of the fast ones does.
      EXPECT_NEAR(std::accumulate(mine.begin(), mine.end(), 0.0),
                  std::accumulate(theirs.begin(), theirs.end(), 0.0), 1e-12);
      EXPECT_NEAR(std::accumulate(mine.begin(), mine.begin() + first, 0.0), 0, 1e-12);
      EXPECT_GT(*std::max_element(mine.begin() + first, mine.end()), 0);
    }
}

/// 1F1B whose slowest stages are the last: the first of them never waits once it has begun, so the
/// step is the way there and back over the faster ranks, its m microbatches, and what the ranks
/// behind it add once: (F + B) (k + f (P − 1 − k)) + m f (F + B).
TEST(MixedMachine, OneFOneBWithASlowerHalfTakesItsClosedForm) {
  for (const int ranks : {2, 4, 8})
    for (const int microbatches : {8, 32})
      for (const double factor : {1.25, 2.0}) {
        const int k = ranks / 2;
        const Pipeline mixed =
            on_ranks("1f1b", {ranks, 1, microbatches}, slow_from(k, ranks), factor);
        EXPECT_NEAR(mixed.makespan_s(),
                    0.030 * (k + factor * (ranks - 1 - k) + microbatches * factor), 1e-9)
            << ranks << " ranks, " << microbatches << " microbatches";
      }
}

/// A bidirectional schedule keeps every stage twice: each copy takes what its own rank takes.
TEST(MixedMachine, CopiesOfAStageTakeWhatTheirOwnDevicesTake) {
  const Pipeline mixed = on_ranks("dualpipe", {4, 1, 8}, slow_from(2, 4), 3.0);
  std::vector<double> busy(4, 0);
  for (const Task& task : mixed.graph.tasks)
    if (is_work(task)) busy[static_cast<std::size_t>(task.rank)] += task.seconds;
  for (std::size_t rank = 0; rank < 4; ++rank)
    EXPECT_NEAR(busy[rank], 8 * 0.030 * (rank < 2 ? 1 : 3), 1e-12) << rank;
}

/// Two names for equal devices are one machine, bit for bit.
TEST(MixedMachine, EqualAcceleratorsAreAUniformMachine) {
  for (const char* name : {"1f1b", "zb-h1", "zbv", "chimera"}) {
    const auto schedules = builtin_schedules();
    const Shape shape{4, find_schedule(schedules, name)->default_chunks, 8};
    const Pipeline mixed = on_ranks(name, shape, slow_from(2, 4), 1.0);
    const Pipeline even = on_ranks(name, shape, std::vector<std::string>(4, "fast"), 1.0);
    EXPECT_EQ(mixed.graph.tasks, even.graph.tasks) << name;
    EXPECT_EQ(mixed.timeline(), even.timeline()) << name;
  }
}

}  // namespace
}  // namespace pipecast
