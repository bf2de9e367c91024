#include "sim/read/kernel_facts.hpp"

#include <gtest/gtest.h>

namespace pipecast {
namespace {

TEST(KernelFacts, MeasuredProductsAndAttentionAreRead) {
  const auto facts = read_kernel_facts(
      "operation: {value: 1 ms, source: a table, certainty: derived}\n"
      "permutation: {value: 0.5, source: a table, certainty: measured}\n"
      "gemm: {source: a table, rows: [[64, 32, 16, 1, input, 0.5]]}\n"
      "attention: {source: a table, rows: [[backward, 4096, 32, 192, 128, 0.4]]}\n",
      "x.yaml");
  ASSERT_TRUE(facts) << render(facts.error());
  EXPECT_EQ(facts->operation->value, 1e-3);
  EXPECT_EQ(facts->permutation->value, 0.5);
  ASSERT_EQ(facts->gemm.size(), 1U);
  const AttentionSample expected{AttentionPass::Backward, 4096, 32, 192, 128, 0.4};
  ASSERT_EQ(facts->attention.size(), 1U);
  EXPECT_EQ(facts->attention[0], expected);
  EXPECT_EQ(facts->attention_source, "a table");
}

TEST(KernelFacts, WrongRowsAreNamed) {
  const auto facts = read_kernel_facts(
      "attention:\n  source: a table\n  rows:\n    - [sideways, 4096, 32, 128, 128, 0.4]\n"
      "    - [forward, 4096]\n    - [forward, 4096, 32, 128, 128, 1.4]\n",
      "x.yaml");
  ASSERT_FALSE(facts);
  EXPECT_EQ(facts.error().size(), 3U);
  EXPECT_EQ(facts.error()[1].message,
            "a row is [pass, sequence, heads, query width, value width, fraction]");
  EXPECT_EQ(facts.error()[1].where.line, 5);
}

}  // namespace
}  // namespace pipecast
