#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>

#include "tests/support/golden_orders.hpp"
#include "tests/support/registry_cases.hpp"

/// The order and the time of every registered schedule on the smallest shape it accepts. Set
/// PIPECAST_BLESS=1 to rewrite the file after an intended change.
namespace pipecast::testing {
namespace {

constexpr StageCost kCost = {{2}, {3}, {1}};
constexpr Seconds kDelay = {0.5};

/// Two ranks and two microbatches, or the next larger shape that suits the schedule.
std::optional<Shape> smallest_shape(const RegistryCase& registered) {
  for (int ranks = 2; ranks <= 4; ++ranks)
    for (int microbatches = 2; microbatches <= 8; ++microbatches) {
      const Shape shape{ranks, registered.schedule->default_chunks, microbatches};
      const Workload workload = uniform_workload(shape, kCost);
      if (registered.schedule->check({shape, registered.params, workload}).empty()) return shape;
    }
  return std::nullopt;
}

std::string block(const RegistryCase& registered) {
  const auto shape = smallest_shape(registered);
  if (!shape) return fmt::format("# {}: no small shape\n", registered.label);
  const Workload workload = uniform_workload(*shape, kCost);
  const auto program = make_program(*registered.schedule, {*shape, registered.params, workload});
  if (!program) return fmt::format("# {}: {}", registered.label, render(program.error()));
  std::string text =
      fmt::format("# {}: {} ranks, {} chunks, {} microbatches\n", registered.schedule->name,
                  shape->ranks, shape->chunks, shape->microbatches);
  for (const std::vector<std::string>& cells : cells_of(*program))
    text += fmt::format("{}\n", fmt::join(cells, ","));
  const auto run = simulated(*program, workload, kDelay);
  if (!run) return text + render(run.error());
  return text + fmt::format("makespan {}, largest span {}, in flight {}\n", run->makespan_s,
                            run->max_rank_span_s,
                            fmt::join(peak_in_flight(*program, ReleasedBy::Weight), " "));
}

TEST(SmallestShapes, AreAsBlessed) {
  const auto schedules = builtin_schedules();
  std::string text;
  for (const RegistryCase& registered : registry_cases(schedules))
    if (registered.label == registered.schedule->name) text += block(registered);
  const std::string path = std::string(PIPECAST_TEST_DIR) + "/golden/data/smallest_shapes.txt";
  if (std::getenv("PIPECAST_BLESS") != nullptr) std::ofstream(path) << text;
  std::ifstream file(path);
  std::ostringstream blessed;
  blessed << file.rdbuf();
  EXPECT_EQ(text, blessed.str()) << "F, I, W = 2, 3, 1 s, 0.5 s per message";
}

}  // namespace
}  // namespace pipecast::testing
