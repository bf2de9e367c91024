// Zero Bubble Pipeline Parallelism (Qi et al. 2024), tables 5 and 8: every hand-written schedule of
// all 21 settings, in whole microseconds, with both evaluators.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "schedules/schedule.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/run/longest_path.hpp"
#include "sim/run/simgrid_run.hpp"
#include "tests/support/csv_table.hpp"

namespace pipecast {
namespace {

struct Measured {
  double makespan_us = 0;
  double span_us = 0;
};

Measured measure(const TaskGraph& graph, const Timeline& timeline) {
  Measured result;
  std::vector<double> first(static_cast<std::size_t>(graph.ranks), INFINITY);
  std::vector<double> last(static_cast<std::size_t>(graph.ranks), 0);
  for (std::size_t i = 0; i < graph.tasks.size(); ++i) {
    if (!is_work(graph.tasks[i])) continue;
    const auto rank = static_cast<std::size_t>(graph.tasks[i].rank);
    first[rank] = std::min(first[rank], timeline.intervals[i].start_s);
    last[rank] = std::max(last[rank], timeline.intervals[i].end_s);
  }
  for (std::size_t rank = 0; rank < first.size(); ++rank)
    result.span_us = std::max(result.span_us, (last[rank] - first[rank]) * 1e6);
  result.makespan_us = makespan(timeline).value * 1e6;
  return result;
}

/// Longest path and SimGrid, in this order.
std::vector<Measured> simulate_row(const test::CsvRow& row, const std::string& name, int chunks) {
  const Shape shape{row.integer("ranks"), chunks, row.integer("microbatches")};
  const auto part = [&](const char* column) { return Seconds{row.number(column) * 1e-6 / chunks}; };
  const Workload workload = uniform_workload(
      shape, {part("forward_us"), part("backward_input_us"), part("backward_weight_us")});
  const std::vector<ScheduleInfo> schedules = builtin_schedules();
  const ScheduleInfo* schedule = find_schedule(schedules, name);
  EXPECT_NE(schedule, nullptr) << name;
  if (schedule == nullptr) return {};
  const auto params = parse_fields(schedule->fields, {});
  const auto program = make_program(*schedule, {shape, *params, workload});
  EXPECT_TRUE(program) << name;
  if (!program) return {};
  const Platform platform = constant_delay_platform(shape.ranks, {row.number("message_us") * 1e-6});
  std::vector<DeviceId> devices(static_cast<std::size_t>(shape.ranks));
  for (int rank = 0; rank < shape.ranks; ++rank) devices[static_cast<std::size_t>(rank)] = {rank};
  const auto graph = build_task_graph(*program, workload, platform, devices);
  EXPECT_TRUE(graph) << name;
  if (!graph) return {};
  const auto simulated = simgrid_run(*graph, platform);
  EXPECT_TRUE(simulated) << name;
  if (!simulated) return {};
  return {measure(*graph, longest_path(*graph)), measure(*graph, *simulated)};
}

class ZeroBubblePaper : public testing::TestWithParam<test::CsvRow> {};

std::vector<test::CsvRow> rows() {
  return test::read_csv_table(std::string(PIPECAST_TEST_DIR) +
                              "/published/data/zero_bubble_costs.csv");
}

TEST(ZeroBubblePaperData, HasAllSettings) { EXPECT_EQ(rows().size(), 21U); }

TEST_P(ZeroBubblePaper, OneForwardOneBackward) {
  for (const Measured& run : simulate_row(GetParam(), "1f1b", 1))
    EXPECT_EQ(std::llround(run.makespan_us), std::llround(GetParam().number("cost_1f1b_us")));
}

TEST_P(ZeroBubblePaper, ZeroBubbleH1IsAMakespan) {
  for (const Measured& run : simulate_row(GetParam(), "zb-h1", 1))
    EXPECT_EQ(std::llround(run.makespan_us), std::llround(GetParam().number("cost_zb_h1_us")));
}

TEST_P(ZeroBubblePaper, ZeroBubbleH2IsARankSpan) {
  for (const Measured& run : simulate_row(GetParam(), "zb-h2", 1))
    EXPECT_EQ(std::llround(run.span_us), std::llround(GetParam().number("cost_zb_h2_us")));
}

TEST_P(ZeroBubblePaper, InterleavedWithEveryDependency) {
  for (const Measured& run :
       simulate_row(GetParam(), "interleaved-1f1b", GetParam().integer("chunks")))
    EXPECT_EQ(std::llround(run.makespan_us),
              std::llround(GetParam().number("cost_interleaved_us")));
}

std::string row_name(const testing::TestParamInfo<test::CsvRow>& row) {
  std::string name = row.param.text("model") + "_m" + row.param.text("microbatches") + "_t" +
                     row.param.text("table");
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Tables5And8, ZeroBubblePaper, testing::ValuesIn(rows()), row_name);

}  // namespace
}  // namespace pipecast
