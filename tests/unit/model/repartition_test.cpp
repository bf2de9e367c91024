#include "sim/model/repartition.hpp"

#include <gtest/gtest.h>

namespace pipecast {
namespace {

Workload two_stages() {
  Workload workload = uniform_workload({2, 1, 4}, {{6.0}, {3.0}, {1.5}});
  workload.costs[1].forward = {12.0};
  workload.bytes[0].held_by_forward = {600};
  workload.bytes[1].held_by_forward = {1200};
  for (StageBytes& bytes : workload.bytes) bytes.message_forward = bytes.message_backward = {7};
  return workload;
}

TEST(Repartition, CutsStagesIntoEqualParts) {
  const Workload four = repartition(two_stages(), 4);
  ASSERT_EQ(four.costs.size(), 4U);
  EXPECT_EQ(four.costs[0].forward.value, 3.0);
  EXPECT_EQ(four.costs[3].forward.value, 6.0);
  EXPECT_EQ(four.bytes[3].held_by_forward.value, 600);
  EXPECT_EQ(four.bytes[1].message_forward.value, 7);
}

TEST(Repartition, JoinsAndMixesStages) {
  EXPECT_EQ(repartition(two_stages(), 1).costs[0].forward.value, 18.0);
  const Workload three = repartition(two_stages(), 3);
  EXPECT_DOUBLE_EQ(three.costs[0].forward.value, 4.0);
  EXPECT_DOUBLE_EQ(three.costs[1].forward.value, 6.0);  // a third of 6 and a third of 12
  EXPECT_DOUBLE_EQ(three.costs[2].forward.value, 8.0);
}

TEST(Repartition, KeepsTheTotal) {
  for (const int stages : {1, 3, 5, 7, 16}) {
    double total = 0;
    for (const StageCost& cost : repartition(two_stages(), stages).costs)
      total += cost.forward.value;
    EXPECT_NEAR(total, 18.0, 1e-12) << stages;
  }
}

}  // namespace
}  // namespace pipecast
