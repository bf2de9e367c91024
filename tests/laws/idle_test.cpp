#include "sim/report/idle.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/support/law.hpp"
#include "tests/support/law_run.hpp"

namespace pipecast::testing {
namespace {

double parts_s(const RankSummary& rank) {
  return rank.waiting_for_transfer_s + rank.warmup_idle_s + rank.steady_idle_s +
         rank.cooldown_idle_s;
}

/// Work and idle stretches of a rank follow each other from 0 to the makespan without overlap.
void expect_cover(const LawRun& run, Rank rank, const std::string& what) {
  const RunIndex index = index_run(run.graph, run.timeline);
  std::vector<Interval> pieces;
  for (const std::uint32_t task : index.compute.of(rank))
    if (is_work(run.graph.tasks[task])) pieces.push_back(run.timeline.intervals[task]);
  for (const IdleStretch& stretch :
       idle_stretches(run.program, run.graph, run.timeline, index, rank)) {
    ASSERT_LT(stretch.start_s, stretch.end_s) << what;
    pieces.push_back({stretch.start_s, stretch.end_s});
  }
  std::stable_sort(pieces.begin(), pieces.end(), [](const Interval& a, const Interval& b) {
    return a.start_s != b.start_s ? a.start_s < b.start_s : a.end_s < b.end_s;
  });
  double now_s = 0;
  for (const Interval& piece : pieces) {
    ASSERT_EQ(piece.start_s, now_s) << what;
    now_s = piece.end_s;
  }
  ASSERT_EQ(now_s, run.summary.makespan_s) << what;
}

TEST(IdleLaws, PartsAddUpExactlyForWholeCosts) {
  for_every_schedule({4, 2, 6}, [](const ScheduleInfo& schedule, const Program& program) {
    for (const double delay_s : {0.0, 1.0, 7.0})
      for (const double gap_s : {0.0, 2.0}) {
        Workload workload = uniform_workload(program.shape, {{2}, {3}, {1}});
        workload.overheads.gap = {gap_s};
        const LawRun run =
            run_program(program, workload, constant_delay_platform(program.shape.ranks, {delay_s}));
        for (const RankSummary& rank : run.summary.ranks) {
          const std::string what = describe(schedule, program.shape);
          ASSERT_EQ(rank.idle_s, run.summary.makespan_s - rank.busy_s) << what;
          ASSERT_EQ(rank.idle_s, parts_s(rank)) << what;
          ASSERT_LE(rank.gap_s, rank.idle_s - rank.waiting_for_transfer_s) << what;
          if (delay_s == 0) {
            ASSERT_EQ(rank.waiting_for_transfer_s, 0) << what;
          }
          if (gap_s == 0) {
            ASSERT_EQ(rank.gap_s, 0) << what;
          }
          expect_cover(run, rank.rank, what);
        }
      }
  });
}

TEST(IdleLaws, GpipeAnd1F1BHaveTheKnownBubbleInBothDefinitions) {
  const auto schedules = builtin_schedules();
  for (const std::string_view name : {"gpipe", "1f1b"})
    for (int ranks = 1; ranks <= 8; ++ranks)
      for (int microbatches = 1; microbatches <= 16; ++microbatches) {
        const Shape shape{ranks, 1, microbatches};
        const Workload workload = uniform_workload(shape, {{3}, {2}, {4}});
        const auto program = program_of(*find_schedule(schedules, name), shape, workload);
        ASSERT_TRUE(program);
        const LawRun run =
            run_program(*program, workload, constant_delay_platform(shape.ranks, {}));
        EXPECT_DOUBLE_EQ(run.summary.bubble_fraction, (ranks - 1.0) / (microbatches + ranks - 1.0));
        EXPECT_NEAR(run.summary.bubble_overhead, (ranks - 1.0) / microbatches, 1e-15 * ranks);
      }
}

TEST(IdleLaws, OneFOneBSplitsItsIdleTimeAsItsDiagramShows) {
  // Rank r starts r forwards late and ends r backwards early; the other (P−1−r)(F+B) is the wait
  // for its first backward.
  const int ranks = 6;
  const Shape shape{ranks, 1, 12};
  const Workload workload = uniform_workload(shape, {{1}, {1}, {1}});
  const auto schedules = builtin_schedules();
  const auto program = program_of(*find_schedule(schedules, "1f1b"), shape, workload);
  const LawRun run = run_program(*program, workload, constant_delay_platform(ranks, {}));
  for (const RankSummary& rank : run.summary.ranks) {
    const int behind = ranks - 1 - rank.rank.value;
    EXPECT_EQ(rank.idle_s, 3 * (ranks - 1));
    EXPECT_EQ(rank.span_s, run.summary.makespan_s - 3 * rank.rank.value);
    EXPECT_EQ(rank.warmup_idle_s + rank.steady_idle_s + rank.cooldown_idle_s, rank.idle_s);
    EXPECT_GE(rank.warmup_idle_s, rank.rank.value + behind) << rank.rank.value;
    EXPECT_GE(rank.cooldown_idle_s, 2 * rank.rank.value) << rank.rank.value;
  }
}

void check_random_costs() {
  const auto schedules = builtin_schedules();
  const auto& schedule = schedules[*rc::gen::inRange<std::size_t>(0, schedules.size())];
  const Shape shape{*rc::gen::inRange(1, 7), schedule.default_chunks, *rc::gen::inRange(1, 17)};
  Workload workload = uniform_workload(shape, {});
  workload.costs.resize(workload.costs.size() * static_cast<std::size_t>(shape.microbatches));
  const auto seconds = [] { return Seconds{*rc::gen::inRange(1, 10'000) * 1.1e-5}; };
  for (StageCost& cost : workload.costs) cost = {seconds(), seconds(), seconds()};
  workload.overheads.gap = *rc::gen::element(Seconds{0}, Seconds{1.7e-3});
  const auto program = program_of(schedule, shape, workload);
  RC_PRE(program.has_value());
  const LawRun run =
      run_program(*program, workload, constant_delay_platform(shape.ranks, seconds()));
  for (const RankSummary& rank : run.summary.ranks) {
    RC_ASSERT(rank.idle_s == parts_s(rank));
    RC_ASSERT(std::abs(rank.idle_s + rank.busy_s - run.summary.makespan_s) <=
              1e-12 * run.summary.makespan_s);
    for (const double part : {rank.waiting_for_transfer_s, rank.warmup_idle_s, rank.steady_idle_s,
                              rank.cooldown_idle_s, rank.gap_s})
      RC_ASSERT(part >= 0);
  }
}

TEST(IdleLaws, PartsAddUpForAnyCosts) {
  expect_law("idle parts add up to the idle time, idle and busy to the makespan",
             check_random_costs);
}

}  // namespace
}  // namespace pipecast::testing
