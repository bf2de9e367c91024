#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "schedules/schedule.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/run/longest_path.hpp"
#include "sim/run/simgrid_run.hpp"
#include "tests/support/golden_comms.hpp"
#include "tests/support/registry_cases.hpp"

/// A policy is a set of edges, so SimGrid obeys it as the longest path does.
namespace pipecast {
namespace {

struct Case {
  Program program;
  TransferPolicy policy = TransferPolicy::Fifo;
  Seconds delay;
};

/// Runs both evaluators and compares them task by task; returns SimGrid's makespan.
double agreed_makespan(const Case& of) {
  const int ranks = of.program.shape.ranks;
  const Platform platform = constant_delay_platform(ranks, of.delay);
  const Shape stages{of.program.placement.stages, 1, of.program.shape.microbatches};
  const auto graph = build_task_graph(of.program, uniform_workload(stages, {{1.0}, {1.0}, {1.0}}),
                                      platform, testing::devices_in_order(ranks), of.policy);
  EXPECT_TRUE(graph) << (graph ? "" : render(graph.error()));
  if (!graph) return -1;
  const auto simulated = simgrid_run(*graph, platform);
  EXPECT_TRUE(simulated) << (simulated ? "" : render(simulated.error()));
  if (!simulated) return -1;
  const Timeline longest = longest_path(*graph);
  double worst = 0;
  for (std::size_t id = 0; id < graph->tasks.size(); ++id) {
    const Interval& ours = longest.intervals[id];
    const Interval& theirs = simulated->intervals[id];
    worst = std::max(
        {worst, std::abs(ours.start_s - theirs.start_s), std::abs(ours.end_s - theirs.end_s)});
  }
  EXPECT_LE(worst, 1e-9 * std::max(1.0, makespan(longest).value));
  return makespan(*simulated).value;
}

TransferPolicy policy_of(const std::string& semantics) {
  if (semantics == "fifo") return TransferPolicy::Fifo;
  return semantics == "group" ? TransferPolicy::Blocking : TransferPolicy::Posted;
}

TEST(TransferPoliciesAgree, OnEveryLoweredListOfTheReference) {
  int lists = 0;
  for (const char* family : {"deepspeed", "dualpipe", "megatron", "pytorch", "zero_bubble"})
    for (const comms::Golden& golden : comms::read_goldens(family)) {
      SCOPED_TRACE(golden.name);
      const double makespan =
          agreed_makespan({comms::parse_program(golden), policy_of(golden.semantics), {}});
      EXPECT_NEAR(makespan, golden.makespan, 1e-9 * golden.makespan);
      ++lists;
    }
  EXPECT_EQ(lists, 439);
}

TEST(TransferPoliciesAgree, OnEveryRegisteredScheduleWithDelay) {
  const std::vector<ScheduleInfo> schedules = builtin_schedules();
  for (const testing::RegistryCase& registered : testing::registry_cases(schedules))
    for (const Shape& shape : testing::accepted_shapes(registered, {4, 2, 4})) {
      if (shape.ranks == 1) continue;
      const Workload workload = uniform_workload(shape, {{1.0}, {1.0}, {1.0}});
      const auto program = make_program(*registered.schedule, {shape, registered.params, workload});
      ASSERT_TRUE(program) << render(program.error());
      for (const TransferPolicy policy :
           {TransferPolicy::Fifo, TransferPolicy::Blocking, TransferPolicy::Posted}) {
        SCOPED_TRACE(registered.label + " P=" + std::to_string(shape.ranks) + " v=" +
                     std::to_string(shape.chunks) + " m=" + std::to_string(shape.microbatches) +
                     " " + std::string(policy_name(policy)));
        agreed_makespan({*program, policy, {0.3}});
      }
    }
}

}  // namespace
}  // namespace pipecast
