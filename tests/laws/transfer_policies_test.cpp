#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>

#include "platforms/platform_kind.hpp"
#include "schedules/schedule.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/graph/transfers_key.hpp"
#include "sim/run/longest_path.hpp"
#include "tests/support/law.hpp"
#include "tests/support/registry_cases.hpp"

/// What holds for every transfer policy, whatever the schedule.
namespace pipecast {
namespace {

constexpr TransferPolicy kStricter[] = {TransferPolicy::Fifo, TransferPolicy::Blocking,
                                        TransferPolicy::Posted};

Result<TaskGraph> graph_of(const Program& program, TransferPolicy policy, Seconds delay) {
  const Shape stages{program.placement.stages, 1, program.shape.microbatches};
  const Workload workload = uniform_workload(stages, {{2.0}, {3.0}, {1.0}});
  return build_task_graph(program, workload, constant_delay_platform(program.shape.ranks, delay),
                          testing::devices_in_order(program.shape.ranks), policy);
}

double makespan_of(const TaskGraph& graph) { return makespan(longest_path(graph)).value; }

/// A stricter policy only adds edges, so nothing gets earlier; one rank has no transfers.
void expect_never_earlier(const Program& program, Seconds delay) {
  const auto free = graph_of(program, TransferPolicy::Overlapped, delay);
  ASSERT_TRUE(free) << render(free.error());
  for (const TransferPolicy policy : kStricter) {
    const auto strict = graph_of(program, policy, delay);
    ASSERT_TRUE(strict) << policy_name(policy) << "\n" << render(strict.error());
    EXPECT_GE(makespan_of(*strict), makespan_of(*free)) << policy_name(policy);
    if (program.shape.ranks == 1) {
      EXPECT_EQ(makespan_of(*strict), makespan_of(*free)) << policy_name(policy);
    }
  }
}

TEST(TransferPolicyLaws, NoScheduleGetsFasterUnderAStricterPolicy) {
  const std::vector<ScheduleInfo> schedules = builtin_schedules();
  for (const testing::RegistryCase& registered : testing::registry_cases(schedules))
    for (const Shape& shape : testing::accepted_shapes(registered, {4, 2, 6})) {
      SCOPED_TRACE(registered.label + " P=" + std::to_string(shape.ranks) + " v=" +
                   std::to_string(shape.chunks) + " m=" + std::to_string(shape.microbatches));
      const Workload workload = uniform_workload(shape, {{1.0}, {1.0}, {1.0}});
      const auto program = make_program(*registered.schedule, {shape, registered.params, workload});
      ASSERT_TRUE(program) << render(program.error());
      for (const double delay : {0.0, 0.5}) expect_never_earlier(*program, {delay});
    }
}

/// Any placement, any order that can finish: ready operations are taken at random.
Program random_program() {
  const int ranks = *rc::gen::inRange(1, 5);
  const int chunks = *rc::gen::inRange(1, 4);
  const int microbatches = *rc::gen::inRange(1, 6);
  Program program;
  program.shape = {ranks, chunks, microbatches};
  program.placement.stages = ranks * chunks;
  for (int stage = 0; stage < ranks * chunks; ++stage)
    program.placement.rank_of.push_back({*rc::gen::inRange(0, ranks)});
  program.ranks.resize(static_cast<std::size_t>(ranks));
  std::vector<Op> ready;
  for (int b = 0; b < microbatches; ++b) ready.push_back({OpKind::Forward, {}, false, {0}, {b}});
  while (!ready.empty()) {
    const auto chosen =
        static_cast<std::ptrdiff_t>(*rc::gen::inRange<std::size_t>(0, ready.size()));
    const Op op = ready[static_cast<std::size_t>(chosen)];
    ready.erase(ready.begin() + chosen);
    program.ranks[program.placement.rank(op.stage, op.microbatch).at()].push_back(op);
    Op next = op;
    if (op.kind == OpKind::Forward && op.stage.value + 1 < program.placement.stages)
      ++next.stage.value;
    else if (op.kind == OpKind::Forward)
      next.kind = OpKind::BackwardFull;
    else if (op.stage.value > 0)
      --next.stage.value;
    else
      continue;
    ready.push_back(next);
  }
  return program;
}

TEST(TransferPolicyLaws, NoRandomProgramDeadlocksOrGetsFaster) {
  testing::expect_law("No random program deadlocks or gets faster", [] {
    const Program program = random_program();
    RC_ASSERT(check(program).empty());
    expect_never_earlier(program, {*rc::gen::element(0.0, 0.25, 3.0)});
    RC_ASSERT(!::testing::Test::HasFailure());
  });
}

TEST(TransferPolicyLaws, LoweredListsAreCompleteAndMatchPerPair) {
  testing::expect_law("Lowered lists are complete and match per pair", [] {
    const Program program = random_program();
    for (const auto lower : {lower_pytorch_send_receive, lower_batched}) {
      const auto lowered = lower(program);
      RC_ASSERT(lowered.has_value());
      RC_ASSERT(check_transfers(*lowered).empty());
      RC_ASSERT(order_mismatches(*lowered).empty());
      RC_ASSERT(without_communication(*lowered) == program);
    }
  });
}

/// Receives moved to any earlier place: the graph is acyclic, or the deadlock is named.
TEST(TransferPolicyLaws, AnyOrderOfReceivesRunsOrItsDeadlockIsNamed) {
  testing::expect_law("Any order of receives runs or its deadlock is named", [] {
    const Program program = random_program();
    auto lowered = lower_pytorch_send_receive(program);
    RC_ASSERT(lowered.has_value());
    for (std::vector<Op>& ops : lowered->ranks)
      for (std::size_t at = 1; at < ops.size(); ++at)
        if (is_receive(ops[at].kind)) {
          const auto to = *rc::gen::inRange<std::size_t>(0, at + 1);
          std::rotate(ops.begin() + static_cast<std::ptrdiff_t>(to),
                      ops.begin() + static_cast<std::ptrdiff_t>(at),
                      ops.begin() + static_cast<std::ptrdiff_t>(at) + 1);
        }
    const auto free = graph_of(program, TransferPolicy::Overlapped, {});
    RC_ASSERT(free.has_value());
    for (const TransferPolicy policy : kStricter) {
      const auto graph = graph_of(*lowered, policy, {});
      RC_TAG(graph.has_value());
      if (graph) {
        RC_ASSERT(makespan_of(*graph) >= makespan_of(*free));
      } else {
        RC_ASSERT(graph.error().front().message.rfind("deadlock: ", 0) == 0);
        RC_ASSERT(graph.error().back().message.rfind("deadlock: the circle is ", 0) == 0);
      }
    }
  });
}

}  // namespace
}  // namespace pipecast
