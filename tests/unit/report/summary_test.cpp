#include "sim/report/summary.hpp"

#include <gtest/gtest.h>

#include "tests/unit/report/run_fixture.hpp"

namespace pipecast {
namespace {

using testing::byte_workload;
using testing::make_run;
using testing::one_f_one_b_program;

TEST(Summary, OneFOneBHasItsClosedForms) {
  Program program = one_f_one_b_program(4, 8);
  Workload workload = byte_workload(program.shape, {{1}, {1}, {1}});
  const auto run =
      make_run(std::move(program), std::move(workload), constant_delay_platform(4, {}));
  EXPECT_EQ(run.summary.makespan_s, 33);  // (m + P − 1)(F + B)
  EXPECT_EQ(run.summary.ideal_s, 24);
  EXPECT_DOUBLE_EQ(run.summary.bubble_fraction, 3.0 / 11);
  EXPECT_DOUBLE_EQ(run.summary.bubble_overhead, 3.0 / 8);
  EXPECT_EQ(run.summary.max_rank_span_s, 33);
  EXPECT_EQ(run.summary.tasks, 4 * 16 + 2 * 3 * 8);
  EXPECT_EQ(run.summary.ranks[3].span_s, 24 + 0);
}

TEST(Summary, StageSecondsAreWhatTheWorkloadSaysPerMicrobatch) {
  Program program = one_f_one_b_program(2, 2);
  Workload workload = uniform_workload(program.shape, {{0.1}, {0.2}, {0.3}});
  auto run = make_run(program, workload, constant_delay_platform(2, {}));
  EXPECT_EQ(run.summary.stages[1].forward_s, 0.1);
  EXPECT_EQ(run.summary.stages[1].backward_weight_s, 0.3);
  workload.costs = {{{1}, {2}, {3}}, {{2}, {4}, {6}}, {{1}, {1}, {1}}, {{1}, {1}, {1}}};
  run = make_run(program, workload, constant_delay_platform(2, {}));
  EXPECT_EQ(run.summary.stages[0].forward_s, 1.5);
  EXPECT_EQ(run.summary.stages[0].backward_input_s, 3);
  EXPECT_EQ(run.summary.stages[0].backward_weight_s, 4.5);
}

TEST(Summary, LinkBusyTimeIsTheUnionOfItsTransfers) {
  Program program = one_f_one_b_program(2, 4);
  Workload workload = byte_workload(program.shape, {{1}, {1}, {1}});
  Platform platform = constant_delay_platform(2, {});
  platform.links[0] = {"wire", {2}, {4}, Sharing::FatPipe};
  const auto run = make_run(std::move(program), std::move(workload), std::move(platform));
  ASSERT_EQ(run.summary.links.size(), 1U);
  const LinkSummary& link = run.summary.links[0];
  EXPECT_EQ(link.bytes, 4 * 8 + 4 * 4);
  double busy = 0;
  const double step = 0.25;  // every event of this run lies on this grid
  for (double t = 0; t < run.summary.makespan_s; t += step)
    for (std::size_t id = 0; id < run.graph.tasks.size(); ++id)
      if (is_transfer(run.graph.tasks[id]) && run.timeline.intervals[id].start_s <= t &&
          t < run.timeline.intervals[id].end_s) {
        busy += step;
        break;
      }
  EXPECT_EQ(link.busy_s, busy);
  EXPECT_DOUBLE_EQ(link.utilization, 48 / (4 * run.summary.makespan_s));
}

TEST(Summary, SaysWhetherTheMemoryFits) {
  Program program = one_f_one_b_program(2, 2);
  Workload workload = byte_workload(program.shape, {{1}, {1}, {1}});
  Platform platform = constant_delay_platform(2, {});
  platform.devices[0].memory = {6200};  // 6000 static and two activations of 100
  platform.devices[1].memory = {6099};
  const auto run = make_run(std::move(program), std::move(workload), std::move(platform));
  EXPECT_EQ(run.summary.ranks[0].peak_memory.value, 6200);
  EXPECT_TRUE(run.summary.ranks[0].fits);
  EXPECT_FALSE(run.summary.ranks[1].fits);
}

TEST(Summary, OneRankHasNoBubble) {
  Program program = one_f_one_b_program(1, 7);
  Workload workload = byte_workload(program.shape, {{0.1}, {0.2}, {0.3}});
  const auto run =
      make_run(std::move(program), std::move(workload), constant_delay_platform(1, {}));
  EXPECT_EQ(run.summary.bubble_fraction, 0);
  EXPECT_EQ(run.summary.bubble_overhead, 0);
  EXPECT_EQ(run.summary.span_bubble_fraction, 0);
  EXPECT_TRUE(run.summary.links.empty());
}

}  // namespace
}  // namespace pipecast
