#include <gtest/gtest.h>

#include "sim/study/simulate.hpp"

namespace pipecast {
namespace {

Op op(OpKind kind, int stage, int microbatch) {
  Op result;
  result.kind = kind;
  result.stage = {stage};
  result.microbatch = {microbatch};
  return result;
}

/// Rank 0 receives a gradient before it sends the activation that rank 1 waits for next.
Program receive_before_send() {
  Program program;
  program.shape = {2, 1, 2};
  program.placement = loop_placement(program.shape);
  program.ranks = {
      {op(OpKind::Forward, 0, 0), op(OpKind::SendForward, 0, 0), op(OpKind::ReceiveBackward, 0, 0),
       op(OpKind::Forward, 0, 1), op(OpKind::SendForward, 0, 1), op(OpKind::BackwardFull, 0, 0),
       op(OpKind::ReceiveBackward, 0, 1), op(OpKind::BackwardFull, 0, 1)},
      {op(OpKind::ReceiveForward, 1, 0), op(OpKind::Forward, 1, 0), op(OpKind::BackwardFull, 1, 0),
       op(OpKind::SendBackward, 1, 0), op(OpKind::ReceiveForward, 1, 1), op(OpKind::Forward, 1, 1),
       op(OpKind::BackwardFull, 1, 1), op(OpKind::SendBackward, 1, 1)}};
  return program;
}

std::vector<std::string> warnings_under(TransferPolicy policy) {
  PreparedRun prepared;
  prepared.program = receive_before_send();
  prepared.workload = uniform_workload(prepared.program.shape, {{1.0}, {1.0}, {1.0}});
  prepared.platform = constant_delay_platform(2, {});
  prepared.transfers = policy;
  const std::vector<DeviceId> devices = {{0}, {1}};
  auto graph =
      build_task_graph(prepared.program, prepared.workload, prepared.platform, devices, policy);
  EXPECT_TRUE(graph);
  prepared.graph = std::move(*graph);
  const auto run = execute(std::move(prepared), Engine::LongestPath);
  EXPECT_TRUE(run);
  const RunView view = run->view();
  return {view.warnings.begin(), view.warnings.end()};
}

TEST(TransferWarnings, ARunSaysWhichReceiveBlockedWhichSend) {
  EXPECT_EQ(warnings_under(TransferPolicy::Fifo),
            (std::vector<std::string>{
                "head-of-line blocking: 1 message stood behind others for 2 s in all",
                "rank 0: 0RECV_B0 kept 0SEND_F1 waiting for 2 s"}));
  EXPECT_TRUE(warnings_under(TransferPolicy::Overlapped).empty());
}

}  // namespace
}  // namespace pipecast
