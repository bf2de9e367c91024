#include "sim/model/weights.hpp"

#include <gtest/gtest.h>

#include "sim/model/workload.hpp"

namespace pipecast {
namespace {

Op op(OpKind kind, int microbatch) {
  Op result;
  result.kind = kind;
  result.microbatch = {microbatch};
  return result;
}

/// One rank, one stage.
Program one_rank(std::vector<Op> ops, int microbatches) {
  Program program;
  program.shape = {1, 1, microbatches};
  program.placement = loop_placement(program.shape);
  program.ranks = {std::move(ops)};
  return program;
}

constexpr OpKind F = OpKind::Forward;
constexpr OpKind B = OpKind::BackwardFull;

TEST(WeightUse, AFlushHoldsOneVersion) {
  const Program program = one_rank({op(F, 0), op(F, 1), op(B, 0), op(B, 1)}, 2);
  EXPECT_EQ(weight_use(program), std::vector<WeightUse>{WeightUse{}});
}

TEST(WeightUse, StashedVersionsAreTheOnesInUseAndTheNewest) {
  Program program = one_rank({op(F, 0), op(F, 1), op(B, 0), op(F, 2), op(B, 1), op(B, 2)}, 3);
  program.updates = 3;
  program.weights = WeightRule::Newest;
  EXPECT_EQ(weight_use(program), (std::vector<WeightUse>{{2, 1}}));
  EXPECT_TRUE(check(program).empty());
}

TEST(WeightUse, AFlushRuleRefusesToStartAGroupEarly) {
  Program program = one_rank({op(F, 0), op(F, 1), op(B, 0), op(B, 1)}, 2);
  program.updates = 2;
  const Diagnostics faults = check(program);
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].message, "0F1 needs the weights after 1 updates, its stage has seen 0");
}

TEST(WeightUse, TwoVersionsDoNotReachThreeGroupsAhead) {
  Program program = one_rank({op(F, 0), op(F, 1), op(F, 2), op(B, 0), op(B, 1), op(B, 2)}, 3);
  program.updates = 3;
  program.weights = WeightRule::OneBatchBehind;
  const Diagnostics faults = check(program);
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].message, "0F2 needs the weights after 1 updates, its stage has seen 0");
}

TEST(Units, MustDivide) {
  Program program = one_rank({op(F, 0), op(B, 0), op(F, 1), op(B, 1), op(F, 2), op(B, 2)}, 3);
  program.steps = 2;
  const Diagnostics faults = check(program);
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].message, "3 units do not divide into 2 steps, 1 updates and 1 cuts");
}

TEST(Cuts, GoForwardInOrderAndBackwardInReverse) {
  Program program = one_rank({op(F, 0), op(F, 1), op(B, 1), op(B, 0)}, 2);
  program.cuts = {{0.25, 0.75}, {0.5, 0.5}};
  EXPECT_TRUE(check(program).empty());
  program.ranks = {{op(F, 1), op(F, 0), op(B, 0), op(B, 1)}};
  const Diagnostics faults = check(program);
  ASSERT_EQ(faults.size(), 2U);
  EXPECT_EQ(faults[0].message, "0F1 stands before the forward of the cut before it");
  EXPECT_EQ(faults[1].message, "0B0 stands before the backward of the cut behind it");
}

TEST(Cuts, SharesMustAddUp) {
  Program program = one_rank({op(F, 0), op(F, 1), op(B, 1), op(B, 0)}, 2);
  program.cuts = {{0.25, 0.7}, {0.5, 0.5}};
  const Diagnostics faults = check(program);
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].message,
            "the shares of the sequence cuts are not positive or do not add up to 1");
}

TEST(FittedWorkload, UnitsTakeTheirShareOfTheirMicrobatch) {
  Workload workload = uniform_workload({1, 1, 2}, {{4}, {8}, {0}});
  workload.costs = {{{4}, {8}, {0}}, {{12}, {16}, {0}}};  // one stage, two microbatches
  Program program = one_rank({op(F, 0), op(F, 1), op(F, 2), op(F, 3)}, 4);
  program.cuts = {{0.25, 0.75}, {0.5, 0.5}};
  EXPECT_FALSE(check(workload, program).empty());
  const Workload units = fitted(workload, program);
  EXPECT_TRUE(check(units, program).empty());
  EXPECT_EQ(duration(units, op(F, 1)), Seconds{3});
  EXPECT_EQ(duration(units, op(B, 2)), Seconds{4});
  EXPECT_EQ(units.bytes_share({3}), 0.5);
}

TEST(FittedWorkload, FurtherStepsRepeatTheMicrobatches) {
  Workload workload = uniform_workload({1, 1, 2}, {{4}, {8}, {0}});
  workload.costs = {{{4}, {8}, {0}}, {{12}, {16}, {0}}};
  EXPECT_EQ(duration(workload, op(F, 2)), Seconds{4});
  EXPECT_EQ(duration(workload, op(F, 3)), Seconds{12});
}

}  // namespace
}  // namespace pipecast
