// Theorems of zb-auto and zb-v-auto: the limit holds at every moment, nothing beats the bound,
// never worse than the fixed schedules, and the true optimum on small problems.
#include <gtest/gtest.h>

#include <cmath>
#include <ctime>

#include "tests/support/law.hpp"
#include "tests/support/searched.hpp"
#include "tests/support/zb_auto_cases.hpp"

namespace pipecast::testing {
namespace {

Seconds drawn_seconds(int least) { return {*rc::gen::inRange(least, 20) / 4.0}; }

Workload drawn_workload(const Shape& shape) {
  Workload workload = uniform_workload(shape, {{1.0}, {1.0}, {1.0}});
  if (*rc::gen::arbitrary<bool>())
    workload.costs.resize(workload.costs.size() * static_cast<std::size_t>(shape.microbatches));
  for (StageCost& cost : workload.costs)
    cost = {drawn_seconds(1), drawn_seconds(1), drawn_seconds(0)};
  if (*rc::gen::arbitrary<bool>())
    for (StageBytes& bytes : workload.bytes) {
      bytes.held_by_forward = {static_cast<double>(*rc::gen::inRange(1, 100))};
      bytes.released_by_backward_input = {
          std::floor(bytes.held_by_forward.value * *rc::gen::inRange(0, 11) / 10)};
    }
  workload.overheads = {drawn_seconds(0), drawn_seconds(0), drawn_seconds(0)};
  return workload;
}

Request drawn_request() {
  const int chunks = *rc::gen::inRange(1, 3);
  const Shape shape{*rc::gen::inRange(1, 7), chunks, *rc::gen::inRange(1, 13)};
  const Texts params = {
      {"memory_limit", std::to_string(*rc::gen::inRange(2 * chunks, 5 * shape.ranks + 2)) + ".5"},
      {"objective", *rc::gen::arbitrary<bool>() ? "span" : "makespan"},
      {"moves", std::to_string(*rc::gen::inRange(1, 2000))}};
  return request_of(chunks == 1 ? "zb-auto" : "zb-v-auto", shape, params, drawn_workload(shape),
                    drawn_seconds(0));
}

TEST(ZbAutoLaws, TheLimitHoldsAtEveryMoment) {
  expect_law(
      "alive ≤ memory_limit × the rank's largest activation, after every operation",
      [] {
        const Request drawn = drawn_request();
        RC_PRE(drawn.schedule.check(drawn.request()).empty());
        const Program program = drawn.program();
        const double limit = std::get<double>(drawn.params.at("memory_limit"));
        const bool measured = drawn.workload.bytes.front().held_by_forward.value > 0;
        for (std::size_t rank = 0; rank < program.ranks.size(); ++rank) {
          if (!measured) {
            RC_ASSERT(peak_activations(program, rank) <= limit);
            continue;
          }
          double largest = 0;
          for (const Op& op : program.ranks[rank])
            largest = std::max(largest, drawn.workload.bytes[op.stage.at()].held_by_forward.value);
          RC_ASSERT(peak_activation_bytes(program, drawn.workload, rank) <= limit * largest + 1e-6);
        }
      },
      150);
}

TEST(ZbAutoLaws, NothingBeatsTheBound) {
  expect_law(
      "the objective of the found order is at least the lower bound",
      [] {
        const Request drawn = drawn_request();
        RC_PRE(drawn.schedule.check(drawn.request()).empty());
        const auto run = simulated(drawn.program(), drawn.workload, drawn.transfer);
        RC_ASSERT(run.has_value());
        const TimeBound bound = drawn.schedule.lower_bound(drawn.request());
        const double reached =
            bound.of == TimeBound::Of::Makespan ? run->makespan_s : run->max_rank_span_s;
        RC_ASSERT(reached >= bound.at_least.value - 1e-9);
      },
      150);
}

/// span ≥ m(F+I+W) + max(0, (P−1)(I+2c) + (P−k)F) when that exceeds the turns memory forces.
TEST(ZbAutoLaws, TheBoundOfEqualStagesIsTheFormula) {
  const double f = 3, i = 4, w = 2, c = 0.5;
  for (const int ranks : {2, 4, 8})
    for (int k = ranks; k <= 3 * ranks; ++k) {
      const Shape shape{ranks, 1, 4 * ranks};
      const Request request = request_of("zb-auto", shape, {{"memory_limit", std::to_string(k)}},
                                         uniform_workload(shape, {{f}, {i}, {w}}), {c});
      const double gap = (ranks - 1) * (i + 2 * c) + (ranks - k) * f;
      EXPECT_NEAR(request.schedule.lower_bound(request.request()).at_least.value,
                  shape.microbatches * (f + i + w) + std::max(0.0, gap), 1e-9)
          << ranks << " ranks, limit " << k;
    }
}

TEST(ZbAutoLaws, TheSameMovesGiveTheSameOrder) {
  const Shape shape{4, 1, 12};
  const auto make = [&](const Texts& params) {
    return request_of("zb-auto", shape, params, uniform_workload(shape, {{10}, {11}, {7}}), {0.5})
        .program();
  };
  EXPECT_EQ(make({{"moves", "20000"}}), make({{"moves", "20000"}}));
  EXPECT_EQ(make({{"search_seconds", "10 ms"}}), make({{"moves", "14400"}}))
      << "a second is 10000 moves for each of 144 operations";
}

/// Largest span of a schedule that plans with the same transfer.
double span_of(const std::string& name, const Shape& shape, const Texts& params,
               const Workload& planned, const Workload& real, Seconds transfer) {
  const Request request = request_of(name, shape, params, planned, transfer);
  return simulated(request.program(), real, transfer)->max_rank_span_s;
}

/// Uneven stages: an embedding, a head, a slow stage in the middle.
TEST(ZbAutoLaws, UnevenStagesAreNeverWorseThanTheOrdersOfEvenOnes) {
  const Shape shape{8, 1, 24};
  const Texts budget = {{"moves", "20000"}, {"memory_limit", "8"}};
  for (const std::size_t slow : {0U, 3U, 7U})
    for (const double factor : {0.6, 1.3, 2.0}) {
      Workload uneven = uniform_workload(shape, {{30}, {29}, {20}});
      StageCost& cost = uneven.costs[slow];
      cost = {cost.forward * factor, cost.backward_input * factor, cost.backward_weight * factor};
      StageCost mean{};
      for (const StageCost& stage : uneven.costs)
        mean = {mean.forward + stage.forward / 8, mean.backward_input + stage.backward_input / 8,
                mean.backward_weight + stage.backward_weight / 8};
      const double ours = span_of("zb-auto", shape, budget, uneven, uneven, {0.5});
      EXPECT_LE(ours, span_of("zb-h1", shape, {}, uneven, uneven, {0.5}));
      EXPECT_LE(ours,
                span_of("zb-auto", shape, budget, uniform_workload(shape, mean), uneven, {0.5}))
          << "stage " << slow << " times " << factor;
    }
}

TEST(ZbAutoLaws, TheVIsNeverWorseThanTheFixedSchedulesThatFit) {
  const Shape shape{8, 2, 24};
  const Workload workload = uniform_workload(shape, {{1}, {1}, {1}});
  for (const auto& [fixed, limit] : {std::pair{"v-min", "8"}, {"v-half", "10"}, {"zbv", "16"}})
    EXPECT_LE(span_of("zb-v-auto", shape, {{"search_seconds", "0 s"}, {"memory_limit", limit}},
                      workload, workload, {}),
              span_of(fixed, shape, {}, workload, workload, {}))
        << fixed;
}

/// V-Min needs 27 units beside its work here; an exhaustive search of the same limit found 23.
TEST(ZbAutoLaws, TheVAtTheMemoryOfVMinComesWithinOneOfTheOptimum) {
  const Shape shape{8, 2, 16};
  const Workload workload = uniform_workload(shape, {{1}, {1}, {1}});
  EXPECT_LE(span_of("zb-v-auto", shape, {{"search_seconds", "4 s"}, {"memory_limit", "8"}},
                    workload, workload, {}),
            96 + 24);
}

/// CPU time, so that a busy machine does not count.
TEST(ZbAutoLaws, WithoutSearchLargeStepsAreConstructedQuickly) {
  for (const auto& [shape, most_s] :
       {std::pair{Shape{32, 1, 256}, 0.5}, {Shape{64, 1, 512}, 2.0}}) {
    const std::clock_t before = std::clock();
    request_of("zb-auto", shape, {{"search_seconds", "0 s"}},
               uniform_workload(shape, {{10402e-6}, {10248e-6}, {7698e-6}}), {460e-6})
        .program();
    const double used_s = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
#ifndef __SANITIZE_ADDRESS__
    EXPECT_LT(used_s, most_s) << shape.ranks << " ranks";
#endif
  }
}

std::string faults_of(const std::string& name, const Shape& shape, const Texts& params) {
  const Request request =
      request_of(name, shape, params, uniform_workload(shape, {{1}, {1}, {1}}), {});
  return render(request.schedule.check(request.request()));
}

TEST(ZbAutoLaws, SaysWhatIsWrong) {
  EXPECT_NE(faults_of("zb-auto", {4, 1, 8}, {{"memory_limit", "0.5"}})
                .find("the memory limit on rank 0 is 0 activations, one microbatch needs 1"),
            std::string::npos);
  EXPECT_NE(faults_of("zb-v-auto", {4, 2, 8}, {{"memory_limit", "1"}})
                .find("one microbatch needs 2 activations"),
            std::string::npos);
  EXPECT_NE(faults_of("zb-auto", {4, 1, 8}, {{"memory_limit_bytes", "1 GiB"}})
                .find("the workload has no activation bytes"),
            std::string::npos);
  EXPECT_NE(faults_of("zb-v-auto", {4, 1, 8}, {}).find("set chunks to 2"), std::string::npos);
  EXPECT_NE(faults_of("zb-auto", {4096, 1, 1024}, {}).find("searches at most 2000000"),
            std::string::npos);
}

/// All costs up to three are in laws/slow.
TEST(ZbAutoLaws, SmallProblemsAreSolvedToTheOptimum) {
  for (const std::array<int, 3> cost : {std::array{1, 1, 1}, {2, 3, 1}, {1, 2, 2}, {3, 2, 4}})
    expect_optimal_everywhere(cost, {0, 1});
}

TEST(ZbAutoLaws, SmallUnevenProblemsAreSolvedToTheOptimum) {
  for (const int limit : {2, 3})
    for (std::size_t slow = 0; slow < 3; ++slow) {
      SmallProblem problem = small(3, 4, {1, 2, 1}, 0, limit);
      problem.costs[slow] = {3, 3, 2};
      expect_optimal(problem, "span");
      expect_optimal(problem, "makespan");
    }
}

}  // namespace
}  // namespace pipecast::testing
