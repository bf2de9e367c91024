#include <gtest/gtest.h>

#include <set>

#include "schedules/schedule.hpp"
#include "sim/graph/task_graph.hpp"
#include "tests/support/registry_cases.hpp"

/// What holds for every lowering over every registered schedule.
namespace pipecast {
namespace {

bool has_batches(const Program& program) {
  for (const std::vector<Op>& ops : program.ranks)
    for (const Op& op : ops)
      if (op.issue != Issue::Plain) return true;
  return false;
}

Result<TaskGraph> graph_of(const Program& program, TransferPolicy policy) {
  const Shape stages{program.placement.stages, 1, program.shape.microbatches};
  return build_task_graph(program, uniform_workload(stages, {{1.0}, {1.0}, {1.0}}),
                          constant_delay_platform(program.shape.ranks, {}),
                          testing::devices_in_order(program.shape.ranks), policy);
}

void expect_sound(const LoweringInfo& lowering, const Program& program) {
  const auto lowered = lowering.lower(program);
  if (!lowered) {  // a framework's loop runs its own orders only, and says which
    EXPECT_EQ(lowered.error().front().message.rfind("lowering ", 0), 0U) << render(lowered.error());
    return;
  }
  EXPECT_EQ(without_communication(*lowered), program);
  EXPECT_TRUE(check(*lowered).empty()) << render(check(*lowered));
  EXPECT_TRUE(check_transfers(*lowered).empty()) << render(check_transfers(*lowered));
  EXPECT_EQ(lowering.lower(*lowered), lowered) << "lowering twice is lowering once";
  const TransferPolicy own = has_batches(*lowered) ? TransferPolicy::Posted : TransferPolicy::Fifo;
  const auto graph = graph_of(*lowered, own);
  EXPECT_TRUE(graph) << (graph ? "" : render(graph.error()));
}

TEST(LoweringLaws, EveryLoweringOfEveryScheduleIsCompleteAndRuns) {
  const std::vector<ScheduleInfo> schedules = builtin_schedules();
  for (const testing::RegistryCase& registered : testing::registry_cases(schedules))
    for (const Shape& shape : testing::accepted_shapes(registered, {4, 3, 8})) {
      const Workload workload = uniform_workload(shape, {{1.0}, {1.0}, {1.0}});
      const auto program = make_program(*registered.schedule, {shape, registered.params, workload});
      ASSERT_TRUE(program) << render(program.error());
      for (const LoweringInfo& lowering : builtin_lowerings()) {
        SCOPED_TRACE(std::string(lowering.name) + " of " + registered.label +
                     " P=" + std::to_string(shape.ranks) + " v=" + std::to_string(shape.chunks) +
                     " m=" + std::to_string(shape.microbatches));
        expect_sound(lowering, *program);
      }
    }
}

/// Every framework's own schedules are lowered by its own lowering.
TEST(LoweringLaws, EveryLoweringTakesASchedule) {
  const Shape flat{4, 1, 8};
  const Shape folded{4, 2, 8};
  const std::set<std::string> flat_only = {"pytorch-class-loop", "deepspeed"};
  for (const LoweringInfo& lowering : builtin_lowerings()) {
    if (lowering.name == "dualpipe") continue;  // its schedules have their goldens
    const bool is_flat = flat_only.count(std::string(lowering.name)) > 0;
    const auto program =
        is_flat ? testing::scheduled("1f1b", flat) : testing::scheduled("interleaved-1f1b", folded);
    ASSERT_TRUE(program);
    EXPECT_TRUE(lowering.lower(*program)) << lowering.name;
  }
}

TEST(LoweringLaws, AnOrderThatIsNotTheLoopsOwnIsNamed) {
  const auto gpipe = testing::scheduled("gpipe", {2, 1, 4});
  ASSERT_TRUE(gpipe);
  const auto lowered = lower_megatron(*gpipe, MegatronMode::Sync);
  ASSERT_FALSE(lowered);
  EXPECT_EQ(lowered.error().front().message,
            "lowering megatron-sync: its loop runs 1f1b, interleaved-1f1b, combined-1f1b and "
            "forward-only only; rank 0 has 0F3 where the loop has 0B0");
}

}  // namespace
}  // namespace pipecast
