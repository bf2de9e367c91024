#include <gtest/gtest.h>

#include <set>

#include "tests/agree/agreement.hpp"
#include "tests/support/max_min.hpp"
#include "tests/support/random_program.hpp"

namespace pipecast {
namespace {

using testing::Batches;
using testing::Placed;
using testing::Random;
using testing::Verdict;

constexpr int kPrograms = 2000;

/// Program, costs and fabric number `seed`; the same ones whether links are shared or not.
Result<Placed> random_case(std::uint64_t seed, Sharing sharing) {
  Random random(seed);
  const Program program = testing::random_program(random);
  EXPECT_TRUE(check(program).empty()) << "seed " << seed << ": " << render(check(program));
  const Workload workload = testing::random_workload(random, program);
  Platform platform = testing::random_platform(random, program.shape.ranks, sharing);
  Result<TaskGraph> graph =
      build_task_graph(program, workload, platform, testing::in_order(program));
  if (!graph) return fail(graph.error());
  return Placed{std::move(platform), std::move(*graph)};
}

void run_random_programs(Sharing sharing, Verdict verdict,
                         testing::Evaluator other = testing::by_longest_path) {
  Batches batches(verdict, 100, other);
  for (std::uint64_t seed = 0; seed < kPrograms; ++seed) {
    Result<Placed> drawn = random_case(seed, sharing);
    ASSERT_TRUE(drawn) << "seed " << seed << ": " << render(drawn.error());
    batches.add(std::move(*drawn), "seed " + std::to_string(seed));
  }
  batches.flush();
  ::testing::Test::RecordProperty("tasks", std::to_string(batches.compared_tasks()));
}

TEST(Agree, RandomProgramsOnFatPipes) { run_random_programs(Sharing::FatPipe, Verdict::Equal); }

TEST(Agree, RandomProgramsAreNotEarlierOnSharedLinks) {
  run_random_programs(Sharing::Shared, Verdict::NotEarlier);
}

/// On shared links every date is the one that max–min fairness gives.
TEST(Agree, RandomProgramsShareLinksMaxMinFairly) {
  run_random_programs(Sharing::Shared, Verdict::Equal, [](const Placed& placed) {
    return testing::max_min_reference(placed.graph, placed.platform);
  });
}

/// Alone in its process a program is its own time scale.
TEST(Agree, RandomProgramsOneByOne) {
  for (std::uint64_t seed = 10'000; seed < 10'100; ++seed) {
    const Result<Placed> drawn = random_case(seed, Sharing::FatPipe);
    ASSERT_TRUE(drawn) << "seed " << seed;
    testing::expect_agreement({*drawn}, {"seed " + std::to_string(seed)}, Verdict::Equal);
  }
}

/// Sharing must show somewhere, or "not earlier" would be tested on idle links.
TEST(Agree, RandomProgramsDoContend) {
  int slowed = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Result<Placed> drawn = random_case(seed, Sharing::Shared);
    ASSERT_TRUE(drawn);
    const Result<Timeline> shared = simgrid_run(drawn->graph, drawn->platform);
    ASSERT_TRUE(shared);
    if (makespan(*shared).value > 1.001 * makespan(longest_path(drawn->graph)).value) ++slowed;
  }
  EXPECT_GT(slowed, 5);
}

/// The generator must reach what it promises.
TEST(Agree, RandomProgramsAreVaried) {
  std::set<int> ranks, chunks, microbatches;
  int split = 0, mixed = 0, forward_only = 0, overlapped = 0, two_directions = 0, varying = 0;
  for (std::uint64_t seed = 0; seed < kPrograms; ++seed) {
    Random random(seed);
    const Program program = testing::random_program(random);
    ranks.insert(program.shape.ranks);
    chunks.insert(program.shape.chunks);
    microbatches.insert(program.shape.microbatches);
    bool whole = false, joined = false;
    for (const auto& ops : program.ranks)
      for (const Op& op : ops) {
        whole |= op.kind == OpKind::BackwardFull;
        joined |= op.joined;
      }
    split += has_split_backward(program) && !whole ? 1 : 0;
    mixed += has_split_backward(program) && whole ? 1 : 0;
    forward_only += has_backward(program) ? 0 : 1;
    overlapped += joined ? 1 : 0;
    two_directions += program.placement.directions() > 1 ? 1 : 0;
    varying += testing::random_workload(random, program).varies_by_microbatch() ? 1 : 0;
  }
  EXPECT_EQ(ranks.size(), 5U);
  EXPECT_EQ(chunks.size(), 4U);
  EXPECT_EQ(microbatches.size(), 8U);
  for (const int count : {split, mixed, forward_only, overlapped, two_directions, varying})
    EXPECT_GT(count, kPrograms / 40);
}

}  // namespace
}  // namespace pipecast
