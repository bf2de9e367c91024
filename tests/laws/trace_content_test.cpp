// What a Chrome trace says, for every registered schedule: bubbles with their cause, memory by
// component, links, and collectives on tracks of their own.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "platforms/platform_kind.hpp"
#include "sim/report/chrome_trace.hpp"
#include "sim/report/collective_stream.hpp"
#include "sim/study/simulate.hpp"
#include "tests/support/law_run.hpp"
#include "tests/unit/report/trace_validator.hpp"

namespace pipecast {
namespace {

using nlohmann::json;

/// A scenario whose messages and gradients share the cards of a cluster, under another schedule.
class TraceContent : public ::testing::Test {
 protected:
  static Result<FinishedRun> run(const ScheduleInfo& schedule, std::string_view chunks) {
    const std::vector<ScheduleInfo> schedules = builtin_schedules();
    const std::vector<PlatformKind> kinds = builtin_platform_kinds();
    const std::string root = PIPECAST_SOURCE_DIR;
    const ReadContext context{schedules, kinds, {root + "/platforms"}};
    const std::vector<Override> changes = {
        {"pipeline.schedule", std::string(schedule.name)},
        {"pipeline.chunks", std::string(chunks)},
        {"workload.costs", "{forward: 5 ms, backward_input: 6 ms, backward_weight: 4 ms}"},
        {"workload.activation", "{held_by_forward: 1 GB}"},
        {"workload.parameters", "2 GB"},
        {"workload.optimizer", "4 GB"}};
    const Result<Scenario> scenario = read_scenario_file(
        root + "/scenarios/gradients-and-messages-share-cards.yaml", context, changes);
    if (!scenario) return fail(scenario.error());
    return simulate(*scenario, context, Engine::LongestPath);
  }

  /// Every schedule that runs with one or with two chunks per rank.
  template <class Visit>
  static int for_each_run(Visit visit) {
    int schedules = 0;
    for (const ScheduleInfo& schedule : builtin_schedules()) {
      bool any = false;
      for (const std::string_view chunks : {"1", "2"}) {
        const Result<FinishedRun> finished = run(schedule, chunks);
        if (!finished) continue;
        std::ostringstream out;
        write_chrome_trace(finished->view(), out);
        SCOPED_TRACE(std::string(schedule.name) + ", chunks " + std::string(chunks));
        visit(*finished, json::parse(out.str()));
        any = true;
      }
      schedules += any ? 1 : 0;
    }
    return schedules;
  }
};

/// The idle slices of a rank are its idle time, cause by cause.
TEST_F(TraceContent, BubblesAreTheIdleTimeWithItsCause) {
  const std::set<std::string> reasons = {"warm-up", "steady", "cool-down", "gap",
                                         "waiting for transfer"};
  const int schedules = for_each_run([&](const FinishedRun& run, const json& trace) {
    std::map<int, double> idle_s, waiting_s;
    for (const json& event : trace["traceEvents"]) {
      if (event.value("cat", "") != "bubble") continue;
      EXPECT_TRUE(reasons.contains(event["name"])) << event;
      const std::string reason = event["args"]["reason"];
      EXPECT_TRUE(reason.starts_with(event["name"].get<std::string>())) << event;
      idle_s[event["pid"]] += event["dur"].get<double>() * 1e-6;
      if (event["name"] == "waiting for transfer")
        waiting_s[event["pid"]] += event["dur"].get<double>() * 1e-6;
    }
    for (const RankSummary& rank : run.summary.ranks) {
      const int process = rank.rank.value;
      EXPECT_NEAR(idle_s[process], run.summary.makespan_s - rank.busy_s, 1e-6) << process;
      EXPECT_NEAR(waiting_s[process], rank.waiting_for_transfer_s, 1e-6) << process;
    }
  });
  EXPECT_GT(schedules, 15);
}

/// The largest sum of a rank's memory counter is its peak, and every component has a series.
TEST_F(TraceContent, MemoryCountersHoldEveryComponentAndThePeak) {
  for_each_run([&](const FinishedRun& run, const json& trace) {
    std::map<int, double> peak;
    for (const json& event : trace["traceEvents"]) {
      if (event["ph"] != "C" || event["name"] != "memory") continue;
      double sum = 0;
      for (const char* part : {"params", "grads", "optimizer", "activations"})
        sum += event["args"].at(part).get<double>();
      peak[event["pid"]] = std::max(peak[event["pid"]], sum);
    }
    for (const RankSummary& rank : run.summary.ranks)
      EXPECT_NEAR(peak[rank.rank.value], rank.peak_memory.value, 1e-6 * rank.peak_memory.value);
  });
}

/// Utilization of a link times the step is the time it is busy.
TEST_F(TraceContent, LinkCountersAddUpToWhatTheLinkCarried) {
  for_each_run([&](const FinishedRun& run, const json& trace) {
    std::map<std::string, std::vector<std::pair<double, double>>> samples;
    for (const json& event : trace["traceEvents"])
      if (event["ph"] == "C" && event["args"].contains("utilization"))
        samples[event["name"]].push_back(
            {event["ts"].get<double>() * 1e-6, event["args"]["utilization"].get<double>()});
    ASSERT_FALSE(samples.empty());
    for (const LinkSummary& link : run.summary.links) {
      const Link& on = run.prepared.platform.links[link.link.at()];
      const auto found = samples.find(on.name);
      if (found == samples.end()) continue;
      double area_s = 0;
      for (std::size_t i = 0; i + 1 < found->second.size(); ++i)
        area_s += found->second[i].second * (found->second[i + 1].first - found->second[i].first);
      EXPECT_NEAR(area_s * on.bandwidth.value, link.bytes, 1e-3 * link.bytes) << on.name;
    }
  });
}

TEST_F(TraceContent, CollectivesHaveTracksOfTheirOwn) {
  for_each_run([&](const FinishedRun& run, const json& trace) {
    EXPECT_EQ(testing::TraceValidator(trace).faults(), std::vector<std::string>{});
    std::size_t collectives = 0, wanted = 0;
    for (const Task& task : run.prepared.graph.tasks) wanted += is_collective(task) ? 1 : 0;
    std::map<std::pair<int, int>, std::string> names;
    for (const json& event : trace["traceEvents"])
      if (event["name"] == "thread_name")
        names[{event["pid"], event["tid"]}] = event["args"]["name"];
    for (const json& event : trace["traceEvents"]) {
      if (event["ph"] != "X") continue;
      const std::string kind = event["args"].value("kind", "");
      const bool collective = kind == "REDUCE_GRAD" || kind == "UNSHARD" || kind == "OPTIMIZER";
      const std::string& track = names[std::pair<int, int>(event["pid"], event["tid"])];
      EXPECT_EQ(collective, track.starts_with("collectives")) << event;
      collectives += collective ? 1 : 0;
    }
    EXPECT_GT(wanted, 0u);
    EXPECT_EQ(collectives, wanted);
  });
}

}  // namespace
}  // namespace pipecast
