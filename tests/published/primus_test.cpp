// A real 8-GPU 1F1B pipeline (AMD Primus): replaying the measured duration of every operation
// predicts the measured iteration.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "schedules/schedule.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/run/longest_path.hpp"
#include "sim/run/simgrid_run.hpp"
#include "tests/support/csv_table.hpp"

namespace pipecast {
namespace {

constexpr int kRanks = 8;
constexpr int kMicrobatches = 16;

struct Iteration {
  std::map<std::pair<int, int>, Interval> forward;  ///< [rank, microbatch], seconds
  std::map<std::pair<int, int>, Interval> backward;
  double total_s = 0;  ///< the longest rank
};

std::map<int, Iteration> read_iterations() {
  std::map<int, Iteration> iterations;
  for (const test::CsvRow& row :
       test::read_csv_table(std::string(PIPECAST_TEST_DIR) + "/published/data/primus_pp8.csv")) {
    Iteration& iteration = iterations[row.integer("iteration")];
    const Interval interval{row.number("start_ms") * 1e-3, row.number("end_ms") * 1e-3};
    const std::pair key{row.integer("rank"), row.integer("microbatch")};
    if (row.text("kind") == "total")
      iteration.total_s = std::max(iteration.total_s, interval.end_s);
    if (row.text("kind") == "fwd") iteration.forward[key] = interval;
    if (row.text("kind") == "bwd") iteration.backward[key] = interval;
  }
  return iterations;
}

/// The link delay as the trace shows it: the median, over all messages, of the time from the end of
/// the producer to the begin of the consumer where the consumer's rank had nothing else to do, so
/// that the message was what it waited for.
double link_delay_s(const Iteration& iteration) {
  std::vector<double> lags;
  const auto rank_end_before = [&](int rank, double start) {
    double latest = 0;
    for (const auto* side : {&iteration.forward, &iteration.backward})
      for (const auto& [key, interval] : *side)
        if (key.first == rank && interval.end_s <= start) latest = std::max(latest, interval.end_s);
    return latest;
  };
  const auto add = [&](const Interval& producer, int rank, const Interval& consumer) {
    if (rank_end_before(rank, consumer.start_s) < producer.end_s)
      lags.push_back(consumer.start_s - producer.end_s);
  };
  for (int rank = 0; rank + 1 < kRanks; ++rank)
    for (int microbatch = 0; microbatch < kMicrobatches; ++microbatch) {
      add(iteration.forward.at({rank, microbatch}), rank + 1,
          iteration.forward.at({rank + 1, microbatch}));
      add(iteration.backward.at({rank + 1, microbatch}), rank,
          iteration.backward.at({rank, microbatch}));
    }
  std::sort(lags.begin(), lags.end());
  return lags.at(lags.size() / 2);
}

/// Durations per stage and microbatch; what a scenario's `costs: [[…], …]` holds.
Workload measured_workload(const Iteration& iteration) {
  const Shape shape{kRanks, 1, kMicrobatches};
  Workload workload = uniform_workload(shape, {});
  workload.backward_is_split = false;
  workload.microbatches = kMicrobatches;
  workload.costs.clear();
  const auto length = [](const Interval& interval) {
    return Seconds{interval.end_s - interval.start_s};
  };
  for (int rank = 0; rank < kRanks; ++rank)
    for (int microbatch = 0; microbatch < kMicrobatches; ++microbatch)
      workload.costs.push_back({length(iteration.forward.at({rank, microbatch})),
                                length(iteration.backward.at({rank, microbatch})),
                                {}});
  return workload;
}

TEST(PrimusTrace, ReplayPredictsTheIteration) {
  const std::vector<ScheduleInfo> schedules = builtin_schedules();
  const std::map<int, Iteration> iterations = read_iterations();
  ASSERT_EQ(iterations.size(), 4U);
  double total_error = 0;
  for (const auto& [number, iteration] : iterations) {
    const Workload workload = measured_workload(iteration);
    const auto program =
        make_program(*find_schedule(schedules, "1f1b"), {{kRanks, 1, kMicrobatches}, {}, workload});
    ASSERT_TRUE(program);
    const Platform platform = constant_delay_platform(kRanks, {link_delay_s(iteration)});
    std::vector<DeviceId> devices;
    for (int rank = 0; rank < kRanks; ++rank) devices.push_back({rank});
    const auto graph = build_task_graph(*program, workload, platform, devices);
    ASSERT_TRUE(graph);
    const auto simulated = simgrid_run(*graph, platform);
    ASSERT_TRUE(simulated);
    const double predicted_s = makespan(*simulated).value;
    EXPECT_NEAR(predicted_s, makespan(longest_path(*graph)).value, 1e-9 * predicted_s);
    const double error = std::abs(predicted_s / iteration.total_s - 1);
    RecordProperty("error_of_iteration_" + std::to_string(number), std::to_string(error));
    EXPECT_LE(error, 0.03) << "iteration " << number;
    total_error += error;
  }
  EXPECT_LE(total_error / 4, 0.01);
}

}  // namespace
}  // namespace pipecast
