#include "sim/read/trace_import.hpp"

#include <gtest/gtest.h>

#include "sim/read/measured_file.hpp"
#include "sim/read/trace_extent.hpp"
#include "sim/read/trace_operations.hpp"

namespace pipecast {
namespace {

Result<TraceContent> read(std::string_view text) {
  return read_trace(ByteSource::of_text(text), "t.json");
}

std::string message(const Diagnostics& faults) { return faults.empty() ? "" : faults[0].message; }

constexpr std::string_view kHost =
    R"({"schemaVersion":1,"distributedInfo":{"rank":1,"world_size":2},"traceEvents":[
{"ph":"X","cat":"user_annotation","name":"PP:1RECV_F0","tid":7,"ts":0,"dur":10},
{"ph":"X","cat":"user_annotation","name":"gloo:recv","tid":7,"ts":5,"dur":95,"args":{"name":"x"}},
{"ph":"X","cat":"user_annotation","name":"PP:1F0","tid":7,"ts":10,"dur":190},
{"ph":"X","cat":"cpu_op","name":"aten::mm","tid":7,"ts":110,"dur":20},
{"ph":"X","cat":"user_annotation","name":"PP:1B0","tid":7,"ts":210,"dur":100}]})";

/// The runtime took 10 us from the receive to the first host operation, and as long after the last.
TEST(TraceImport, TakesTheWaitForTheInputOff) {
  const auto content = read(kHost);
  ASSERT_TRUE(content) << message(content.error());
  EXPECT_EQ(content->rank, 1);
  EXPECT_EQ(content->world, 2);
  const auto steps = rank_steps(*content, 1, "t.json");
  ASSERT_TRUE(steps);
  ASSERT_EQ(steps->size(), 1u);
  ASSERT_EQ(steps->front().ops.size(), 2u);
  const MeasuredOp& forward = steps->front().ops[0];
  EXPECT_NEAR(forward.begin_s, 110e-6, 1e-12);
  EXPECT_NEAR(forward.end_s, 190e-6, 1e-12);
  EXPECT_NEAR(forward.waited_s, 100e-6, 1e-12);
  const MeasuredOp& backward = steps->front().ops[1];
  EXPECT_NEAR(backward.begin_s, 220e-6, 1e-12);
  EXPECT_NEAR(backward.end_s, 300e-6, 1e-12);
}

constexpr TraceHostOp host_op(double begin_us, float length_us,
                              TraceHostOp::Sort sort = TraceHostOp::Sort::Other) {
  return {.thread = 7, .begin_us = begin_us, .length_us = length_us, .sort = sort};
}

const TraceSlice kSlice{"PP:0F0", 7, 100, 1100};

TEST(SliceExtent, TheLossFollowsTheForwardOfAStageThatIsSilent) {
  const std::vector<TraceHostOp> ops = {host_op(150, 20), host_op(160, 5), host_op(980, 30),
                                        host_op(1020, 50)};
  SliceQuestion question{.slice = kSlice, .input_us = 100, .is_forward = true};
  const SliceExtent forward = extent_of(look_into(question, ops), 50);
  EXPECT_DOUBLE_EQ(forward.begin_us, 150);
  EXPECT_DOUBLE_EQ(forward.end_us, 930);
  question.is_forward = false;
  EXPECT_DOUBLE_EQ(extent_of(look_into(question, ops), 50).end_us, 1070);
}

TEST(SliceExtent, WorkOnTheHostIsNeverCutOff) {
  const std::vector<TraceHostOp> ops = {host_op(150, 400), host_op(600, 480)};
  const SliceQuestion question{.slice = kSlice, .input_us = 100, .is_forward = true};
  EXPECT_DOUBLE_EQ(extent_of(look_into(question, ops), 50).end_us, 1080);
}

TEST(SliceExtent, ALateFirstOperationDoesNotDelayTheBegin) {
  const std::vector<TraceHostOp> ops = {host_op(400, 20)};
  const SliceSight late = look_into({.slice = kSlice, .input_us = 100}, ops);
  EXPECT_DOUBLE_EQ(extent_of(late, 50).begin_us, 150);
  const std::vector<SliceSight> sights = {late, look_into({.slice = kSlice, .input_us = 350}, ops),
                                          look_into({.slice = kSlice, .input_us = 360}, ops),
                                          look_into({.slice = kSlice, .input_us = 500}, ops)};
  EXPECT_DOUBLE_EQ(usual_head_us(sights), 50);
}

