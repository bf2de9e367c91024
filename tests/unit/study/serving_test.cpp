#include "sim/study/serving.hpp"

#include <gtest/gtest.h>

#include "sim/cost/activation.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/run/longest_path.hpp"

namespace pipecast {
namespace {

TransformerModel llama2_70b() {
  TransformerModel model;
  model.name = "llama2-70b";
  model.layers = 80;
  model.hidden = 8192;
  model.heads = 64;
  model.key_value_heads = 8;
  model.head_width = 128;
  model.feed_forward = 28672;
  model.vocabulary = 32000;
  return model;
}

ServingDevice device(double memory_gib) {
  ServingDevice result;
  result.compute = {600e12};
  result.memory_bandwidth = {2.6e12};
  result.memory = {memory_gib * 1024 * 1024 * 1024};
  return result;
}

ServingPlan plan_of(int pipeline, double memory_gib) {
  ParallelLayout layout;
  layout.pipeline = pipeline;
  auto plan = serving_plan(llama2_70b(), layout, device(memory_gib), 2, 2);
  EXPECT_TRUE(plan) << render(plan ? Diagnostics{} : plan.error());
  return *plan;
}

TEST(Serving, AStageCachesItsShareOf320KiBPerToken) {
  const ServingPlan plan = plan_of(4, 0);
  EXPECT_EQ(plan.stages[0].cache_per_token, 80.0 * 1024);
  EXPECT_EQ(key_value_bytes_per_token(plan.model, 2).value, 320.0 * 1024);
}

TEST(Serving, OneDecodingSequenceReadsEveryWeightOnce) {
  const ServingPlan plan = plan_of(4, 0);
  PassLoad load = decode_load(0);
  const double bytes = 2 * plan.stages[1].weights;
  EXPECT_DOUBLE_EQ(pass_seconds(plan, 1, load).value, bytes / 2.6e12);
  // Large prefills are bound by compute.
  load = prefill_load(8192);
  EXPECT_GT(pass_seconds(plan, 1, load).value, 2 * plan.stages[1].weights * 8192 / 600e12);
}

TEST(Serving, AsManyMicrobatchesAsStagesKeepThemBusy) {
  const ServingPlan plan = plan_of(4, 0);
  const DecodePoint one = decode_point(plan, 1, 1, 512);
  const DecodePoint four = decode_point(plan, 1, 4, 512);
  const DecodePoint eight = decode_point(plan, 1, 8, 512);
  EXPECT_LT(one.utilization, 0.3);
  EXPECT_GT(four.utilization, 0.95);
  EXPECT_NEAR(eight.utilization, 1, 1e-12);
  EXPECT_GT(four.tokens_per_s, 3.8 * one.tokens_per_s);
  // More than that only makes everyone wait.
  EXPECT_NEAR(eight.step_s / four.step_s, 2, 0.1);
}

TEST(Serving, TheCacheLimitsTheBatch) {
  const ServingPlan plan = plan_of(4, 80);
  const int limit = largest_batch(plan, 4, 2048);
  EXPECT_GT(limit, 0);
  EXPECT_TRUE(decode_point(plan, limit, 4, 2048).fits);
  EXPECT_FALSE(decode_point(plan, limit + 1, 4, 2048).fits);
  ParallelLayout layout;
  EXPECT_FALSE(serving_plan(llama2_70b(), layout, device(80), 2, 2));  // 140 GB of weights
}

TEST(Serving, OneRequestTakesItsPrefillAndItsSteps) {
  const ServingPlan plan = plan_of(2, 0);
  const auto result = serve(plan, {Batching::Continuous, 2, 4}, {{1.5, 100, 3}});
  ASSERT_TRUE(result);
  double expected = 1.5;
  for (const PassLoad& load : {prefill_load(100), decode_load(101), decode_load(102)})
    for (std::size_t stage = 0; stage < 2; ++stage)
      expected += pass_seconds(plan, stage, load).value;
  EXPECT_NEAR(result->requests[0].end_s, expected, 1e-12);
  EXPECT_EQ(result->passes.size(), 3U);
  EXPECT_EQ(result->output_tokens, 3);
}

std::vector<ServingRequest> mixed_requests() {
  std::vector<ServingRequest> requests;
  for (int i = 0; i < 60; ++i) requests.push_back({0.05 * i, 64 + 37 * (i % 11), 8 + 29 * (i % 7)});
  return requests;
}

TEST(Serving, ContinuousBatchingIsNotSlowerThanStatic) {
  const ServingPlan plan = plan_of(4, 80);
  const auto requests = mixed_requests();
  const auto fixed = serve(plan, {Batching::Static, 4, 8}, requests);
  const auto moving = serve(plan, {Batching::Continuous, 4, 8}, requests);
  ASSERT_TRUE(fixed);
  ASSERT_TRUE(moving);
  EXPECT_LT(moving->end_s, fixed->end_s);
  EXPECT_EQ(moving->output_tokens, fixed->output_tokens);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    EXPECT_GE(moving->requests[i].first_token_s, requests[i].arrival_s);
    EXPECT_GE(moving->requests[i].end_s, moving->requests[i].first_token_s);
  }
}

TEST(Serving, NeverMoreIsCachedThanFits) {
  const ServingPlan plan = plan_of(4, 37);
  const double capacity = cache_capacity_tokens(plan);
  const std::vector<ServingRequest> requests(
      40, {0, static_cast<int>(capacity / 4), static_cast<int>(capacity / 50)});
  const auto result = serve(plan, {Batching::Continuous, 4, 64}, requests);
  ASSERT_TRUE(result);
  EXPECT_LE(result->peak_cached_tokens, capacity);
  EXPECT_GT(result->peak_cached_tokens, capacity / 2);
  const auto never = serve(plan, {}, {{0, static_cast<int>(capacity) + 1, 1}});
  ASSERT_FALSE(never);
  EXPECT_EQ(never.error()[0].fault, Fault::Infeasible);
}

TEST(Serving, StagesWorkOnOnePassAtATimeInOrder) {
  const ServingPlan plan = plan_of(4, 80);
  const auto result = serve(plan, {Batching::Continuous, 3, 4}, mixed_requests());
  ASSERT_TRUE(result);
  for (std::size_t stage = 0; stage < 4; ++stage)
    for (std::size_t pass = 1; pass < result->passes.size(); ++pass)
      EXPECT_GE(result->passes[pass].stages[stage].start_s,
                result->passes[pass - 1].stages[stage].end_s);
}

TEST(Serving, WithoutFeedbackTheProgramsLongestPathIsTheSame) {
  // One output each and every request a group of its own: no pass waits for a token.
  const ServingPlan plan = plan_of(3, 0);
  std::vector<ServingRequest> requests;
  for (int i = 0; i < 12; ++i) requests.push_back({0, 100 + 50 * i, 1});
  const auto result = serve(plan, {Batching::Continuous, 12, 1}, requests);
  ASSERT_TRUE(result);
  const Program program = program_of(plan, *result);
  EXPECT_TRUE(check(program).empty()) << render(check(program));
  const Workload workload = workload_of(plan, *result);
  const std::vector<DeviceId> devices{DeviceId{0}, DeviceId{1}, DeviceId{2}};
  const auto graph = build_task_graph(program, workload, constant_delay_platform(3, {}), devices);
  ASSERT_TRUE(graph) << render(graph.error());
  EXPECT_NEAR(makespan(longest_path(*graph)).value, result->end_s, 1e-9);
}

TEST(Serving, PercentilesAreNearestRank) {
  EXPECT_EQ(percentile({4, 1, 3, 2}, 0.5), 2);
  EXPECT_EQ(percentile({4, 1, 3, 2}, 0.99), 4);
  EXPECT_EQ(percentile({7}, 0.5), 7);
}

}  // namespace
}  // namespace pipecast
