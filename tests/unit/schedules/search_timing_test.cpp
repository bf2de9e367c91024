#include "schedules/search_timing.hpp"

#include <gtest/gtest.h>

#include "schedules/search_random.hpp"

namespace pipecast::search {
namespace {

constexpr Ticks kAnything = Ticks{1} << 60;

Problem problem_for(int ranks, int chunks, int microbatches, Objective objective) {
  const Shape shape{ranks, chunks, microbatches};
  Workload workload = uniform_workload(shape, {{1}, {1}, {1}});
  for (std::size_t stage = 0; stage < workload.costs.size(); ++stage)
    workload.costs[stage] = {{3.0 + static_cast<double>(stage % 3)}, {4}, {2}};
  workload.overheads.gap = {0.25};
  const ScheduleRequest request{shape, {}, workload};
  return make_problem(request, {.transfer = {0.5},
                                .activations = 2.0 * ranks * chunks,
                                .bytes = {},
                                .objective = objective});
}

void expect_same_times(const Problem& problem, const Timing& moved) {
  Timing fresh(problem);
  ASSERT_TRUE(fresh.assign(moved.order()));
  EXPECT_EQ(fresh.objective(), moved.objective());
  for (int rank = 0; rank < problem.ranks; ++rank) {
    EXPECT_EQ(fresh.score(rank), moved.score(rank));
    for (int position = 0; position < problem.length(); ++position)
      ASSERT_EQ(fresh.wait_before(rank, position), moved.wait_before(rank, position));
  }
}

/// Whatever is moved, refused or taken back, the times are those of the order from scratch, and
/// the order stays legal.
void move_at_random(const Problem& problem, std::uint64_t seed) {
  Timing timing(problem);
  ASSERT_TRUE(timing.assign(serial_order(problem)));
  Random random(seed);
  int moves = 0;
  for (int attempt = 0; attempt < 4000; ++attempt) {
    const Move move{random.below(problem.ranks), random.below(problem.length()),
                    random.below(problem.length())};
    if (move.from == move.to || move.from == 0 || move.to == 0 || !timing.movable(move)) continue;
    const Ticks before = timing.objective();
    if (!timing.try_move(move, random.below(4) == 0 ? before : kAnything)) {
      EXPECT_EQ(timing.objective(), before);
    } else if (random.below(3) == 0) {
      timing.undo();
      EXPECT_EQ(timing.objective(), before);
    }
    if (++moves % 16 == 0) expect_same_times(problem, timing);
  }
  EXPECT_GT(moves, 30);
  expect_same_times(problem, timing);
  EXPECT_TRUE(legal(problem, timing.order()));
}

TEST(SearchTiming, MovesKeepTheTimesOfTheOrder) {
  move_at_random(problem_for(4, 1, 9, Objective::LargestSpan), 1);
  move_at_random(problem_for(4, 2, 7, Objective::LargestSpan), 2);
  move_at_random(problem_for(3, 1, 40, Objective::Makespan), 3);
  move_at_random(problem_for(1, 2, 5, Objective::Makespan), 4);
}

TEST(SearchTiming, RefusesAnOrderThatCanNeverFinish) {
  const Problem problem = problem_for(2, 1, 2, Objective::LargestSpan);
  Timing timing(problem);
  // Rank 0 wants the first gradient before its second forward, rank 1 both forwards first.
  EXPECT_FALSE(timing.assign({{0, 1, 0, 1, 2, 2}, {0, 0, 1, 1, 2, 2}}));
  EXPECT_TRUE(timing.assign({{0, 0, 1, 1, 2, 2}, {0, 0, 1, 1, 2, 2}}));
}

TEST(SearchTiming, TheLongestPathLeadsFromTheEndToTheStart) {
  const Problem problem = problem_for(4, 1, 9, Objective::Makespan);
  Timing timing(problem);
  ASSERT_TRUE(timing.assign(serial_order(problem)));
  std::vector<Place> path;
  timing.critical_path(path);
  EXPECT_EQ(path.front().position, problem.length() - 1);
  EXPECT_EQ(path.back().rank, 0);
  EXPECT_EQ(path.back().position, 0);
}

TEST(SearchTiming, LocalDependenciesAndMemoryForbidMoves) {
  Problem problem = problem_for(1, 1, 3, Objective::Makespan);
  problem.limit = {2};
  Timing timing(problem);
  // F F I I W W F I W
  ASSERT_TRUE(timing.assign({{0, 0, 1, 1, 2, 2, 0, 1, 2}}));
  EXPECT_TRUE(timing.movable({0, 3, 4})) << "the second I past the first W";
  EXPECT_FALSE(timing.movable({0, 3, 5})) << "the second I past its own W";
  EXPECT_TRUE(timing.movable({0, 6, 5})) << "the third F when one activation is free";
  EXPECT_FALSE(timing.movable({0, 6, 4})) << "the third F when both are held";
  EXPECT_FALSE(timing.movable({0, 2, 3})) << "an I past an I";
}

}  // namespace
}  // namespace pipecast::search
