#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/shell.hpp"

namespace pipecast::cli {
namespace {

TEST(Compare, RanksSchedulesAgainst1f1b) {
  const Workshop workshop;
  const Outcome outcome = workshop.sh(
      "pipecast compare scenarios/zero-bubble-1.5b.yaml --schedules gpipe,1f1b,zb-h1,zb-h2 --json "
      "rows.json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto rows = nlohmann::json::parse(workshop.read("rows.json"))["rows"];
  ASSERT_EQ(rows.size(), 4U);
  for (std::size_t i = 1; i < rows.size(); ++i) EXPECT_LE(rows[i - 1]["step_s"], rows[i]["step_s"]);
  for (const auto& row : rows)
    if (row["schedule"] == "1f1b") {
      EXPECT_EQ(row["relative_step"], 1.0);
      EXPECT_NEAR(row["step_s"].get<double>(), 1.456749, 1e-9);  // Qi et al. 2024, table 5
    }
}

TEST(Compare, SuggestsAScheduleAndAUnit) {
  const Workshop workshop;
  const Outcome name =
      workshop.sh("pipecast compare scenarios/zero-bubble-1.5b.yaml --schedules zbh1");
  EXPECT_EQ(name.code, 2);
  EXPECT_NE(name.err.find("did you mean 'zb-h1'?"), std::string::npos) << name.err;
  EXPECT_EQ(workshop.sh("pipecast compare scenarios/zero-bubble-1.5b.yaml --memory-limit 40").code,
            2);
}

}  // namespace
}  // namespace pipecast::cli
