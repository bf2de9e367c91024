// DualPipe, DualPipeV and their rivals as a public simulator of schedules draws them (DeepSeek's
// README names the formulas): 38 makespans without communication, to the tick, both evaluators.
#include <gtest/gtest.h>

#include "schedules/schedule.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/run/longest_path.hpp"
#include "sim/run/simgrid_run.hpp"
#include "tests/support/csv_table.hpp"

namespace pipecast {
namespace {

Workload workload_of(const test::CsvRow& row, const Shape& shape) {
  const double backward = row.number("backward");
  const double weight = row.number("weight");
  Workload workload =
      uniform_workload(shape, {{row.number("forward")}, {backward - weight}, {weight}});
  workload.overlap = {OverlapCost::Rule::Given, row.number("pair")};
  return workload;
}

void expect_printed(const test::CsvRow& row) {
  const int ranks = row.integer("ranks");
  const Shape shape{ranks, row.integer("stages") / ranks, row.integer("microbatches")};
  const Workload workload = workload_of(row, shape);
  const std::vector<ScheduleInfo> schedules = builtin_schedules();
  const ScheduleInfo* schedule = find_schedule(schedules, row.text("schedule"));
  ASSERT_NE(schedule, nullptr);
  const auto program =
      make_program(*schedule, {shape, parse_fields(schedule->fields, {}).value(), workload});
  ASSERT_TRUE(program) << render(program.error());
  const Platform platform = constant_delay_platform(ranks, {0});
  std::vector<DeviceId> devices;
  for (int rank = 0; rank < ranks; ++rank) devices.push_back({rank});
  const auto graph = build_task_graph(*program, workload, platform, devices);
  ASSERT_TRUE(graph) << render(graph.error());
  const auto exact = longest_path(*graph);
  const auto simulated = simgrid_run(*graph, platform);
  ASSERT_TRUE(simulated);
  EXPECT_DOUBLE_EQ(makespan(exact).value, row.number("makespan"));
  EXPECT_NEAR(makespan(*simulated).value, row.number("makespan"), 1e-9 * row.number("makespan"));
}

TEST(DualPipePublished, MakespansOfThirtyEightSettings) {
  const auto rows =
      test::read_csv_table(PIPECAST_TEST_DIR "/published/data/dualpipe_makespans.csv");
  ASSERT_EQ(rows.size(), 38U);
  for (const test::CsvRow& row : rows) {
    SCOPED_TRACE(row.text("schedule") + " P=" + row.text("ranks") +
                 " m=" + row.text("microbatches") + " FB=" + row.text("pair"));
    expect_printed(row);
  }
}

}  // namespace
}  // namespace pipecast
