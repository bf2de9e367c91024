#include "sim/study/pool.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <numeric>
#include <stdexcept>
#include <vector>

namespace pipecast {
namespace {

std::vector<std::int64_t> counted(int count) {
  std::vector<std::int64_t> items(static_cast<std::size_t>(count));
  std::iota(items.begin(), items.end(), std::int64_t{0});
  return items;
}

std::map<std::int64_t, PoolAnswer> run(const std::vector<std::int64_t>& items, int jobs,
                                       const std::function<std::string(std::int64_t)>& work) {
  std::map<std::int64_t, PoolAnswer> answers;
  PoolOptions options;
  options.jobs = jobs;
  const Result<PoolEnd> end = run_in_pool(
      items, options, work,
      [&](PoolAnswer answer) -> Result<void> {
        EXPECT_TRUE(answers.emplace(answer.item, answer).second) << answer.item;
        return {};
      },
      [] {});
  EXPECT_TRUE(end.has_value());
  return answers;
}

TEST(Pool, AnswersEveryItemOnce) {
  for (const int jobs : {1, 2, 7}) {
    const auto answers = run(counted(1000), jobs, [](std::int64_t item) {
      return std::string(static_cast<std::size_t>(item), 'x');
    });
    ASSERT_EQ(answers.size(), 1000U);
    for (const auto& [item, answer] : answers)
      EXPECT_EQ(answer.bytes.size(), static_cast<std::size_t>(item));
  }
}

TEST(Pool, ACrashIsTheAnswerOfItsItemOnly) {
  const auto answers = run(counted(100), 3, [](std::int64_t item) -> std::string {
    if (item == 41) ::raise(SIGKILL);
    if (item == 42) throw std::runtime_error("no luck");
    return "fine";
  });
  ASSERT_EQ(answers.size(), 100U);
  EXPECT_NE(answers.at(41).crash.find("was killed by signal 9"), std::string::npos);
  EXPECT_NE(answers.at(42).crash.find("no luck"), std::string::npos);
  for (const auto& [item, answer] : answers)
    if (item != 41 && item != 42) {
      EXPECT_EQ(answer.bytes, "fine") << item;
    }
}

TEST(Pool, AnItemWhoseWorkerWasKilledIsTriedAgain) {
  const std::filesystem::path mark =
      std::filesystem::temp_directory_path() / ("pipecast-pool-" + std::to_string(::getpid()));
  const auto answers = run(counted(20), 2, [&](std::int64_t item) -> std::string {
    if (item == 7 && std::filesystem::create_directory(mark)) ::raise(SIGKILL);
    return "fine";
  });
  std::filesystem::remove(mark);
  EXPECT_EQ(answers.at(7).bytes, "fine");
  EXPECT_EQ(answers.at(7).crash, "");
}

TEST(Pool, WhatTakeRefusesEndsTheWhole) {
  const std::vector<std::int64_t> items = counted(100);
  const Result<PoolEnd> end = run_in_pool(
      items, {}, [](std::int64_t) { return std::string(); },
      [](PoolAnswer) -> Result<void> { return fail(infeasible("full")); }, [] {});
  ASSERT_FALSE(end.has_value());
  EXPECT_EQ(end.error().front().message, "full");
}

}  // namespace
}  // namespace pipecast
