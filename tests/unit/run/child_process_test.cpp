#include "sim/run/child_process.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <stdexcept>

namespace pipecast {
namespace {

std::string text_of(const Result<std::vector<Interval>>& result) {
  return result ? "no error" : render(result.error());
}

TEST(RunInChild, BringsEveryIntervalBack) {
  const std::size_t count = 100'000;  // more than a pipe holds
  const auto result = run_in_child([&] {
    std::vector<Interval> intervals(count);
    for (std::size_t i = 0; i < count; ++i)
      intervals[i] = {static_cast<double>(i), static_cast<double>(i) + 0.5};
    return intervals;
  });
  ASSERT_TRUE(result) << text_of(result);
  ASSERT_EQ(result->size(), count);
  EXPECT_EQ(result->back(), (Interval{99'999, 99'999.5}));
}

TEST(RunInChild, LeavesThisProcessAlone) {
  int touched = 0;
  const auto result = run_in_child([&] {
    touched = 1;
    return std::vector<Interval>{};
  });
  EXPECT_TRUE(result) << text_of(result);
  EXPECT_EQ(touched, 0);
}

TEST(RunInChild, QuotesAnException) {
  const auto result = run_in_child(
      []() -> std::vector<Interval> { throw std::runtime_error("no connecting path"); });
  ASSERT_FALSE(result);
  EXPECT_NE(text_of(result).find("ended with status 1"), std::string::npos) << text_of(result);
  EXPECT_NE(text_of(result).find("no connecting path"), std::string::npos) << text_of(result);
}

TEST(RunInChild, NamesTheSignalThatKilledIt) {
  const auto result = run_in_child([]() -> std::vector<Interval> {
    std::fputs("last words\n", stderr);
    ::raise(SIGKILL);
    return {};
  });
  ASSERT_FALSE(result);
  EXPECT_NE(text_of(result).find("signal 9"), std::string::npos) << text_of(result);
  EXPECT_NE(text_of(result).find("last words"), std::string::npos) << text_of(result);
}

TEST(RunInChild, NoticesAnEarlyExit) {
  const auto result = run_in_child([]() -> std::vector<Interval> { ::_exit(0); });
  ASSERT_FALSE(result);
  EXPECT_NE(text_of(result).find("ended with status 0"), std::string::npos) << text_of(result);
}

}  // namespace
}  // namespace pipecast
