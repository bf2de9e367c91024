// A study forecasts the machine that its base describes, slow ranks and broken links included.
#include <gtest/gtest.h>

#include "platforms/platform_kind.hpp"
#include "schedules/schedule.hpp"
#include "sim/study/evaluator.hpp"

namespace pipecast {
namespace {

std::string base_with(const std::string& imperfections) {
  return "pipeline: {schedule: 1f1b, ranks: 4, microbatches: 8}, workload: {costs: {forward: 10 "
         "ms, "
         "backward: 19 ms}, message: 27 MB}, platform: {kind: nvlink-node, scale_up_bandwidth: 450 "
         "GB/s, scale_up_latency: 2 us}, imperfections: " +
         imperfections;
}

struct Both {
  StudyRow row;
  double run_s = 0;  ///< of `run` on the same scenario; 0: refused
};

Both both(const std::string& imperfections, Tier tier) {
  const auto schedules = builtin_schedules();
  const auto kinds = builtin_platform_kinds();
  const ReadContext context{schedules, kinds, {}};
  const std::string base = base_with(imperfections);
  const auto study =
      read_study("name: small\nscenario: {" + base + "}\naxes: {pipeline.microbatches: [8]}\n",
                 "s.yaml", context);
  EXPECT_TRUE(study) << render(study.error());
  Both result{Evaluator(*study, context).evaluate(0, tier), 0};
  const auto scenario = read_scenario("{" + base + "}\n", "s.yaml", context);
  EXPECT_TRUE(scenario) << render(scenario.error());
  const auto run =
      simulate(*scenario, context, tier == Tier::Screening ? Engine::LongestPath : Engine::Simgrid);
  if (run) result.run_s = run->summary.step_s;
  return result;
}

TEST(ImperfectStudy, SlowRanksDevicesAndLinksCountAsInARun) {
  const double even_s = both("{}", Tier::Screening).run_s;
  for (const char* imperfections :
       {"{slow_ranks: [{rank: 3, factor: 1.5}]}", "{slow_devices: [{device: 2, factor: 1.2}]}",
        "{degraded_links: [{link: n0.d0 nvlink up, factor: 0.01}]}"})
    for (const Tier tier : {Tier::Screening, Tier::Simgrid}) {
      const Both found = both(imperfections, tier);
      EXPECT_EQ(found.row.state, RowState::Evaluated) << found.row.reason;
      EXPECT_DOUBLE_EQ(found.row.figures.step_s, found.run_s) << imperfections;
      EXPECT_GT(found.run_s, 1.01 * even_s) << imperfections;
    }
}

TEST(ImperfectStudy, ABrokenLinkRefusesWhatNeedsIt) {
  const Both found =
      both("{degraded_links: [{link: n0.d0 nvlink up, factor: 0}]}", Tier::Screening);
  EXPECT_EQ(found.run_s, 0);
  EXPECT_NE(found.row.state, RowState::Evaluated);
  EXPECT_NE(found.row.reason.find("broken link 'n0.d0 nvlink up'"), std::string::npos)
      << found.row.reason;
}

/// Of `run` on the same scenario.
FinishedRun run_with(const std::string& imperfections) {
  const auto schedules = builtin_schedules();
  const auto kinds = builtin_platform_kinds();
  const ReadContext context{schedules, kinds, {}};
  const auto scenario = read_scenario("{" + base_with(imperfections) + "}\n", "s.yaml", context);
  return simulate(scenario.value(), context, Engine::Simgrid).value();
}

TEST(ImperfectRun, TellsWhatTheStepWouldBeWithout) {
  const double even_s = run_with("{}").summary.makespan_s;
  const FinishedRun slow = run_with("{slow_devices: [{device: 3, factor: 1.1}]}");
  EXPECT_DOUBLE_EQ(slow.delays->ordinary_s, even_s);
  EXPECT_DOUBLE_EQ(slow.delays->step_s, slow.summary.makespan_s);
  // The last rank hardly ever waits in 1F1B: its blame is the delay, but for the messages that the
  // ordinary step waits for.
  const double delay_s = slow.delays->step_s - even_s;
  EXPECT_GE(slow.delays->blame_s[3], delay_s - 1e-9);
  EXPECT_LT(slow.delays->blame_s[3], 1.05 * delay_s);
  EXPECT_TRUE(slow.delays->links.empty());
}

TEST(ImperfectRun, BlamesADegradedLink) {
  const FinishedRun slow = run_with("{degraded_links: [{link: n0.d0 nvlink up, factor: 0.01}]}");
  ASSERT_EQ(slow.delays->links.size(), 1u);
  EXPECT_EQ(slow.delays->links[0].link, "n0.d0 nvlink up");
  EXPECT_GT(slow.delays->links[0].seconds, 0);
  EXPECT_GT(slow.delays->step_s, slow.delays->ordinary_s);
}

}  // namespace
}  // namespace pipecast
