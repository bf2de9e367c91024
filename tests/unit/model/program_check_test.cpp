#include <gtest/gtest.h>

#include "sim/model/program.hpp"

namespace pipecast {
namespace {

Op op(OpKind kind, int stage, int microbatch) {
  Op result;
  result.kind = kind;
  result.stage = {stage};
  result.microbatch = {microbatch};
  return result;
}

Program one_rank(std::vector<Op> ops, int microbatches) {
  Program program;
  program.shape = {1, 1, microbatches};
  program.placement = loop_placement(program.shape);
  program.ranks = {std::move(ops)};
  return program;
}

TEST(ProgramCheck, ViolationsNameRankAndPosition) {
  const Program program = one_rank(
      {op(OpKind::Forward, 0, 0), op(OpKind::Forward, 0, 0), op(OpKind::BackwardWeight, 0, 0)}, 1);
  const std::vector<Violation> expected{
      {"rank 0: 0F0 is there twice", Rank{0}, 1},
      {"rank 0: 0W0 stands before its input gradient", Rank{0}, 2},
      {"stage 0, microbatch 0: the backward is missing", Rank{0}, -1},
  };
  EXPECT_EQ(violations(program), expected);
}

TEST(ProgramCheck, CheckSaysTheSameAsViolations) {
  const Program program = one_rank({op(OpKind::Forward, 0, 3)}, 2);
  const auto found = violations(program);
  const Diagnostics faults = check(program);
  ASSERT_EQ(faults.size(), found.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(faults[i].message, found[i].message);
    EXPECT_EQ(faults[i].fault, Fault::Infeasible);
  }
}

TEST(ProgramCheck, ListIsBounded) {
  const Program program = one_rank({op(OpKind::Forward, 0, 0)}, 100000);
  const auto found = violations(program);
  ASSERT_EQ(found.size(), kMaxReported + 1);
  EXPECT_EQ(found.back().message, "and 99899 more violations");
}

TEST(ProgramCheck, DirectionsBeyondThePlacementAreAFault) {
  Program program = one_rank({op(OpKind::Forward, 0, 0)}, 1);
  program.placement.direction_of = {1};
  ASSERT_EQ(violations(program).size(), 1U);
  EXPECT_EQ(violations(program)[0].message,
            "the placement does not say which way each microbatch goes");
}

TEST(ProgramCheck, CollectivesBelongToARankThatHoldsTheStage) {
  Program program;
  program.shape = {2, 1, 1};
  program.placement = loop_placement(program.shape);
  program.ranks = {{op(OpKind::Forward, 0, 0), op(OpKind::ReduceGrad, 1, -1)},
                   {op(OpKind::Forward, 1, 0)}};
  const auto found = violations(program);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].message, "rank 0: 1REDUCE_GRAD is about a stage that this rank does not hold");
}

}  // namespace
}  // namespace pipecast
