#include "sim/study/candidate_text.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace pipecast {
namespace {

TEST(CandidateText, FiguresAreReadWithoutAnExponent) {
  EXPECT_EQ(figure_text(385712.4, "-"), "385700");
  EXPECT_EQ(figure_text(122949, "-"), "122900");
  EXPECT_EQ(figure_text(-99996, "-"), "-100000");
  EXPECT_EQ(figure_text(3.53166, "-"), "3.532");
  EXPECT_EQ(figure_text(9999.4, "-"), "9999");
  EXPECT_EQ(figure_text(6.36541e10, "-"), "6.365e+10");
  EXPECT_EQ(figure_text(0, "-"), "0");
  EXPECT_EQ(figure_text(std::numeric_limits<double>::infinity(), "–"), "–");
}

TEST(CandidateText, KeysAreTheirLastWord) {
  EXPECT_EQ(short_key("workload.parallel.tensor"), "tensor");
  EXPECT_EQ(short_key("transfers"), "transfers");
}

}  // namespace
}  // namespace pipecast
