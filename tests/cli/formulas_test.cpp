#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/shell.hpp"

namespace pipecast::cli {
namespace {

/// The findings about a schedule whose closed form begins with `form`, by quantity.
nlohmann::json finding(const nlohmann::json& report, const std::string& schedule,
                       const std::string& quantity, const std::string& form) {
  for (const auto& one : report["formulas"])
    if (one["schedule"] == schedule && one["quantity"] == quantity &&
        one["formula"].get<std::string>().starts_with(form))
      return one;
  ADD_FAILURE() << schedule << " " << quantity << " " << form;
  return {};
}

/// A fact of the condition and the costs of the counterexample that needs it.
std::string needed_costs(const nlohmann::json& one, const std::string& fact) {
  for (const auto& need : one["needs"]) {
    const auto& at = need["without"];
    if (need["fact"] == fact)
      return at["forward"].dump() + "," + at["backward_input"].dump() + "," +
             at["backward_weight"].dump();
  }
  return "none";
}

TEST(Formulas, ThePageIsWhatTheCommandWrites) {
  const Workshop workshop;
  const Outcome outcome = workshop.sh("pipecast formulas --markdown - --json f.json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, repository_file("docs/formulas.md"))
      << "pipecast formulas --markdown docs/formulas.md writes it anew";

  const auto report = nlohmann::json::parse(workshop.read("f.json"));
  EXPECT_EQ(report["format"], "pipecast.formulas/1");
  EXPECT_EQ(finding(report, "gpipe", "idle / total", "(P-1)/(m+P-1)")["condition"], "c = 0");
  EXPECT_EQ(finding(report, "1f1b", "idle / ideal", "(P-1)/m")["condition"], "c = 0");
  EXPECT_EQ(finding(report, "1f1b", "samples per step", "b m d P")["verdict"], "fails");
  EXPECT_EQ(finding(report, "1f1b", "samples per step", "b m d")["verdict"], "holds");
  EXPECT_EQ(finding(report, "zb-h2", "idle / total", "0")["verdict"], "fails");
  // By makespan zb-h2 is zb-h1 where both reach their forms (m >= 2P - 1); by span only where it
  // has too few microbatches to be another schedule.
  EXPECT_EQ(finding(report, "zb-h2", "makespan", "the makespan of zb-h1")["condition"],
            "c = 0 and W = 0; or c = 0 and B = 2F and I <= F and m >= 2P - 1");
  EXPECT_EQ(finding(report, "zb-h2", "span - work", "the span of zb-h1 - work")["condition"],
            "c = 0 and W <= I and m <= P; or c = 0 and W = 0");
  const auto zb1p = finding(report, "zb-h1", "makespan - work", "(P-1)(F+B-2W)");
  EXPECT_EQ(needed_costs(zb1p, "W <= F"), "12,8,16");
  const auto dualpipe = finding(report, "dualpipe", "makespan - work", "(P/2-1)(F&B+B-3W)");
  EXPECT_EQ(dualpipe["condition"], "c = 0 and W <= I and F = I");
  EXPECT_EQ(needed_costs(dualpipe, "F = I"), "8,12,4");
}

TEST(Formulas, OfSomeSchedulesOnly) {
  const Workshop workshop;
  const Outcome outcome = workshop.sh("pipecast formulas --schedules 1f1b,zb-h2");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out.find("gpipe\n"), std::string::npos);
  EXPECT_NE(outcome.out.find("\nzb-h2\n"), std::string::npos);
  const Outcome unknown = workshop.sh("pipecast formulas --schedules 1f1b,zbh2");
  EXPECT_EQ(unknown.code, 2);
  EXPECT_NE(unknown.err.find("did you mean 'zb-h2'"), std::string::npos) << unknown.err;
}

}  // namespace
}  // namespace pipecast::cli
