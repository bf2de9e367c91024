#include <gtest/gtest.h>

#include "schedules/schedule.hpp"

namespace pipecast {
namespace {

using Texts = std::map<std::string, std::string, std::less<>>;

/// What a schedule says about a shape it refuses; empty when it accepts.
std::string complaint(std::string_view name, const Shape& shape, const Texts& params = {}) {
  const auto schedules = builtin_schedules();
  const ScheduleInfo* schedule = find_schedule(schedules, name);
  EXPECT_NE(schedule, nullptr) << name;
  const auto values = parse_fields(schedule->fields, params);
  EXPECT_TRUE(values) << render(values.error());
  const Workload workload = uniform_workload(shape, {{1.0}, {1.0}, {1.0}});
  const auto program = make_program(*schedule, {shape, *values, workload});
  if (program) return "";
  std::string text;
  for (const Diagnostic& fault : program.error()) {
    EXPECT_EQ(fault.fault, Fault::Infeasible);
    text += fault.message + " | " + fault.hint + "\n";
  }
  return text;
}

TEST(Constraints, OneChunkSchedulesSaySo) {
  for (const char* name :
       {"gpipe", "1f1b", "eager-1f1b", "zb-h1", "zb-h2", "dualpipe", "chimera", "forward-only"}) {
    const std::string text = complaint(name, {4, 2, 8});
    EXPECT_NE(text.find("places one chunk on a rank, chunks is 2"), std::string::npos) << text;
    EXPECT_NE(text.find("set chunks to 1"), std::string::npos) << text;
  }
}

TEST(Constraints, InterleavedNamesTheNearestMicrobatches) {
  EXPECT_EQ(complaint("interleaved-1f1b", {4, 2, 9}),
            "interleaved-1f1b runs microbatches in m div P = 2 equal rounds, 9 microbatches do not "
            "divide into them | set microbatches to 8 or 10\n");
  EXPECT_EQ(complaint("interleaved-1f1b", {4, 2, 10}), "");
  EXPECT_EQ(complaint("interleaved-1f1b", {4, 2, 3}), "");
}

TEST(Constraints, InterleavedNamesTheNearestGroups) {
  EXPECT_EQ(complaint("interleaved-1f1b", {4, 2, 8}, {{"group", "3"}}),
            "interleaved-1f1b: group is 3, allowed is 4 (ranks) to 8 (microbatches) | set group to "
            "4\n");
  EXPECT_EQ(complaint("interleaved-1f1b", {4, 2, 8}, {{"group", "9"}}),
            "interleaved-1f1b: group is 9, allowed is 4 (ranks) to 8 (microbatches) | set group to "
            "8\n");
  EXPECT_EQ(complaint("interleaved-1f1b", {4, 2, 13}, {{"group", "6"}}),
            "interleaved-1f1b: groups of 6 leave a last group of 1 microbatches, fewer than the 4 "
            "ranks | set group to 7\n");
  EXPECT_EQ(complaint("interleaved-1f1b", {4, 2, 3}, {{"group", "3"}}),
            "interleaved-1f1b with a group needs at least one microbatch per rank, there are 3 "
            "microbatches for 4 ranks | set microbatches to 4 or more, or leave group out\n");
}

TEST(Constraints, VSchedulesNeedTwoChunks) {
  for (const char* name : {"zbv", "v-half", "v-min", "v-1f1b", "dualpipe-v"})
    EXPECT_EQ(
        complaint(name, {2, 3, 8}),
        std::string(name) + " places 2 chunks on a rank (a V), chunks is 3 | set chunks to 2\n");
}

TEST(Constraints, GroupInterleavedBoundsTheGroup) {
  EXPECT_EQ(complaint("group-interleaved", {4, 2, 8}, {{"group", "5"}}),
            "group-interleaved: group is 5, allowed is 1 to the number of ranks, 4 | set group to "
            "4\n");
}

TEST(Constraints, DualPipeNamesEveryViolation) {
  EXPECT_EQ(complaint("dualpipe", {3, 1, 5}),
            "dualpipe folds an even number of ranks, there are 3 | set ranks to 2 or 4\n"
            "dualpipe needs an even number of microbatches (half go each way), at least two per "
            "rank; there are 5 for 3 ranks | set microbatches to 6 or more\n");
  EXPECT_EQ(complaint("dualpipe", {4, 1, 9}),
            "dualpipe needs an even number of microbatches (half go each way), at least two per "
            "rank; there are 9 for 4 ranks | set microbatches to 8 or 10\n");
  EXPECT_EQ(complaint("dualpipe-v", {4, 2, 7}),
            "dualpipe-v needs two microbatches per rank, there are 7 for 4 ranks | set "
            "microbatches to 8 or more\n");
}

TEST(Constraints, ChimeraNamesTheNearestPairs) {
  EXPECT_EQ(complaint("chimera", {12, 1, 12}, {{"pairs", "4"}}),
            "chimera: 4 pairs do not divide half of the 12 ranks | set pairs to 3 or 6\n");
  EXPECT_EQ(complaint("chimera", {5, 1, 10}),
            "chimera needs an even number of ranks, there are 5 | set ranks to 4 or 6\n");
}

TEST(Constraints, Seq1f1bReadsItsShares) {
  EXPECT_EQ(complaint("seq1f1b", {4, 1, 8}, {{"cuts", "3"}, {"cut_costs", "1:2"}}),
            "seq1f1b: cut_costs names 2 cuts, cuts is 3 | set cuts to 2\n");
  EXPECT_EQ(complaint("seq1f1b", {4, 1, 8}, {{"cut_sizes", "1:x"}}),
            "seq1f1b: cut_sizes is '1:x', which is not a list of positive numbers | write it as "
            "3:4:5\n");
  EXPECT_EQ(complaint("seq1f1b", {4, 1, 8}, {{"cut_sizes", "1:0"}}),
            "seq1f1b: cut_sizes is '1:0', which is not a list of positive numbers | write it as "
            "3:4:5\n");
  EXPECT_EQ(complaint("seq1f1b", {4, 1, 8}, {{"cuts", "3"}, {"cut_costs", "2:3:4.5"}}), "");
  EXPECT_EQ(complaint("seq1f1b", {1, 1, 1 << 18}, {{"cuts", "8"}}),
            "seq1f1b makes 2097152 units of 262144 microbatches, allowed are 1048576 and 50000000 "
            "over all ranks | take fewer microbatches\n");
}

TEST(Constraints, PipedreamUpdatesDivideAStep) {
  EXPECT_EQ(complaint("pipedream", {4, 1, 12}, {{"accumulate", "5"}}),
            "pipedream: updates after 5 microbatches do not divide the 12 of a step | set "
            "accumulate to 4 or 6\n");
  EXPECT_EQ(complaint("pipedream-2bw", {4, 1, 3}),
            "pipedream-2bw needs at least one microbatch per rank to get by with two versions of "
            "the weights, there are 3 for 4 ranks | set microbatches to 4 or more\n");
}

TEST(Constraints, HanayoTiesWavesToChunks) {
  EXPECT_EQ(complaint("hanayo", {4, 2, 8}, {{"waves", "2"}}),
            "hanayo places 4 chunks on a rank (two per wave, waves is 2), chunks is 2 | set chunks "
            "to 4\n");
  EXPECT_EQ(complaint("hanayo", {4, 3, 8}),
            "hanayo needs two chunks per wave, chunks is 3 | set chunks to 2 or 4\n");
  EXPECT_EQ(complaint("hanayo", {4, 4, 8}), "");
}

}  // namespace
}  // namespace pipecast
