#include <gtest/gtest.h>

#include "tests/agree/agreement.hpp"
#include "tests/support/golden_comms.hpp"
#include "tests/support/registry_cases.hpp"

/// A policy is a set of edges, so SimGrid obeys it as the longest path does. What the longest path
/// makes of the reference's lists is held to the reference in tests/golden.
namespace pipecast {
namespace {

using testing::Batches;
using testing::Verdict;

constexpr TransferPolicy kPolicies[] = {TransferPolicy::Fifo, TransferPolicy::Blocking,
                                        TransferPolicy::Posted};

void add_part(Batches& batches, const Program& program, TransferPolicy policy, Seconds delay,
              const std::string& label) {
  const int ranks = program.shape.ranks;
  Platform platform = constant_delay_platform(ranks, delay);
  const Shape stages{program.placement.stages, 1, program.shape.microbatches};
  auto graph = build_task_graph(program, uniform_workload(stages, {{1.0}, {1.0}, {1.0}}), platform,
                                testing::devices_in_order(ranks), policy);
  ASSERT_TRUE(graph) << label << "\n" << render(graph.error());
  batches.add({std::move(platform), std::move(*graph)}, label);
}

TransferPolicy policy_of(const std::string& semantics) {
  if (semantics == "fifo") return TransferPolicy::Fifo;
  return semantics == "group" ? TransferPolicy::Blocking : TransferPolicy::Posted;
}

TEST(Agree, EveryLoweredListOfTheReferenceUnderItsPolicy) {
  for (const Seconds delay : {Seconds{0}, Seconds{0.3}}) {
    Batches batches(Verdict::Equal, 64);
    for (const char* family : {"deepspeed", "dualpipe", "megatron", "pytorch", "zero_bubble"})
      for (const comms::Golden& golden : comms::read_goldens(family))
        add_part(batches, comms::parse_program(golden), policy_of(golden.semantics), delay,
                 golden.name);
    batches.flush();
    EXPECT_GT(batches.compared_tasks(), 100'000U);
  }
}

TEST(Agree, EveryScheduleUnderEveryPolicy) {
  const std::vector<ScheduleInfo> schedules = builtin_schedules();
  Batches batches(Verdict::Equal, 64);
  for (const testing::RegistryCase& registered : testing::registry_cases(schedules))
    for (const Shape& shape : testing::accepted_shapes(registered, {4, 2, 4})) {
      const Workload workload = uniform_workload(shape, {{1.0}, {1.0}, {1.0}});
      const auto program = make_program(*registered.schedule, {shape, registered.params, workload});
      ASSERT_TRUE(program) << registered.label << "\n" << render(program.error());
      for (const TransferPolicy policy : kPolicies)
        add_part(batches, *program, policy, {0.3},
                 registered.label + " " + std::string(policy_name(policy)));
    }
  batches.flush();
}

}  // namespace
}  // namespace pipecast
