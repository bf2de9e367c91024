#include <gtest/gtest.h>

#include <map>
#include <string_view>

#include "tests/agree/agreement.hpp"
#include "tests/support/random_program.hpp"
#include "tests/support/registry_cases.hpp"

namespace pipecast {
namespace {

using testing::Batches;
using testing::Random;
using testing::RegistryCase;
using testing::Verdict;

constexpr Shape kLargest{4, 2, 6};

std::string text(const Shape& shape) {
  return "P=" + std::to_string(shape.ranks) + " v=" + std::to_string(shape.chunks) +
         " m=" + std::to_string(shape.microbatches);
}

/// One registered schedule in one shape, with costs and a fabric that its shape decides.
void add_case(Batches& batches, const RegistryCase& registered, const Shape& shape,
              Sharing sharing) {
  Random random(static_cast<std::uint64_t>(shape.ranks * 100 + shape.chunks * 10) +
                static_cast<std::uint64_t>(shape.microbatches) * 1000);
  const std::string label = registered.label + " " + text(shape);
  const Workload even = uniform_workload(shape, {{1e-3}, {1e-3}, {1e-3}});
  const Result<Program> program =
      make_program(*registered.schedule, {shape, registered.params, even});
  ASSERT_TRUE(program) << label << ": " << render(program.error());
  const Workload workload = testing::random_workload(random, *program);
  const Platform platform = testing::random_platform(random, shape.ranks, sharing);
  Result<TaskGraph> graph =
      build_task_graph(*program, workload, platform, testing::in_order(*program));
  ASSERT_TRUE(graph) << label << ": " << render(graph.error());
  batches.add({platform, std::move(*graph)}, label);
}

void run_registry(Sharing sharing, Verdict verdict) {
  const std::vector<ScheduleInfo> schedules = builtin_schedules();
  // Some parameter values ask for shapes beyond the grid; every schedule has one that does not.
  std::map<std::string_view, std::size_t> compared;
  for (const RegistryCase& registered : testing::registry_cases(schedules)) {
    Batches batches(verdict, 64);
    for (const Shape& shape : testing::accepted_shapes(registered, kLargest))
      add_case(batches, registered, shape, sharing);
    batches.flush();
    compared[registered.schedule->name] += batches.compared_tasks();
  }
  EXPECT_EQ(compared.size(), schedules.size());
  for (const auto& [name, tasks] : compared)
    EXPECT_GT(tasks, 0U) << name << " accepts no small shape";
}

TEST(Agree, EveryScheduleInEverySmallShapeOnFatPipes) {
  run_registry(Sharing::FatPipe, Verdict::Equal);
}

TEST(Agree, EveryScheduleInEverySmallShapeIsNotEarlierOnSharedLinks) {
  run_registry(Sharing::Shared, Verdict::NotEarlier);
}

}  // namespace
}  // namespace pipecast
