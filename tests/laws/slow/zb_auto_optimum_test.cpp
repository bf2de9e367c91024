// zb-auto finds the true optimum of every small problem: 1 to 3 ranks, 1 to 4 microbatches, costs
// from one to three, messages that take nothing, one or two.
#include <gtest/gtest.h>

#include "tests/support/zb_auto_cases.hpp"

namespace pipecast::testing {
namespace {

TEST(ZbAutoOptimum, EveryCostUpToThree) {
  for (int forward = 1; forward <= 3; ++forward)
    for (int input = 1; input <= 3; ++input)
      for (int weight = 1; weight <= 3; ++weight)
        expect_optimal_everywhere({forward, input, weight}, {0, 1, 2});
}

}  // namespace
}  // namespace pipecast::testing
