#include "sim/model/exchanges.hpp"

#include <gtest/gtest.h>

namespace pipecast {
namespace {

Op op(OpKind kind, int stage, int microbatch) {
  Op result;
  result.kind = kind;
  result.stage = {stage};
  result.microbatch = {microbatch};
  return result;
}

/// Two ranks, two microbatches, all forwards first.
Program two_ranks() {
  Program program;
  program.shape = {2, 1, 2};
  program.placement = loop_placement(program.shape);
  for (int rank = 0; rank < 2; ++rank)
    program.ranks.push_back({op(OpKind::Forward, rank, 0), op(OpKind::Forward, rank, 1),
                             op(OpKind::BackwardFull, rank, 0), op(OpKind::BackwardFull, rank, 1)});
  return program;
}

std::string complaint(const ActivationExchange& exchange) {
  Program program = two_ranks();
  program.exchanges = {exchange};
  const Diagnostics faults = check(program);
  return faults.empty() ? "" : faults.front().message;
}

TEST(Exchanges, LendAnActivationUntilAnEarlierBackward) {
  EXPECT_EQ(complaint({{0}, {1}, {1}, {0}}), "");
}

TEST(Exchanges, MustComeBackInTime) {
  EXPECT_EQ(complaint({{0}, {0}, {1}, {1}}),
            "the exchange of stage 0, microbatch 0 comes back after its backward");
}

TEST(Exchanges, GoToAnotherRank) {
  EXPECT_EQ(complaint({{0}, {1}, {0}, {0}}),
            "the exchange of stage 0, microbatch 1 goes to the rank it comes from");
}

TEST(Exchanges, NameWhatIsThere) {
  const std::string message =
      "the exchange of stage 0, microbatch 5 names something the program does not have";
  EXPECT_EQ(complaint({{0}, {5}, {1}, {0}}), message);
  EXPECT_NE(complaint({{0}, {1}, {2}, {0}}), "");
  EXPECT_NE(complaint({{2}, {1}, {1}, {0}}), "");
}

TEST(Exchanges, HappenOnce) {
  Program program = two_ranks();
  program.exchanges = {{{0}, {1}, {1}, {0}}, {{0}, {1}, {1}, {0}}};
  const Diagnostics faults = check(program);
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].message, "the exchange of stage 0, microbatch 1 is there twice");
}

}  // namespace
}  // namespace pipecast
