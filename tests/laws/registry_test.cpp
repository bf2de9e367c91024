#include <gtest/gtest.h>

#include <set>

#include "tests/support/golden_orders.hpp"
#include "tests/support/law.hpp"
#include "tests/support/registry_cases.hpp"

/// Laws that every registered schedule obeys. A schedule is tested here the moment it has a row.
namespace pipecast::testing {
namespace {

std::string text(const RegistryCase& registered, const Shape& shape) {
  return registered.label + " on " + std::to_string(shape.ranks) + " ranks, " +
         std::to_string(shape.chunks) + " chunks, " + std::to_string(shape.microbatches) +
         " microbatches";
}

/// Costs whose sums and multiples by powers of two are exact.
StageCost random_cost() {
  const auto seconds = [](int least) { return Seconds{*rc::gen::inRange(least, 40) / 4.0}; };
  return {seconds(1), seconds(1), seconds(0)};
}

Workload random_workload(const Shape& shape) {
  Workload workload = uniform_workload(shape, {{1.0}, {1.0}, {1.0}});
  for (StageCost& cost : workload.costs) cost = random_cost();
  return workload;
}

/// Longest chain of dependent operations of one microbatch, or of its largest cut: all forwards,
/// then all backwards.
double longest_chain_s(const Workload& workload, const Program& program) {
  double chain = 0;
  for (const StageCost& cost : workload.costs)
    chain += cost.forward.value + (has_backward(program) ? cost.backward_input.value : 0);
  const std::vector<double>& shares = program.cuts.seconds;
  return shares.empty() ? chain : chain * *std::max_element(shares.begin(), shares.end());
}

TEST(RegistryLaws, NamesAreUniqueAndDescribed) {
  std::set<std::string_view> names;
  for (const ScheduleInfo& schedule : builtin_schedules()) {
    EXPECT_TRUE(names.insert(schedule.name).second) << schedule.name;
    EXPECT_FALSE(schedule.summary.empty()) << schedule.name;
    EXPECT_FALSE(schedule.provenance.empty()) << schedule.name;
    EXPECT_GE(schedule.default_chunks, 1) << schedule.name;
  }
}

/// Which rank holds a stage is known before anything is generated or searched.
TEST(RegistryLaws, PlacementsAreTheProgramsOwn) {
  const auto schedules = builtin_schedules();
  for (const RegistryCase& registered : registry_cases(schedules))
    for (const Shape& shape : accepted_shapes(registered, {4, 3, 6})) {
      const Workload workload = uniform_workload(shape, {{1.0}, {1.0}, {1.0}});
      const ScheduleRequest request{shape, registered.params, workload};
      const auto program = make_program(*registered.schedule, request);
      ASSERT_TRUE(program) << text(registered, shape);
      EXPECT_EQ(placement_of(*registered.schedule, request).rank_of, program->placement.rank_of)
          << text(registered, shape);
    }
}

/// check(Program) is part of make_program; here also: no deadlock, never below the busiest rank,
/// never an activation released before it was there, none left, gradients as announced.
TEST(RegistryLaws, EverySmallShapeIsCompleteAndFinishes) {
  const auto schedules = builtin_schedules();
  for (const RegistryCase& registered : registry_cases(schedules)) {
    const auto shapes = accepted_shapes(registered, {6, 4, 9});
    EXPECT_FALSE(shapes.empty()) << registered.label;
    for (const Shape& shape : shapes) {
      const Workload workload = uniform_workload(shape, {{1.0}, {1.0}, {1.0}});
      const auto program = make_program(*registered.schedule, {shape, registered.params, workload});
      ASSERT_TRUE(program) << text(registered, shape) << "\n" << render(program.error());
      const int units = shape.microbatches * program->cuts.count() * program->steps;
      EXPECT_EQ(program->shape, (Shape{shape.ranks, shape.chunks, units}))
          << text(registered, shape);
      EXPECT_EQ(has_backward(*program), registered.schedule->backward != BackwardKind::None);
      const auto run = simulated(*program, workload);
      ASSERT_TRUE(run) << text(registered, shape) << "\n" << render(run.error());
      EXPECT_GE(run->makespan_s, run->busiest_s) << text(registered, shape);
      if (shape.ranks == 1) {
        EXPECT_NEAR(run->makespan_s, run->work_s, 1e-9) << text(registered, shape) << ": a bubble";
      }
    }
  }
}

/// A registered schedule on a shape it accepts, drawn at random.
struct Drawn {
  const RegistryCase* registered;
  Shape shape;
  Workload workload;
  Program program;
};

Drawn draw(const std::vector<RegistryCase>& cases) {
  const RegistryCase& registered = cases[*rc::gen::inRange<std::size_t>(0, cases.size())];
  const Shape shape{*rc::gen::inRange(1, 9), *rc::gen::inRange(1, 5), *rc::gen::inRange(1, 25)};
  const Workload workload = random_workload(shape);
  const ScheduleRequest request{shape, registered.params, workload};
  RC_PRE(registered.schedule->check(request).empty());
  const auto program = make_program(*registered.schedule, request);
  RC_ASSERT(program.has_value());
  return {&registered, shape, workload, *program};
}

TEST(RegistryLaws, MakespanIsAtLeastWorkAndChain) {
  const auto schedules = builtin_schedules();
  const auto cases = registry_cases(schedules);
  expect_law(
      "makespan ≥ busiest rank and ≥ the dependent chain of a microbatch",
      [&] {
        const Drawn drawn = draw(cases);
        const auto run = simulated(drawn.program, drawn.workload, {*rc::gen::inRange(0, 8) / 4.0});
        RC_ASSERT(run.has_value());
        RC_ASSERT(run->makespan_s >= run->busiest_s);
        RC_ASSERT(run->makespan_s >= (1 - 1e-12) * longest_chain_s(drawn.workload, drawn.program));
      },
      400);
}

TEST(RegistryLaws, ScalingEveryDurationScalesTheMakespan) {
  const auto schedules = builtin_schedules();
  const auto cases = registry_cases(schedules);
  expect_law(
      "twice the durations and delays, twice the makespan, with the same program",
      [&] {
        const Drawn drawn = draw(cases);
        Workload scaled = drawn.workload;
        for (StageCost& cost : scaled.costs)
          cost = {cost.forward * 2, cost.backward_input * 2, cost.backward_weight * 2};
        const double delay = *rc::gen::inRange(0, 8) / 4.0;
        const auto once = simulated(drawn.program, drawn.workload, {delay});
        const auto twice = simulated(drawn.program, scaled, {2 * delay});
        RC_ASSERT(once.has_value() && twice.has_value());
        RC_ASSERT(twice->makespan_s == 2 * once->makespan_s);
      },
      200);
}

TEST(RegistryLaws, FasterLinksNeverHurt) {
  const auto schedules = builtin_schedules();
  const auto cases = registry_cases(schedules);
  expect_law(
      "a smaller delay per message never makes a step longer",
      [&] {
        const Drawn drawn = draw(cases);
        const double delay = *rc::gen::inRange(1, 12) / 4.0;
        const auto slow = simulated(drawn.program, drawn.workload, {delay});
        const auto fast = simulated(drawn.program, drawn.workload, {delay / 2});
        RC_ASSERT(slow.has_value() && fast.has_value());
        RC_ASSERT(fast->makespan_s <= slow->makespan_s);
      },
      200);
}

TEST(RegistryLaws, ActivationsAreReleasedAfterTheyAreHeldAndNoneIsLeft) {
  const auto schedules = builtin_schedules();
  const auto cases = registry_cases(schedules);
  expect_law(
      "on every rank, along its line: forwards − releases ≥ 0, and 0 at the end",
      [&] {
        const Drawn drawn = draw(cases);
        RC_PRE(has_backward(drawn.program));
        for (const std::vector<Op>& ops : drawn.program.ranks) {
          int alive = 0;
          for (const Op& op : ops) {
            alive += is_forward(op.kind) ? 1 : 0;
            alive -= op.kind == OpKind::BackwardFull || op.kind == OpKind::BackwardWeight ? 1 : 0;
            RC_ASSERT(alive >= 0);
          }
          RC_ASSERT(alive == 0);
        }
      },
      200);
}

TEST(RegistryLaws, TheSameRequestGivesTheSameProgram) {
  const auto schedules = builtin_schedules();
  const auto cases = registry_cases(schedules);
  expect_law("generation is a function of the request", [&] {
    const Drawn drawn = draw(cases);
    const auto again = make_program(*drawn.registered->schedule,
                                    {drawn.shape, drawn.registered->params, drawn.workload});
    RC_ASSERT(again.has_value() && *again == drawn.program);
  });
}

}  // namespace
}  // namespace pipecast::testing
