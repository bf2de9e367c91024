#include "sim/study/formula_condition.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "schedules/schedule.hpp"
#include "sim/study/ratio.hpp"

namespace pipecast {
namespace {

/// Ranks 2 … 7, microbatches 1 … 16, three cost sets, two delays, judged by `holds`.
template <class Holds>
std::vector<JudgedPoint> judged(Holds holds) {
  std::vector<JudgedPoint> points;
  for (int ranks = 2; ranks <= 7; ++ranks)
    for (int microbatches = 1; microbatches <= 16; ++microbatches)
      for (const std::int64_t weight : {4, 0, 9})
        for (const std::int64_t delay : {0, 5}) {
          FormulaPoint at;
          at.P = ranks;
          at.m = microbatches;
          at.F = 4;
          at.I = 5;
          at.W = weight;
          at.c = delay;
          points.push_back({at, holds(at), {at, 1, 2}});
        }
  return points;
}

TEST(Ratio, IsExactAndInLowestTerms) {
  EXPECT_EQ(Ratio(6, -8), Ratio(-3, 4));
  EXPECT_EQ(Ratio(1, 3) + Ratio(1, 6), Ratio(1, 2));
  EXPECT_EQ(Ratio(1, 3) * 3, Ratio(1));
  EXPECT_LT(Ratio(1, 3), Ratio(34, 100));
  EXPECT_EQ(Ratio(4, 8).text(), "1/2");
  EXPECT_EQ(Ratio(-8, 4).text(), "-2");
}

TEST(WeakestCondition, FindsTheFactsBehindAPattern) {
  const auto points = judged([](const FormulaPoint& x) { return x.c == 0 && x.m >= x.P; });
  EXPECT_EQ(weakest_condition(points).text, "c = 0 and m >= P");
}

TEST(WeakestCondition, NamesASecondConjunctionWhenOneDoesNotCover) {
  const auto points = judged(
      [](const FormulaPoint& x) { return (x.c == 0 && x.m >= x.P) || (x.W == 0 && x.P % 2 == 0); });
  EXPECT_EQ(weakest_condition(points).text, "c = 0 and m >= P; or W = 0 and P is even");
}

TEST(WeakestCondition, EachFactHasAPointThatNeedsIt) {
  const auto points = judged([](const FormulaPoint& x) { return x.c == 0 && x.m >= x.P; });
  const FormulaCondition condition = weakest_condition(points);
  ASSERT_EQ(condition.needs.size(), 2u);
  EXPECT_EQ(condition.needs[0].fact, "c = 0");
  EXPECT_EQ(condition.needs[0].without.at.c, 5);
  EXPECT_GE(condition.needs[0].without.at.m, condition.needs[0].without.at.P);
  EXPECT_EQ(condition.needs[1].without.at.c, 0);
  EXPECT_LT(condition.needs[1].without.at.m, condition.needs[1].without.at.P);
}

TEST(WeakestCondition, IsEmptyWhereAFormHoldsByChance) {
  const auto points =
      judged([](const FormulaPoint& x) { return (x.m * 7 + x.P * 5 + x.W * 3 + x.c) % 11 == 3; });
  EXPECT_EQ(weakest_condition(points).text, "");
}

TEST(KnownFormulas, EveryScheduleHasSome) {
  const std::vector<FormulaInfo> formulas = known_formulas();
  for (const ScheduleInfo& schedule : builtin_schedules())
    EXPECT_TRUE(
        std::any_of(formulas.begin(), formulas.end(),
                    [&](const FormulaInfo& formula) { return formula.schedule == schedule.name; }))
        << schedule.name << ": add its closed forms to sim/study/formula_catalogue*.cpp";
}

}  // namespace
}  // namespace pipecast