TEST(SliceExtent, SendsPostedInsideEndTheComputation) {
  const std::vector<TraceHostOp> ops = {host_op(110, 10, TraceHostOp::Sort::Posting),
                                        host_op(150, 20),
                                        host_op(900, 50, TraceHostOp::Sort::Posting)};
  const SliceQuestion question{.slice = kSlice, .input_us = 100, .posts_inside = true};
  const SliceExtent extent = extent_of(look_into(question, ops), 50);
  EXPECT_DOUBLE_EQ(extent.begin_us, 150);
  EXPECT_DOUBLE_EQ(extent.end_us, 850);
}

TEST(TraceImport, PrefersTheDeviceAndCountsTransferKernels) {
  const auto content = read(R"json([
{"ph":"X","cat":"user_annotation","name":"PP:0F0","tid":1,"ts":0,"dur":2},
{"ph":"X","cat":"gpu_user_annotation","name":"PP:0F0","tid":9,"ts":5,"dur":40},
{"ph":"X","cat":"kernel","name":"ncclDevKernel_SendRecv(x)","tid":9,"ts":50,"dur":30},
{"ph":"X","cat":"kernel","name":"ncclDevKernel_SendRecv(x)","tid":9,"ts":90,"dur":8}])json");
  ASSERT_TRUE(content);
  const auto steps = rank_steps(*content, 0, "t.json");
  ASSERT_TRUE(steps);
  EXPECT_NEAR(steps->front().ops.at(0).seconds(), 40e-6, 1e-12);
  EXPECT_EQ(steps->front().transfers.count, 2);
  EXPECT_NEAR(steps->front().transfers.shortest_s, 8e-6, 1e-12);
}

TEST(TraceImport, SaysWhatIsWrongWithAFile) {
  EXPECT_EQ(message(read("").error()), "the trace is empty (at byte 0)");
  EXPECT_NE(message(read(kHost.substr(0, 300)).error()).find("is cut off"), std::string::npos);
  EXPECT_NE(message(read("{\"a\": nope}").error()).find("is not JSON"), std::string::npos);
  const std::string deep(1000, '[');
  EXPECT_NE(message(read(deep).error()).find("nested deeper"), std::string::npos);
  const std::string wide = "[\"" + std::string(2 << 20, 'x') + "\"]";
  EXPECT_NE(message(read(wide).error()).find("more than 1 MiB"), std::string::npos);
  const auto none = rank_steps(*read(R"({"traceEvents":[{"ph":"X","name":"a"}]})"), 0, "t.json");
  ASSERT_FALSE(none);
  EXPECT_NE(message(none.error()).find("of no pipeline: 1 events"), std::string::npos);
}

TEST(IntervalCsv, NamesTheLineOfEachFault) {
  const auto run = read_interval_csv(
      "rank,kind,microbatch,start_ms,end_ms\n0,F,0,0,1\n0,F,x,1,2\n"
      "0,B,0,5,2\n0,B,0\n",
      "i.csv");
  ASSERT_FALSE(run);
  ASSERT_EQ(run.error().size(), 3u);
  EXPECT_EQ(run.error()[0].where.line, 3);
  EXPECT_EQ(run.error()[1].message, "the interval ends before it begins");
  EXPECT_EQ(run.error()[2].where.line, 5);
  EXPECT_FALSE(read_interval_csv("a,b\n1,2\n", "i.csv"));
}

TEST(IntervalTree, ReadsListsByRank) {
  const auto run = read_interval_tree(
      R"({"3": {"total": 9, "fwd_start": [0, 2], "fwd_end": [1, 3], "bwd_start": [4, 6], "bwd_end": [5, 8]}})",
      "pp_rank_0.json", 0);
  ASSERT_TRUE(run) << message(run.error());
  ASSERT_EQ(run->steps.size(), 1u);
  EXPECT_EQ(run->steps[0].name, "step 3");
  EXPECT_EQ(run->steps[0].ranks[0].ops.size(), 4u);
  EXPECT_NEAR(run->steps[0].seconds(), 9e-3, 1e-12);
  EXPECT_FALSE(read_interval_tree("iterations: [{ranks: [{fwd: [[1]]}]}]", "x.yaml", -1));
}

TEST(Tidy, RefusesAnOperationMeasuredTwice) {
  const auto run = read_interval_csv(
      "rank,kind,microbatch,start_ms,end_ms,stage\n0,F,0,0,1,0\n"
      "1,F,0,0,1,0\n",
      "i.csv");
  ASSERT_TRUE(run);
  MeasuredRun mixed = *run;
  EXPECT_EQ(message(tidy(mixed)), "step 0: 0F0 was measured on rank 0 and on rank 1");
}

}  // namespace
}  // namespace pipecast
