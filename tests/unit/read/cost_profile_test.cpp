#include "sim/read/cost_profile.hpp"

#include <gtest/gtest.h>

namespace pipecast {
namespace {

const std::vector<StageLayers> kStages{
    {.embedding = true, .layers = 1}, {.layers = 2}, {.layers = 1, .head = true}};
constexpr const char* kHeader = "what,index,forward_s,backward_input_s,backward_weight_s\n";

std::string message_of(const Result<std::vector<StageCost>>& costs) {
  return costs ? "" : costs.error().front().message;
}

TEST(CostProfile, StagesStandAsTheyAre) {
  const auto costs = read_profile_csv(
      std::string(kHeader) + "stage,0,1,2,3\nstage,2,7,8,9\r\nstage,1,4,5,6\n", "p.csv", kStages);
  ASSERT_TRUE(costs.has_value()) << render(costs.error());
  EXPECT_EQ((*costs)[1], (StageCost{{4}, {5}, {6}}));
  EXPECT_EQ((*costs)[2], (StageCost{{7}, {8}, {9}}));
}

TEST(CostProfile, LayersAddUpWithEmbeddingAndHead) {
  const auto costs = read_profile_csv(std::string(kHeader) +
                                          "layer,0,1,1,1\nlayer,1,2,2,2\nlayer,2,4,4,4\n"
                                          "layer,3,8,8,8\nembedding,,0.5,0,0\nhead,,16,16,16\n",
                                      "p.csv", kStages);
  ASSERT_TRUE(costs.has_value()) << render(costs.error());
  EXPECT_EQ((*costs)[0], (StageCost{{1.5}, {1}, {1}}));
  EXPECT_EQ((*costs)[1], (StageCost{{6}, {6}, {6}}));
  EXPECT_EQ((*costs)[2], (StageCost{{24}, {24}, {24}}));
}

TEST(CostProfile, JsonSaysTheSame) {
  const auto costs = read_profile_json(
      R"({"stages": [{"forward_s": 1, "backward_input_s": 2, "backward_weight_s": 3},
                     {"forward_s": 4, "backward_input_s": 5, "backward_weight_s": 6},
                     {"forward_s": 7, "backward_input_s": 8, "backward_weight_s": 9}]})",
      "p.json", kStages);
  ASSERT_TRUE(costs.has_value()) << render(costs.error());
  EXPECT_EQ((*costs)[1], (StageCost{{4}, {5}, {6}}));
}

TEST(CostProfile, EveryMistakeIsNamed) {
  const auto csv = [](const std::string& lines) {
    return message_of(read_profile_csv(kHeader + lines, "p.csv", kStages));
  };
  EXPECT_NE(message_of(read_profile_csv("a,b\n", "p.csv", kStages)).find("header"),
            std::string::npos);
  EXPECT_NE(csv("stage,0,1,2\n").find("4 cells"), std::string::npos);
  EXPECT_NE(csv("block,0,1,2,3\n").find("'block'"), std::string::npos);
  EXPECT_NE(csv("stage,0,-1,2,3\n").find("forward_s"), std::string::npos);
  EXPECT_NE(csv("stage,0,1,2,3\nstage,0,1,2,3\n").find("twice"), std::string::npos);
  EXPECT_NE(csv("stage,0,1,2,3\n").find("1 stages, the model 3"), std::string::npos);
  EXPECT_NE(csv("layer,7,1,2,3\n").find("1 layers, the model 4"), std::string::npos);
}

}  // namespace
}  // namespace pipecast
