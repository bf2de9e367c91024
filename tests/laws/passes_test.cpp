#include "schedules/passes.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/law.hpp"
#include "tests/support/registry_cases.hpp"
#include "tests/support/theorems.hpp"

/// Laws of the passes over every registered schedule.
namespace pipecast::testing {
namespace {

int largest_peak(const Program& program) {
  const auto peaks = peak_in_flight(program, ReleasedBy::Weight);
  return *std::max_element(peaks.begin(), peaks.end());
}

StageCost random_cost() {
  const auto seconds = [] { return Seconds{*rc::gen::inRange(1, 40) / 4.0}; };
  return {seconds(), seconds(), seconds()};
}

/// A registered schedule with a backward on a random shape.
Program draw(const std::vector<RegistryCase>& cases) {
  const RegistryCase& registered = cases[*rc::gen::inRange<std::size_t>(0, cases.size())];
  const Shape shape{*rc::gen::inRange(1, 7), *rc::gen::inRange(1, 5), *rc::gen::inRange(1, 17)};
  const Workload workload = uniform_workload(shape, kUnit);
  const ScheduleRequest request{shape, registered.params, workload};
  RC_PRE(registered.schedule->backward != BackwardKind::None);
  RC_PRE(registered.schedule->check(request).empty());
  const auto program = make_program(*registered.schedule, request);
  RC_ASSERT(program.has_value());
  return *program;
}

ActivationLimit activations(int amount) {
  return {ActivationLimit::Unit::Activations, static_cast<double>(amount)};
}

TEST(PassLaws, SplittingAndMergingAreInverse) {
  const auto schedules = builtin_schedules();
  const auto cases = registry_cases(schedules);
  expect_law(
      "merge(split(p)) = merge(p); split(merge(split(p))) = split(p); both stay valid",
      [&] {
        const Program program = draw(cases);
        const Program split = split_backward(program);
        RC_ASSERT(check(split).empty() && check(merge_backward(program)).empty());
        RC_ASSERT(merge_backward(split) == merge_backward(program));
        RC_ASSERT(split_backward(merge_backward(split)) == split);
      },
      200);
}

/// Without anything to hide behind, a whole backward and its halves are the same work at the same
/// place, but the gradient leaves earlier.
TEST(PassLaws, SplittingNeverLengthensAStep) {
  const auto schedules = builtin_schedules();
  const auto cases = registry_cases(schedules);
  expect_law(
      "makespan(split(p)) ≤ makespan(p), the same work",
      [&] {
        const Program program = draw(cases);
        const StageCost cost = random_cost();
        const auto whole = simulated(program, cost);
        const auto split = simulated(split_backward(program), cost);
        RC_ASSERT(whole.has_value() && split.has_value());
        RC_ASSERT(split->makespan_s <= whole->makespan_s + 1e-9);
        RC_ASSERT(std::abs(split->work_s - whole->work_s) < 1e-9);
      },
      200);
}

TEST(PassLaws, DelayedWeightGradientsKeepTheLimitAndNeverLengthenAStep) {
  const auto schedules = builtin_schedules();
  const auto cases = registry_cases(schedules);
  expect_law(
      "delay(split(p), peak of split(p)): valid, within the limit, not longer",
      [&] {
        const Program program = split_backward(draw(cases));
        const int limit = largest_peak(program) + *rc::gen::inRange(0, 4);
        const StageCost cost = random_cost();
        const double delay = *rc::gen::inRange(0, 8) / 4.0;
        const Shape stages{program.placement.stages, 1, program.shape.microbatches};
        const auto improved = delay_weight_gradient(program, uniform_workload(stages, cost),
                                                    {delay}, activations(limit));
        RC_ASSERT(improved.has_value());
        RC_ASSERT(check(*improved).empty());
        RC_ASSERT(largest_peak(*improved) <= limit);
        const auto before = simulated(program, cost, {delay});
        const auto after = simulated(*improved, cost, {delay});
        RC_ASSERT(before.has_value() && after.has_value());
        RC_ASSERT(after->makespan_s <= before->makespan_s + 1e-9);
      },
      400);
}

/// Splitting 1F1B and delaying its weight gradients within its own memory gives the bubble of
/// ZB-H1, (P−1)(F+I−W), for F = I = W and for (2, 3, 1); without delaying it stays at (P−1)(F+I).
TEST(DelayTheorem, TurnsOneFOneBIntoZbH1) {
  for (int ranks = 1; ranks <= 6; ++ranks)
    for (int microbatches = 2 * ranks; microbatches <= 14; ++microbatches) {
      const Shape shape{ranks, 1, microbatches};
      const Program split = split_backward(made("1f1b", shape));
      for (const StageCost& cost : {kUnit, kSlowGradient}) {
        const double forward_and_input = (cost.forward + cost.backward_input).value;
        EXPECT_EQ(extra_s(split, cost), (ranks - 1) * forward_and_input) << text(shape);
        const auto delayed =
            delay_weight_gradient(split, uniform_workload(shape, cost), {}, activations(ranks));
        ASSERT_TRUE(delayed) << render(delayed.error());
        EXPECT_EQ(extra_s(*delayed, cost),
                  (ranks - 1) * (forward_and_input - cost.backward_weight.value))
            << text(shape);
        EXPECT_LE(largest_peak(*delayed), ranks);
      }
    }
}

TEST(DelayTheorem, CountsBytesReleasedInTwoSteps) {
  const Shape shape{4, 1, 8};
  const Program split = split_backward(made("1f1b", shape));
  Workload workload = uniform_workload(shape, kUnit);
  for (StageBytes& bytes : workload.bytes) {
    bytes.held_by_forward = {100};
    bytes.released_by_backward_input = {75};
  }
  const ActivationLimit tight{ActivationLimit::Unit::HeldBytes, 400};
  const auto delayed = delay_weight_gradient(split, workload, {}, tight);
  ASSERT_TRUE(delayed) << render(delayed.error());
  for (const std::vector<Op>& ops : delayed->ranks) {
    double held = 0;
    for (const Op& op : ops) {
      held += is_forward(op.kind) ? 100 : op.kind == OpKind::BackwardInput ? -75 : -25;
      EXPECT_LE(held, 400);
    }
  }
}

TEST(DelayTheorem, NamesTheForwardThatDoesNotFit) {
  const Shape shape{3, 1, 6};
  const auto refused = delay_weight_gradient(split_backward(made("1f1b", shape)),
                                             uniform_workload(shape, kUnit), {}, activations(2));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error()[0].message, "rank 0 cannot hold 0F2 within the limit");
}

}  // namespace
}  // namespace pipecast::testing
