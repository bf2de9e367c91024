#include "sim/report/memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/support/law_run.hpp"

namespace pipecast::testing {
namespace {

/// Different whole bytes and seconds per stage, so that a stage mistaken for another shows.
Workload uneven_workload(const Shape& shape) {
  Workload workload = uniform_workload(shape, {});
  for (int stage = 0; stage < workload.stages; ++stage) {
    const double step = stage % 3;
    workload.costs[static_cast<std::size_t>(stage)] = {{2 + step}, {3}, {1 + step}};
    workload.bytes[static_cast<std::size_t>(stage)] = {
        {100.0 + 7 * stage}, {30.0 + stage}, {8}, {4}, {1000.0 + stage}, {2000}, {3000}};
  }
  return workload;
}

LawRun run_uneven(const Program& program) {
  return run_program(program, uneven_workload(program.shape),
                     constant_delay_platform(program.shape.ranks, {0.5}));
}

/// Bytes that one (stage, microbatch) holds on a rank from one time to another.
struct Held {
  double from_s = 0;
  double to_s = 0;
  double bytes = 0;
  int count = 0;  ///< 1 for the stretch that begins with the forward and ends with B or W
};

/// A lent activation is held at home until it has arrived at its host and again from the moment it
/// sets out for home, by the host from setting out to arriving back.
void add_exchanges(const LawRun& run, std::vector<std::vector<Held>>& held) {
  std::map<std::pair<int, int>, const Interval*> evicted;
  for (std::size_t id = 0; id < run.graph.tasks.size(); ++id) {
    const Task& task = run.graph.tasks[id];
    const Interval& interval = run.timeline.intervals[id];
    const auto key = std::pair{task.stage, task.microbatch};
    if (task.kind == OpKind::EvictActivation) evicted[key] = &interval;
    if (task.kind != OpKind::RestoreActivation) continue;
    const double bytes =
        run.workload.bytes[static_cast<std::size_t>(task.stage)].held_by_forward.value;
    const Interval& away = *evicted.at(key);
    held[static_cast<std::size_t>(task.rank)].push_back({away.start_s, interval.end_s, bytes, 1});
    held[static_cast<std::size_t>(task.peer)].push_back({away.end_s, interval.start_s, -bytes, -1});
  }
}

/// What each rank holds, written down per microbatch instead of swept: the oracle.
std::vector<std::vector<Held>> held_stretches(const LawRun& run) {
  std::vector<std::vector<Held>> held(run.program.ranks.size());
  std::map<std::pair<int, int>, double> forward_start;
  for (std::size_t id = 0; id < run.graph.tasks.size(); ++id) {
    const Task& task = run.graph.tasks[id];
    if (!is_work(task)) continue;
    const auto rank = static_cast<std::size_t>(task.rank);
    for (std::size_t i = 0; i < task.cell_ops; ++i) {
      const Op& op = run.program.ranks[rank][static_cast<std::size_t>(task.position) + i];
      const StageBytes& bytes = run.workload.bytes[op.stage.at()];
      const double rest = bytes.held_by_forward.value - bytes.released_by_backward_input.value;
      const auto key = std::pair{op.stage.value, op.microbatch.value};
      const double end_s = run.timeline.intervals[id].end_s;
      if (op.kind == OpKind::Forward) forward_start[key] = run.timeline.intervals[id].start_s;
      if (op.kind == OpKind::BackwardFull)
        held[rank].push_back({forward_start.at(key), end_s, bytes.held_by_forward.value, 1});
      if (op.kind == OpKind::BackwardInput)
        held[rank].push_back(
            {forward_start.at(key), end_s, bytes.released_by_backward_input.value, 0});
      if (op.kind == OpKind::BackwardWeight)
        held[rank].push_back({forward_start.at(key), end_s, rest, 1});
    }
  }
  if (!run.program.exchanges.empty()) add_exchanges(run, held);
  return held;
}

TEST(MemoryLaws, PeaksAreTheLargestSumOfWhatIsHeldAtOneInstant) {
  for_every_schedule({4, 2, 6}, [](const ScheduleInfo& schedule, const Program& program) {
    if (!has_backward(program)) return;
    const LawRun run = run_uneven(program);
    const auto held = held_stretches(run);
    for (std::size_t rank = 0; rank < held.size(); ++rank) {
      double most_bytes = 0;
      int most = 0;
      for (const Held& moment : held[rank]) {
        double bytes = 0;
        int count = 0;
        for (const Held& other : held[rank])
          if (other.from_s <= moment.from_s && moment.from_s < other.to_s) {
            bytes += other.bytes;
            count += other.count;
          }
        most_bytes = std::max(most_bytes, bytes);
        most = std::max(most, count);
      }
      const RankSummary& summary = run.summary.ranks[rank];
      ASSERT_EQ(summary.peak_activation.value, most_bytes)
          << describe(schedule, program.shape) << " rank " << rank;
      ASSERT_EQ(summary.peak_in_flight, most) << describe(schedule, program.shape);
      ASSERT_LE(summary.peak_in_flight_free_at_input, summary.peak_in_flight);
    }
  });
}

TEST(MemoryLaws, NeverNegativeAndZeroAtTheEnd) {
  for_every_schedule({4, 3, 6}, [](const ScheduleInfo& schedule, const Program& program) {
    const LawRun run = run_uneven(program);
    for (const auto& curves : {rank_curves(program, run.workload, run.graph.tasks, run.timeline),
                               stage_curves(program, run.workload, run.graph.tasks, run.timeline)})
      for (const MemoryCurve& curve : curves) {
        for (std::size_t i = 1; i < curve.size(); ++i) {
          ASSERT_GE(curve[i].bytes, 0) << describe(schedule, program.shape);
          ASSERT_GE(curve[i].time_s, curve[i - 1].time_s) << describe(schedule, program.shape);
        }
        ASSERT_EQ(curve.back().bytes, 0) << describe(schedule, program.shape);
      }
  });
}

TEST(MemoryLaws, ARankHoldsWhatItsStagesHold) {
  for_every_schedule({4, 3, 5}, [](const ScheduleInfo& schedule, const Program& program) {
    if (!program.exchanges.empty()) return;  // a host holds what is of no stage of its own
    const LawRun run = run_uneven(program);
    std::vector<double> largest(program.ranks.size(), 0.0);
    std::vector<double> sum(program.ranks.size(), 0.0);
    for (const StageSummary& stage : run.summary.stages) {
      largest[stage.rank.at()] = std::max(largest[stage.rank.at()], stage.peak_activation.value);
      sum[stage.rank.at()] += stage.peak_activation.value;
    }
    for (const RankSummary& rank : run.summary.ranks) {
      ASSERT_GE(rank.peak_activation.value, largest[rank.rank.at()])
          << describe(schedule, program.shape);
      ASSERT_LE(rank.peak_activation.value, sum[rank.rank.at()])
          << describe(schedule, program.shape);
      ASSERT_EQ(rank.peak_memory, rank.static_memory + rank.peak_activation);
    }
  });
}

/// Equal stages, F = I = W, free transfers; in-flight counts of schedules.md §1.
void expect_in_flight(std::string_view name, const Shape& shape, int (*by_weight)(Shape, int),
                      int (*by_input)(Shape, int)) {
  const auto schedules = builtin_schedules();
  const ScheduleInfo* schedule = find_schedule(schedules, name);
  ASSERT_NE(schedule, nullptr) << name;
  Workload workload = uniform_workload(shape, {{1}, {1}, {1}});
  for (StageBytes& bytes : workload.bytes) bytes.held_by_forward = {16};
  const auto program = program_of(*schedule, shape, workload);
  ASSERT_TRUE(program) << describe(*schedule, shape);
  const LawRun run = run_program(*program, workload, constant_delay_platform(shape.ranks, {}));
  for (int rank = 0; rank < shape.ranks; ++rank) {
    const RankSummary& summary = run.summary.ranks[static_cast<std::size_t>(rank)];
    EXPECT_EQ(summary.peak_in_flight, by_weight(shape, rank))
        << describe(*schedule, shape) << " rank " << rank;
    EXPECT_EQ(summary.peak_in_flight_free_at_input, by_input(shape, rank))
        << describe(*schedule, shape) << " rank " << rank;
    EXPECT_EQ(summary.peak_activation.value, 16 * by_weight(shape, rank));
  }
}

TEST(MemoryTheorems, GpipeHoldsEveryMicrobatch) {
  const auto peak = [](Shape shape, int) { return shape.microbatches; };
  for (int ranks = 1; ranks <= 8; ++ranks)
    for (int microbatches : {1, 2, 5, 8, 17})
      expect_in_flight("gpipe", {ranks, 1, microbatches}, peak, peak);
}

TEST(MemoryTheorems, OneFOneBHoldsAtMostTheRanksBehind) {
  const auto peak = [](Shape shape, int rank) {
    return std::min(shape.microbatches, shape.ranks - rank);
  };
  for (int ranks = 1; ranks <= 8; ++ranks)
    for (int microbatches : {1, 2, 5, 8, 17})
      expect_in_flight("1f1b", {ranks, 1, microbatches}, peak, peak);
}

TEST(MemoryTheorems, InterleavedHoldsItsWarmUpAndOneMore) {
  const auto peak = [](Shape shape, int rank) {
    return std::min(shape.microbatches * shape.chunks,
                    (shape.chunks - 1) * shape.ranks + 2 * (shape.ranks - 1 - rank) + 1);
  };
  for (int ranks = 2; ranks <= 8; ++ranks)
    for (int chunks = 2; chunks <= 4; ++chunks)
      for (int rounds = 1; rounds <= 3; ++rounds)
        expect_in_flight("interleaved-1f1b", {ranks, chunks, ranks * rounds}, peak, peak);
}

TEST(MemoryTheorems, ZeroBubbleH1HoldsAsMuchAsRankZeroOf1F1B) {
  const auto by_weight = [](Shape shape, int) { return shape.ranks; };
  const auto by_input = [](Shape shape, int rank) { return shape.ranks - rank; };
  for (int ranks = 1; ranks <= 8; ++ranks)
    for (int rounds = 1; rounds <= 3; ++rounds)
      expect_in_flight("zb-h1", {ranks, 1, ranks * rounds}, by_weight, by_input);
}

}  // namespace
}  // namespace pipecast::testing
