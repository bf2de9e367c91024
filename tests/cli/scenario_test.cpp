#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>

#include "tests/cli/shell.hpp"

/// Every file in scenarios/ runs, under both engines, and reads back from what `check` prints.
namespace pipecast::cli {
namespace {

std::vector<std::string> scenarios() {
  std::vector<std::string> names;
  for (const std::string folder : {"", "models/"})
    for (const auto& entry :
         std::filesystem::directory_iterator(PIPECAST_SOURCE_DIR "/scenarios/" + folder))
      if (entry.path().extension() == ".yaml")
        names.push_back(folder + entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

class EveryScenario : public testing::TestWithParam<std::string> {
 protected:
  std::string file() const { return "scenarios/" + GetParam() + ".yaml"; }
  /// 0, or what the file announces with `# expect: 3`.
  int expected_code() const {
    std::smatch match;
    const std::string text = repository_file(file());
    return std::regex_search(text, match, std::regex("\n# expect: (\\d+)\n"))
               ? std::stoi(match[1].str())
               : 0;
  }
  nlohmann::json run(const Workshop& workshop, const std::string& arguments) const {
    const Outcome outcome = workshop.sh("pipecast run " + arguments + " --json r.json");
    EXPECT_EQ(outcome.code, expected_code()) << outcome.err;
    return nlohmann::json::parse(workshop.read("r.json"));
  }
};

TEST_P(EveryScenario, RunsUnderBothEngines) {
  const Workshop workshop;
  const nlohmann::json shared = run(workshop, file());
  const nlohmann::json free = run(workshop, file() + " --engine longest-path");
  EXPECT_GT(shared["makespan_s"].get<double>(), 0);
  EXPECT_GE(shared["makespan_s"].get<double>(), free["makespan_s"].get<double>() * (1 - 1e-9));
  EXPECT_EQ(shared["tasks"], free["tasks"]);
}

TEST_P(EveryScenario, IsWhatCheckPrints) {
  const Workshop workshop;
  const Outcome listing =
      workshop.sh("pipecast check --show-defaults " + file() + " >scenarios.yaml");
  ASSERT_EQ(listing.code, 0) << listing.err;
  EXPECT_EQ(run(workshop, "scenarios.yaml")["digest"], run(workshop, file())["digest"]);
  EXPECT_NE(workshop.read("scenarios.yaml").find("# default"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Scenarios, EveryScenario, testing::ValuesIn(scenarios()),
                         [](const testing::TestParamInfo<std::string>& scenario) {
                           return std::regex_replace(scenario.param, std::regex("\\W"), "_");
                         });

/// What a file gives is whole, whatever ZeRO then cuts: printed and read again it is cut once.
TEST(Scenario, ShardedBytesAreNotShardedTwice) {
  const Workshop workshop;
  const std::string options =
      " --set parallel='{tensor: 8, data: 4, zero: 2}' --set workload.gradients='8 GB' "
      "--set workload.optimizer='24 GB' --set workload.parameters='4 GB'";
  const std::string file = "scenarios/gradients-and-messages-share-cards.yaml";
  ASSERT_EQ(workshop.sh("pipecast check --show-defaults " + file + options + " >whole.yaml").code,
            0);
  EXPECT_EQ(workshop.sh("pipecast run " + file + options + " --json a.json").code, 0);
  EXPECT_EQ(workshop.sh("pipecast run whole.yaml --json b.json").code, 0);
  const auto first = nlohmann::json::parse(workshop.read("a.json"));
  const auto again = nlohmann::json::parse(workshop.read("b.json"));
  EXPECT_EQ(first["digest"], again["digest"]);
  EXPECT_EQ(first["ranks"][0]["static_bytes"], again["ranks"][0]["static_bytes"]);
  EXPECT_EQ(first["ranks"][0]["static_bytes"], 2 * (4e9 + 8e9 / 4 + 24e9 / 4));
}

TEST(Scenario, AModelsReportSaysWhatItsStepIsWorth) {
  const Workshop workshop;
  EXPECT_EQ(workshop
                .sh("pipecast run scenarios/models/gpt3-175b-on-64-a100.yaml --quiet --report "
                    "r.html --json r.json")
                .code,
            0);
  const auto run = nlohmann::json::parse(workshop.read("r.json"));
  const std::string page = workshop.read("r.html");
  EXPECT_NE(page.find("training step"), std::string::npos);
  EXPECT_NE(
      page.find("\"" + fmt::format("{:.0f}", run["throughput"]["tokens_per_s"].get<double>()) +
                "\""),
      std::string::npos);
}

TEST(Scenario, ASearchingScheduleIsHeldToItsLowerBound) {
  const Workshop workshop;
  const Outcome run = workshop.sh(
      "pipecast run scenarios/zero-bubble-1.5b.yaml --set pipeline.schedule=zb-auto "
      "--set pipeline.params.memory_limit=12 --set pipeline.params.moves=20000 --json run.json");
  EXPECT_NE(run.out.find("lower bound"), std::string::npos) << run.out;
  const std::string json = workshop.read("run.json");
  EXPECT_NE(json.find("\"lower_bound_s\": "), std::string::npos);
  EXPECT_NE(json.find("\"lower_bound_of\": \"max_rank_span_s\""), std::string::npos);
  EXPECT_NE(json.find("\"lower_bound_gap\": "), std::string::npos);
}

TEST(Scenario, SetChangesWhatIsRun) {
  const Workshop workshop;
  const auto makespan_us = [&](const std::string& arguments) {
    workshop.sh("pipecast run scenarios/zero-bubble-1.5b.yaml --json r.json " + arguments);
    const auto json = nlohmann::json::parse(workshop.read("r.json"));
    return std::llround(json["makespan_s"].get<double>() * 1e6);
  };
  // Table 5 of the zero-bubble paper.
  EXPECT_EQ(makespan_us(""), 1310405);
  EXPECT_EQ(makespan_us("--set pipeline.schedule=1f1b"), 1456749);
  EXPECT_EQ(makespan_us("--set pipeline.schedule=zb-h1 --set pipeline.microbatches=32"),
            1310405 + 8 * (18522 + 18086 + 9337));
}

}  // namespace
}  // namespace pipecast::cli
