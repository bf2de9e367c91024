#include "sim/graph/task_graph.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace pipecast {
namespace {

Op op(OpKind kind, int stage, int microbatch) {
  Op result;
  result.kind = kind;
  result.stage = {stage};
  result.microbatch = {microbatch};
  return result;
}

std::vector<DeviceId> in_order(int ranks) {
  std::vector<DeviceId> devices;
  for (int rank = 0; rank < ranks; ++rank) devices.push_back({rank});
  return devices;
}

Program two_ranks_one_microbatch() {
  Program program;
  program.shape = {2, 1, 1};
  program.placement = loop_placement(program.shape);
  for (int rank = 0; rank < 2; ++rank)
    program.ranks.push_back({op(OpKind::Forward, rank, 0), op(OpKind::BackwardFull, rank, 0)});
  return program;
}

TEST(TaskGraph, PutsATransferBetweenRanks) {
  const Program program = two_ranks_one_microbatch();
  const Workload workload = uniform_workload(program.shape, {{1.0}, {1.0}, {1.0}});
  const auto graph =
      build_task_graph(program, workload, constant_delay_platform(2, {0.5}), in_order(2));
  ASSERT_TRUE(graph);
  ASSERT_EQ(graph->tasks.size(), 6U);                     // 2 forwards, 2 backwards, 2 transfers
  EXPECT_EQ(graph->tasks[4].kind, OpKind::SendBackward);  // its consumer is on rank 0
  EXPECT_EQ(graph->tasks[5].kind, OpKind::SendForward);
  EXPECT_EQ(graph->tasks[5].rank, 0);
  EXPECT_EQ(graph->tasks[5].peer, 1);
  EXPECT_EQ(graph->order.size(), 6U);
}

TEST(TaskGraph, NamesTheBlockedRanksOfADeadlock) {
  Program program;
  program.shape = {2, 1, 2};
  program.placement = loop_placement(program.shape);
  // Rank 0 wants the gradient of microbatch 0 before it computes forward 1; rank 1 the other way
  // round.
  program.ranks = {{op(OpKind::Forward, 0, 0), op(OpKind::BackwardFull, 0, 0),
                    op(OpKind::Forward, 0, 1), op(OpKind::BackwardFull, 0, 1)},
                   {op(OpKind::Forward, 1, 0), op(OpKind::Forward, 1, 1),
                    op(OpKind::BackwardFull, 1, 0), op(OpKind::BackwardFull, 1, 1)}};
  ASSERT_TRUE(check(program).empty());
  const Workload workload = uniform_workload(program.shape, {{1.0}, {1.0}, {1.0}});
  const auto graph =
      build_task_graph(program, workload, constant_delay_platform(2, {}), in_order(2));
  ASSERT_FALSE(graph);
  const std::string text = render(graph.error());
  EXPECT_NE(text.find("rank 0 is blocked at 0B0, which waits for 1SEND_B0 of rank 1"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("rank 1 is blocked at 1F1"), std::string::npos) << text;
  EXPECT_NE(text.find("the circle is"), std::string::npos) << text;
}

}  // namespace
}  // namespace pipecast
