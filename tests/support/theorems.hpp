#pragma once
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "tests/support/golden_orders.hpp"
#include "tests/support/simulated.hpp"

/// What tests of a schedule's closed forms share.
namespace pipecast::testing {

inline constexpr StageCost kUnit = {{1}, {1}, {1}};
inline constexpr StageCost kSlowGradient = {{2}, {3}, {1}};
inline constexpr StageCost kSlowWeight = {{3}, {2}, {4}};
inline constexpr StageCost kNoWeight = {{1}, {2}, {0}};
inline constexpr StageCost kEqualHalves = {{1}, {1}, {0}};  ///< F = B

/// F + I + W.
inline double pass_s(const StageCost& cost) {
  return (cost.forward + cost.backward_input + cost.backward_weight).value;
}

inline std::string text(const Shape& shape) {
  return "P=" + std::to_string(shape.ranks) + " v=" + std::to_string(shape.chunks) +
         " m=" + std::to_string(shape.microbatches);
}

inline Program made(std::string_view name, const Shape& shape, const Texts& params = {}) {
  const auto program = scheduled(name, shape, params);
  EXPECT_TRUE(program) << name << " " << text(shape) << "\n" << render(program.error());
  return program ? *program : Program{};
}

/// Makespan beyond the work of a rank, free transfers.
inline double extra_s(const Program& program, const StageCost& cost) {
  const auto run = simulated(program, cost);
  EXPECT_TRUE(run) << render(run.error());
  return run ? run->makespan_s - run->busiest_s : -1;
}

/// Largest span of a rank beyond its work, free transfers.
inline double extra_span_s(const Program& program, const StageCost& cost) {
  const auto run = simulated(program, cost);
  EXPECT_TRUE(run) << render(run.error());
  return run ? run->max_rank_span_s - run->busiest_s : -1;
}

inline int peak_of(const Program& program, int rank, ReleasedBy rule = ReleasedBy::Weight) {
  return peak_in_flight(program, rule)[static_cast<std::size_t>(rank)];
}

}  // namespace pipecast::testing
