#include "sim/graph/transfers.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "sim/graph/head_of_line.hpp"
#include "sim/graph/task_graph.hpp"

namespace pipecast {
namespace {

Op op(OpKind kind, int stage, int microbatch, Issue issue = Issue::Plain, bool joined = false) {
  Op result;
  result.kind = kind;
  result.stage = {stage};
  result.microbatch = {microbatch};
  result.issue = issue;
  result.joined = joined;
  return result;
}

/// Two ranks, one stage each, all forwards then all backwards.
Program two_ranks(int microbatches) {
  Program program;
  program.shape = {2, 1, microbatches};
  program.placement = loop_placement(program.shape);
  for (int rank = 0; rank < 2; ++rank) {
    std::vector<Op>& ops = program.ranks.emplace_back();
    for (int b = 0; b < microbatches; ++b) ops.push_back(op(OpKind::Forward, rank, b));
    for (int b = 0; b < microbatches; ++b) ops.push_back(op(OpKind::BackwardFull, rank, b));
  }
  return program;
}

Result<TaskGraph> graph_of(const Program& program, TransferPolicy policy, Seconds delay = {}) {
  const std::vector<DeviceId> devices = {{0}, {1}};
  return build_task_graph(program, uniform_workload(program.shape, {{1.0}, {1.0}, {1.0}}),
                          constant_delay_platform(2, delay), devices, policy);
}

/// Eager ends in topological order: the graph room has no evaluator of its own.
Timeline eager(const TaskGraph& graph) {
  Timeline timeline;
  timeline.intervals.resize(graph.tasks.size());
  for (const std::uint32_t task : graph.order) {
    Interval& interval = timeline.intervals[task];
    interval.end_s = interval.start_s + unshared_seconds(graph, graph.tasks[task]);
    for (auto [next, end] = boost::adjacent_vertices(task, graph.dependencies); next != end; ++next)
      timeline.intervals[*next].start_s =
          std::max(timeline.intervals[*next].start_s, interval.end_s);
  }
  return timeline;
}

std::string text_of(const Program& program) {
  std::string text;
  for (const std::vector<Op>& ops : program.ranks) {
    for (std::size_t at = 0; at < ops.size(); at += cell_size(ops, at))
      text += cell_text(ops, at) + " ";
    text += "\n";
  }
  return text;
}

TEST(Transfers, PytorchPutsAReceiveWhereTheReceiverIsWhenItIsSent) {
  const auto lowered = lower_pytorch_send_receive(two_ranks(2));
  ASSERT_TRUE(lowered);
  EXPECT_EQ(text_of(*lowered),
            "0F0 0SEND_F0 0F1 0SEND_F1 0RECV_B0 0B0 0RECV_B1 0B1 \n"
            "1RECV_F0 1F0 1RECV_F1 1F1 1B0 1SEND_B0 1B1 1SEND_B1 \n");
  EXPECT_TRUE(check_transfers(*lowered).empty());
  EXPECT_EQ(lower_pytorch_send_receive(*lowered), lowered);  // its own sends are replaced
}

TEST(Transfers, BatchesStandBetweenCells) {
  const auto lowered = lower_batched(two_ranks(2));
  ASSERT_TRUE(lowered);
  EXPECT_EQ(text_of(*lowered),
            "0F0 post(0SEND_F0) wait(0SEND_F0) 0F1 post(0SEND_F1;0RECV_B0) "
            "wait(0SEND_F1;0RECV_B0) 0B0 post(0RECV_B1) wait(0RECV_B1) 0B1 \n"
            "post(1RECV_F0) wait(1RECV_F0) 1F0 post(1RECV_F1) wait(1RECV_F1) 1F1 1B0 "
            "post(1SEND_B0) wait(1SEND_B0) 1B1 post(1SEND_B1) wait(1SEND_B1) \n");
}

TEST(Transfers, BlockingPutsTheTransferIntoTheRanksTime) {
  const Program program = two_ranks(2);
  // F0 | 0→1 | F0 F1 …: with 1 s per message, forwards and messages alternate on rank 0.
  const auto overlapped = graph_of(program, TransferPolicy::Overlapped, {1.0});
  const auto blocking = graph_of(program, TransferPolicy::Blocking, {1.0});
  ASSERT_TRUE(overlapped);
  ASSERT_TRUE(blocking);
  EXPECT_EQ(makespan(eager(*overlapped)).value, 11);  // F, send, F F B B, send, B
  EXPECT_EQ(makespan(eager(*blocking)).value, 13);    // and the middle messages of both directions
}

TEST(Transfers, NamesCommunicationThatCanNeverHappen) {
  Program program = two_ranks(1);
  program.ranks = {{op(OpKind::ReceiveBackward, 0, 0), op(OpKind::Forward, 0, 0),
                    op(OpKind::SendForward, 0, 0), op(OpKind::BackwardFull, 0, 0)},
                   {op(OpKind::ReceiveForward, 1, 0), op(OpKind::Forward, 1, 0),
                    op(OpKind::BackwardFull, 1, 0), op(OpKind::SendBackward, 1, 0)}};
  EXPECT_TRUE(graph_of(program, TransferPolicy::Overlapped));
  const auto graph = graph_of(program, TransferPolicy::Fifo);
  ASSERT_FALSE(graph);
  const std::string text = render(graph.error());
  EXPECT_NE(text.find("on rank 0 0SEND_F0 stands behind 0RECV_B0"), std::string::npos) << text;
  EXPECT_NE(text.find("rank 1 is blocked at 1F0, which waits for 0SEND_F0 of rank 0"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("1SEND_B0 (rank 1 to rank 0) waits for"), std::string::npos) << text;
}

TEST(Transfers, SaysWhichReceiveBlocksWhichSend) {
  Program program = two_ranks(2);
  // Rank 0 posts the receive of gradient 0 before it sends activation 1, which rank 1 needs only
  // after that gradient: the send waits for the receive.
  program.ranks = {
      {op(OpKind::Forward, 0, 0), op(OpKind::SendForward, 0, 0), op(OpKind::ReceiveBackward, 0, 0),
       op(OpKind::Forward, 0, 1), op(OpKind::SendForward, 0, 1), op(OpKind::BackwardFull, 0, 0),
       op(OpKind::ReceiveBackward, 0, 1), op(OpKind::BackwardFull, 0, 1)},
      {op(OpKind::ReceiveForward, 1, 0), op(OpKind::Forward, 1, 0), op(OpKind::BackwardFull, 1, 0),
       op(OpKind::SendBackward, 1, 0), op(OpKind::ReceiveForward, 1, 1), op(OpKind::Forward, 1, 1),
       op(OpKind::BackwardFull, 1, 1), op(OpKind::SendBackward, 1, 1)}};
  const auto graph = graph_of(program, TransferPolicy::Fifo);
  ASSERT_TRUE(graph);
  const std::vector<HeadOfLine> found = head_of_line(*graph, eager(*graph));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].rank, Rank{0});
  EXPECT_EQ(op_text(found[0].blocked), "0SEND_F1");
  EXPECT_EQ(op_text(found[0].blocking), "0RECV_B0");
  EXPECT_EQ(found[0].seconds, 2);  // ready at 2, gradient 0 comes at 4
  EXPECT_EQ(head_of_line_warnings(found).back(), "rank 0: 0RECV_B0 kept 0SEND_F1 waiting for 2 s");
  // SimGrid's clock is a sum: what differs in its last bits has not waited.
  Timeline rounded = eager(*graph);
  for (Interval& interval : rounded.intervals)
    if (interval.end_s == 4) interval.end_s = 2 + 4e-16;
  EXPECT_TRUE(head_of_line(*graph, rounded).empty());
  EXPECT_TRUE(head_of_line(*graph, Timeline{std::vector<Interval>(graph->tasks.size())}).empty());
}

TEST(Transfers, EveryBrokenRuleIsNamed) {
  Program program = two_ranks(1);
  program.ranks = {{op(OpKind::SendForward, 0, 0), op(OpKind::Forward, 0, 0),
                    op(OpKind::SendForward, 0, 0), op(OpKind::BackwardFull, 0, 0),
                    op(OpKind::ReceiveBackward, 0, 0), op(OpKind::SendBackward, 0, 0)},
                   {op(OpKind::Forward, 1, 0), op(OpKind::ReceiveBackward, 0, 0),
                    op(OpKind::ReceiveForward, 1, 0, Issue::Wait), op(OpKind::BackwardFull, 1, 0)}};
  const std::string text = render(check_transfers(program));
  for (const char* sentence :
       {"rank 0: 0SEND_F0 stands before what it sends is computed",
        "rank 0: 0SEND_F0 is there twice", "rank 0: 0RECV_B0 stands after what needs it",
        "rank 0: 0SEND_B0 has no stage at its other end", "rank 1: 0RECV_B0 belongs to rank 0",
        "rank 1: 1RECV_F0 is waited for before it is posted", "rank 1: 1RECV_F0 is missing",
        "rank 1: 1SEND_B0 is missing"})
    EXPECT_NE(text.find(sentence), std::string::npos) << sentence << "\n" << text;
}

TEST(Transfers, PairsThatListMessagesInDifferentOrdersAreFound) {
  auto lowered = lower_pytorch_send_receive(two_ranks(2));
  ASSERT_TRUE(lowered);
  EXPECT_TRUE(order_mismatches(*lowered).empty());
  std::swap(lowered->ranks[1][0], lowered->ranks[1][2]);  // receives 1 before 0
  const std::vector<OrderMismatch> found = order_mismatches(*lowered);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].sender, Rank{0});
  EXPECT_EQ(op_text(found[0].sent), "0SEND_F0");
  EXPECT_EQ(op_text(found[0].received), "1RECV_F1");
}

}  // namespace
}  // namespace pipecast
