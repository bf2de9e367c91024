// A schedule that ran, written as intervals and imported: the same order and the same figures.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "sim/read/measured_file.hpp"
#include "sim/read/program_csv.hpp"
#include "sim/report/exporters.hpp"
#include "sim/study/measured_profile.hpp"
#include "tests/support/law_run.hpp"
#include "tests/support/registry_cases.hpp"

namespace pipecast {
namespace {

using testing::accepted_shapes;
using testing::LawRun;
using testing::registry_cases;
using testing::RegistryCase;
using testing::run_program;

constexpr Shape kLargest{4, 2, 8};
constexpr StageCost kCost{{2}, {3}, {1}};

/// Intervals are computations of whole microbatches (a file does not tell cuts of a sequence, whose
/// units cost differently); one pass through them is one step.
bool is_measurable(const Program& program) {
  if (program.steps > 1 || program.cuts.count() > 1) return false;
  for (const std::vector<Op>& ops : program.ranks)
    if (!std::all_of(ops.begin(), ops.end(), [](const Op& op) { return is_compute(op.kind); }))
      return false;
  return true;
}

LawRun run_of(Program program, const Workload& workload) {
  const int ranks = program.shape.ranks;
  return run_program(std::move(program), workload, constant_delay_platform(ranks, {0.25}));
}

template <class Visit>
void for_each_run(Visit visit) {
  const std::vector<ScheduleInfo> schedules = builtin_schedules();
  for (const RegistryCase& registered : registry_cases(schedules))
    for (const Shape& shape : accepted_shapes(registered, kLargest)) {
      const Workload workload = uniform_workload(shape, kCost);
      const auto program = make_program(*registered.schedule, {shape, registered.params, workload});
      if (!program || !is_measurable(*program)) continue;
      SCOPED_TRACE(registered.label + " " + std::to_string(shape.ranks) + " " +
                   std::to_string(shape.chunks) + " " + std::to_string(shape.microbatches));
      visit(run_of(*program, workload));
      if (::testing::Test::HasFailure()) return;
    }
}

MeasuredRun imported(const LawRun& run) {
  const std::vector<DeviceId> devices;
  std::ostringstream out;
  write_interval_csv({"",
                      "longest-path",
                      "",
                      run.program,
                      run.workload,
                      run.platform,
                      run.graph,
                      run.graph.tasks,
                      run.graph.routes,
                      devices,
                      run.timeline,
                      run.summary,
                      {}},
                     out);
  Result<MeasuredRun> measured = read_interval_csv(out.str(), "run.csv");
  EXPECT_TRUE(measured) << render(measured.error());
  const Diagnostics faults = tidy(*measured);
  EXPECT_TRUE(faults.empty()) << render(faults);
  return *measured;
}

void expect_figures_of(const Summary& own, const Summary& registered) {
  const auto near = [](double value, double wanted) {
    EXPECT_NEAR(value, wanted, 1e-9 * std::max(1.0, wanted));
  };
  near(own.ideal_s, registered.ideal_s);
  near(own.makespan_s, registered.makespan_s);
  near(own.bubble_fraction, registered.bubble_fraction);
  near(own.bubble_overhead, registered.bubble_overhead);
  near(own.span_bubble_fraction, registered.span_bubble_fraction);
}

TEST(MeasuredFiles, IntervalsOfARunGiveItsOrderAndItsFigures) {
  const std::vector<ScheduleInfo> none;
  for_each_run([&](const LawRun& run) {
    const MeasuredRun measured = imported(run);
    EXPECT_NEAR(measured.steps.front().seconds(), run.summary.makespan_s, 1e-9);
    const Result<MeasuredProfile> profile = profile_of(measured.steps, none);
    ASSERT_TRUE(profile) << render(profile.error());
    ASSERT_EQ(profile->program.ranks, run.program.ranks);
    Workload workload = profiled_workload(*profile);
    workload.overheads = {};
    expect_figures_of(run_of(profile->program, workload).summary, run.summary);
  });
}

TEST(MeasuredFiles, OrdersReadBackGiveTheSameFigures) {
  for_each_run([&](const LawRun& run) {
    const auto program =
        read_program_csv(write_program_csv(run.program), "run.csv", CsvDialect::ComputeOnly);
    ASSERT_TRUE(program) << render(program.error());
    expect_figures_of(run_of(*program, run.workload).summary, run.summary);
  });
}

}  // namespace
}  // namespace pipecast
