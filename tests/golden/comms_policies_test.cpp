#include <gtest/gtest.h>

#include <algorithm>

#include "platforms/platform_kind.hpp"
#include "sim/graph/head_of_line.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/run/longest_path.hpp"
#include "tests/support/golden_comms.hpp"

/// The policies against the reference's own rendezvous model (transfers take no time).
namespace pipecast {
namespace {

using comms::Golden;

constexpr std::string_view kFamilies[] = {"deepspeed", "dualpipe", "megatron", "pytorch",
                                          "zero_bubble"};

Result<TaskGraph> graph_of(const Program& program, TransferPolicy policy) {
  const Workload workload = uniform_workload(program.shape, {{1.0}, {1.0}, {1.0}});
  std::vector<DeviceId> devices;
  for (int rank = 0; rank < program.shape.ranks; ++rank) devices.push_back({rank});
  return build_task_graph(program, workload, constant_delay_platform(program.shape.ranks, {}),
                          devices, policy);
}

double makespan_of(const Program& program, TransferPolicy policy) {
  const auto graph = graph_of(program, policy);
  EXPECT_TRUE(graph) << (graph ? "" : render(graph.error()));
  return graph ? makespan(longest_path(*graph)).value : -1;
}

TransferPolicy policy_of(const Golden& golden) {
  if (golden.semantics == "fifo") return TransferPolicy::Fifo;
  return golden.semantics == "group" ? TransferPolicy::Blocking : TransferPolicy::Posted;
}

TEST(CommsPolicies, EveryLoweredListTakesItsRendezvousMakespan) {
  int lists = 0;
  for (const std::string_view family : kFamilies)
    for (const Golden& golden : comms::read_goldens(std::string(family))) {
      SCOPED_TRACE(golden.name);
      const Program program = comms::parse_program(golden);
      ASSERT_TRUE(check(program).empty()) << render(check(program));
      ASSERT_TRUE(check_transfers(program).empty()) << render(check_transfers(program));
      EXPECT_EQ(order_mismatches(program).empty(), golden.fifo_per_pair);
      EXPECT_EQ(makespan_of(program, policy_of(golden)), golden.makespan);
      EXPECT_EQ(makespan_of(program, TransferPolicy::Overlapped),
                golden.makespan_without_communication);
      ++lists;
    }
  EXPECT_EQ(lists, 439);
}

Golden find(const std::string& family, const std::string& name) {
  for (const Golden& golden : comms::read_goldens(family))
    if (golden.name == name) return golden;
  ADD_FAILURE() << "no golden " << name;
  return {};
}

TEST(CommsPolicies, ReceivesPostedEarlyBlockSendsOfTheInterleavedSchedule) {
  const Program lowered = comms::parse_program(find("pytorch", "interleaved1f1b-comms_p8_v2_m16"));
  const Program bare = without_communication(lowered);
  EXPECT_EQ(makespan_of(bare, TransferPolicy::Overlapped), 117);
  EXPECT_EQ(makespan_of(bare, TransferPolicy::Fifo), 172);
  const auto graph = graph_of(bare, TransferPolicy::Fifo);
  ASSERT_TRUE(graph);
  const std::vector<HeadOfLine> found = head_of_line(*graph, longest_path(*graph));
  const bool receive_blocks_send =
      std::any_of(found.begin(), found.end(), [](const HeadOfLine& one) {
        return is_receive(one.blocking.kind) && is_send(one.blocked.kind);
      });
  EXPECT_TRUE(receive_blocks_send);
  EXPECT_TRUE(head_of_line(*graph_of(bare, TransferPolicy::Overlapped),
                           longest_path(*graph_of(bare, TransferPolicy::Overlapped)))
                  .empty());
}

}  // namespace
}  // namespace pipecast
