#include "sim/read/layout_search.hpp"

#include <gtest/gtest.h>

#include <set>
#include <tuple>

namespace pipecast {
namespace {

Diagnostics needs_one_chunk(const ScheduleRequest& request) {
  if (request.shape.chunks == 1) return {};
  return {infeasible("plain has one chunk")};
}
Diagnostics needs_whole_rounds(const ScheduleRequest& request) {
  if (request.shape.chunks == 1) return {infeasible("looped needs chunks")};
  if (request.shape.microbatches % request.shape.ranks == 0) return {};
  return {infeasible("looped runs in rounds")};
}

/// A registry of our own: the reader links none of the real ones.
std::vector<ScheduleInfo> schedules() {
  std::vector<ScheduleInfo> result(2);
  result[0].name = "plain";
  result[0].check = needs_one_chunk;
  result[1].name = "looped";
  result[1].check = needs_whole_rounds;
  return result;
}

LayoutProblem problem() {
  LayoutProblem result;
  result.plan.model.layers = 24;
  result.plan.model.hidden = 1536;
  result.plan.model.heads = 12;
  result.plan.model.key_value_heads = 4;
  result.plan.model.feed_forward = 6144;
  result.plan.layout.sequence = 4096;
  result.global_batch = 48;
  result.devices = 32;
  result.domain = 8;
  return result;
}

LayoutBounds bounds() {
  LayoutBounds result;
  result.schedules = {"plain", "looped"};
  return result;
}

std::vector<LayoutChoice> found(const LayoutBounds& within, const LayoutProblem& asked) {
  const auto known = schedules();
  auto result = search_layouts(within, asked, known);
  EXPECT_TRUE(result) << render(result.error());
  return result ? *result : std::vector<LayoutChoice>{};
}

TEST(LayoutSearch, EveryLayoutDivides) {
  const LayoutProblem asked = problem();
  const auto layouts = found(bounds(), asked);
  EXPECT_GT(layouts.size(), 100U);
  for (const LayoutChoice& choice : layouts) {
    const ParallelLayout& layout = choice.layout;
    EXPECT_EQ(layout.devices(), 32);
    EXPECT_TRUE(check(layout, asked.plan.model).empty());
    EXPECT_EQ(choice.microbatches() * layout.microbatch_size * layout.data, 48);
    EXPECT_TRUE(split_layers(asked.plan.model, layout, {}));
    EXPECT_LE(layout.tensor, 8);
    EXPECT_LE(layout.context, 2);                       // 4,096 tokens, 2,048 for each
    EXPECT_EQ(layout.expert, 1);                        // a dense model
    EXPECT_NE(layout.recompute, Recompute::Selective);  // nothing of a fused kernel is stored
    EXPECT_TRUE(layout.pipeline > 1 || (choice.schedule == "plain" && layout.chunks == 1));
  }
}

TEST(LayoutSearch, ListsEachLayoutOnceAndAlwaysInTheSameOrder) {
  const auto layouts = found(bounds(), problem());
  EXPECT_EQ(found(bounds(), problem()), layouts);
  std::set<std::tuple<int, int, int, int, int, int, std::string>> seen;
  int tensor = 0;
  for (const LayoutChoice& choice : layouts) {
    const ParallelLayout& layout = choice.layout;
    EXPECT_GE(layout.tensor, tensor);
    tensor = layout.tensor;
    EXPECT_TRUE(seen.emplace(layout.tensor, layout.pipeline, layout.context, layout.chunks,
                             layout.microbatch_size, static_cast<int>(layout.recompute),
                             choice.schedule)
                    .second);
  }
}

TEST(LayoutSearch, KeepsToItsBounds) {
  LayoutBounds within = bounds();
  within.tensor = {4};
  within.pipeline = {2, 4};
  within.data = {4};
  within.chunks = {3};
  within.microbatch_size = {1};
  within.recompute = {Recompute::Selective};
  const auto layouts = found(within, problem());
  ASSERT_EQ(layouts.size(), 1U);  // 4 × 2 × 1 × 4; with pipeline 4, context 1 leaves 2 to data
  EXPECT_EQ(layouts[0].layout.pipeline, 2);
  EXPECT_EQ(layouts[0].layout.context, 1);
  EXPECT_EQ(layouts[0].schedule, "looped");
  EXPECT_EQ(layouts[0].layout.recompute, Recompute::Selective);
}

TEST(LayoutSearch, FindsExpertDegrees) {
  LayoutProblem asked = problem();
  asked.plan.model.experts = {.count = 8, .active = 2, .width = 2048};
  std::set<int> degrees;
  for (const LayoutChoice& choice : found(bounds(), asked)) degrees.insert(choice.layout.expert);
  EXPECT_EQ(degrees, (std::set<int>{1, 2, 4, 8}));
}

TEST(LayoutSearch, SaysWhyNothingDivides) {
  const auto known = schedules();
  LayoutProblem asked = problem();
  asked.devices = 84;
  LayoutBounds within = bounds();
  within.tensor = {8};
  auto none = search_layouts(within, asked, known);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().front().message,
            "84 devices do not divide by tensor × pipeline × context, 8 × 1 × 1");
  EXPECT_EQ(none.error().front().fault, Fault::Infeasible);
  within.tensor = {4};
  within.pipeline = {1};
  none = search_layouts(within, asked, known);
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().front().message.find("global batch of 48 does not divide"),
            std::string::npos)
      << none.error().front().message;
}

}  // namespace
}  // namespace pipecast
