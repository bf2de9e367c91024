#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/support/optimal_order.hpp"
#include "tests/support/simulated.hpp"

namespace pipecast::testing {

/// A schedule with its parameters on a workload.
struct Request {
  ScheduleInfo schedule;
  Shape shape;
  FieldValues params;
  Workload workload;
  Seconds transfer;

  ScheduleRequest request() const { return {shape, params, workload, transfer}; }
  Program program() const { return make_program(schedule, request()).value(); }
};

inline Request request_of(const std::string& name, const Shape& shape, const Texts& params,
                          Workload workload, Seconds transfer) {
  const auto schedules = builtin_schedules();
  const ScheduleInfo& schedule = *find_schedule(schedules, name);
  return {schedule, shape, parse_fields(schedule.fields, params).value(), std::move(workload),
          transfer};
}

inline SmallProblem small(int ranks, int microbatches, std::array<int, 3> cost, int transfer,
                          int limit) {
  return {ranks, microbatches,
          std::vector<std::array<int, 3>>(static_cast<std::size_t>(ranks), cost), transfer, limit};
}

/// The schedule's objective is the optimum that enumeration finds. Enumeration is asked for one
/// more than ours, so it must reach ours too.
inline void expect_optimal(const SmallProblem& problem, const std::string& objective) {
  const Shape shape{problem.ranks, 1, problem.microbatches};
  Workload workload = uniform_workload(shape, {{1}, {1}, {1}});
  for (std::size_t rank = 0; rank < problem.costs.size(); ++rank) {
    const auto& [f, i, w] = problem.costs[rank];
    workload.costs[rank] = {{1.0 * f}, {1.0 * i}, {1.0 * w}};
  }
  const Seconds transfer{1.0 * problem.transfer};
  const Request request = request_of("zb-auto", shape,
                                     {{"memory_limit", std::to_string(problem.limit)},
                                      {"objective", objective},
                                      {"moves", "40000"}},
                                     workload, transfer);
  const auto run = simulated(request.program(), workload, transfer);
  const bool spans = objective == "span";
  const int ours = static_cast<int>(std::lround(spans ? run->max_rank_span_s : run->makespan_s));
  EXPECT_EQ(ours, optimum(problem, spans ? Goal::LargestSpan : Goal::Makespan, ours + 1))
      << problem.ranks << " ranks, " << problem.microbatches << " microbatches, costs "
      << problem.costs[0][0] << "," << problem.costs[0][1] << "," << problem.costs[0][2]
      << ", transfer " << problem.transfer << ", limit " << problem.limit << ", " << objective;
}

/// On 1 to 3 ranks, 1 to 4 microbatches, every limit that matters and both objectives.
inline void expect_optimal_everywhere(std::array<int, 3> cost, const std::vector<int>& transfers) {
  for (int ranks = 1; ranks <= 3; ++ranks)
    for (int microbatches = 1; microbatches <= 4; ++microbatches)
      for (const int transfer : transfers)
        for (int limit = 1; limit <= std::min(microbatches, 2 * ranks); ++limit)
          for (const char* objective : {"span", "makespan"})
            expect_optimal(small(ranks, microbatches, cost, transfer, limit), objective);
}

}  // namespace pipecast::testing
