#include "sim/report/timeline_text.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "tests/unit/report/run_fixture.hpp"

namespace pipecast {
namespace {

using testing::make_run;
using testing::make_test_op;
using testing::one_f_one_b_program;

testing::TestRun run_of(int ranks, int microbatches, StageCost cost, double delay_s = 0) {
  Program program = one_f_one_b_program(ranks, microbatches);
  Workload workload = uniform_workload(program.shape, cost);
  return make_run(std::move(program), std::move(workload),
                  constant_delay_platform(ranks, {delay_s}));
}

std::string drawn(const testing::TestRun& run, const TimelineTextOptions& options = {}) {
  return timeline_text(run.program, run.workload, run.graph, run.timeline, options);
}

TimelineTextOptions ticks(int columns) { return {.columns = columns, .labels = TimeLabels::Ticks}; }

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST(TimelineText, DrawsWholeColumnsPerTick) {
  EXPECT_EQ(drawn(run_of(4, 8, {{1}, {1}, {1}}), ticks(80)),
            R"(rank 0 |F0F1F2F3............B0==F4B1==F5B2==F6B3==F7B4==..B5==..B6==..B7==
rank 1 |..F0F1F2........B0==F3B1==F4B2==F5B3==F6B4==F7B5==..B6==..B7==....
rank 2 |....F0F1....B0==F2B1==F3B2==F4B3==F5B4==F6B5==F7B6==..B7==........
rank 3 |......F0B0==F1B1==F2B2==F3B3==F4B4==F5B5==F6B6==F7B7==............
        +---------+---------+---------+---------+---------+---------+-----
        0         5         10        15        20        25        30
letter and microbatch: F forward, B backward, . idle
)");
}

TEST(TimelineText, ShowsWhatARankWaitsFor) {
  // Rank 1 computes from 2 to 6 ms; each gradient arrives one millisecond after its backward.
  EXPECT_EQ(drawn(run_of(2, 2, {{0.001}, {0.001}, {0}}, 0.001)),
            R"(rank 0 |F0--F1--........>>>>B0==>>>>B1==
rank 1 |....>>>>F0--B0==F1--B1==........
        +-------------------+-----------
        0 ms                5
letter and microbatch: F forward, B backward, . idle, > waiting for a message
)");
}

TEST(TimelineText, CutsIntoPagesWhereFewBoxesAreCut) {
  const auto lines = lines_of(drawn(run_of(4, 16, {{1}, {1}, {1}}), ticks(80)));
  std::size_t pages = 0;
  for (const std::string& line : lines) {
    EXPECT_LE(line.size(), 80U) << line;
    if (line.starts_with("rank 0")) ++pages;
  }
  EXPECT_EQ(pages, 3U);
  EXPECT_TRUE(lines[7].starts_with("rank 0 |B") || lines[7].starts_with("rank 0 |F")) << lines[7];
}

TEST(TimelineText, CompressesWhatNeedsTooManyPages) {
  const std::string text = drawn(run_of(16, 64, {{1}, {1}, {1}}), ticks(80));
  const auto lines = lines_of(text);
  EXPECT_EQ(lines[0], "rank 0  |FFFFF........." + std::string(43, 'x') + std::string(13, 'B'));
  EXPECT_EQ(lines[18], "F forward, B backward, . idle, x forwards and backwards");
  EXPECT_EQ(lines[19], "compressed: 3.39 ticks a column, drawn as what filled most");
  for (const std::string& line : lines) EXPECT_LE(line.size(), 80U) << line;
}

TEST(TimelineText, DrawsSomeOfVeryManyRanks) {
  const std::string text = drawn(run_of(300, 2, {{1}, {1}, {1}}), ticks(120));
  EXPECT_NE(text.find("rank 0   |"), std::string::npos) << text;
  EXPECT_NE(text.find("rank 299 |"), std::string::npos);
  EXPECT_NE(text.find("64 of 300 ranks are drawn"), std::string::npos);
}

TEST(TimelineText, TellsChunksAndPairsApart) {
  Program program;
  program.shape = {1, 2, 2};
  program.placement = loop_placement(program.shape);
  program.ranks = {
      {make_test_op(OpKind::Forward, 0, 0), make_test_op(OpKind::Forward, 1, 0),
       make_test_op(OpKind::Forward, 0, 1, true), make_test_op(OpKind::BackwardFull, 1, 0),
       make_test_op(OpKind::Forward, 1, 1), make_test_op(OpKind::BackwardFull, 0, 0),
       make_test_op(OpKind::BackwardFull, 1, 1), make_test_op(OpKind::BackwardFull, 0, 1)}};
  Workload workload = uniform_workload(program.shape, {{1}, {1}, {1}});
  const auto run =
      make_run(std::move(program), std::move(workload), constant_delay_platform(1, {}));
  const auto lines = lines_of(drawn(run, ticks(80)));
  EXPECT_EQ(lines[0], "rank 0 |F0--f0--F1&&b0&&&&&&f1--B0======b1======B1======");
  EXPECT_EQ(lines[3], "letter and microbatch: F forward, B backward, & overlapped pair");
  EXPECT_EQ(lines[4], "lower case: the rank's second chunk");
}

TEST(TimelineText, ColoursOnlyWhenAsked) {
  const auto run = run_of(2, 2, {{1}, {1}, {1}});
  EXPECT_EQ(drawn(run).find('\x1b'), std::string::npos);
  TimelineTextOptions options = ticks(80);
  options.color = Color::Ansi;
  const std::string text = drawn(run, options);
  EXPECT_NE(text.find("\x1b[38;5;16;48;5;117mF0  F1  \x1b[0m"), std::string::npos) << text;
}

TEST(TimelineText, AStepWithoutTimeSaysSo) {
  EXPECT_EQ(drawn(run_of(2, 2, {{0}, {0}, {0}})), "nothing takes any time\n");
}

}  // namespace
}  // namespace pipecast
