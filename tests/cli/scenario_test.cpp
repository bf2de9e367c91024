#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <utility>

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
  ASSERT_EQ(listing.code, expected_code()) << listing.err;
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

/// Messages and reductions on one card: formulas for each alone, added up, miss what they cost each
/// other.
TEST(Scenario, ContentionMakesAStepLongerThanSeparateFormulasSay) {
  const Workshop workshop;
  const auto step_s = [&](const std::string& options) {
    const Outcome run = workshop.sh(
        "pipecast run scenarios/gradients-and-messages-share-cards.yaml --json r.json " + options);
    EXPECT_EQ(run.code, 0) << run.err;
    return nlohmann::json::parse(workshop.read("r.json"))["makespan_s"].get<double>();
  };
  const std::string unshared = " --engine longest-path";
  const std::string no_messages = " --set workload.message='0 B'";
  const std::string no_gradients = " --set workload.gradient='0 B'";
  const double neither = step_s(no_messages + no_gradients);
  const double messages = step_s(no_gradients) - neither;
  const double reductions = step_s(no_messages + unshared) - neither;
  EXPECT_GT(messages, 0.02);
  EXPECT_GT(reductions, 0.02);
  const double predicted = neither + messages + reductions;
  EXPECT_NEAR(step_s(unshared), predicted, 1e-4 * predicted);
  EXPECT_GT(step_s(""), 1.04 * predicted);
}

/// `{longest, shortest}` of the trace's slices whose name has this ending, on one rank.
std::pair<double, double> durations_us(const nlohmann::json& trace, int rank,
                                       const std::string& what) {
  std::pair<double, double> ends{0, HUGE_VAL};
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] != "X" || event["pid"] != rank) continue;
    if (event["name"].get<std::string>().find(what) == std::string::npos) continue;
    ends.first = std::max(ends.first, event["dur"].get<double>());
    ends.second = std::min(ends.second, event["dur"].get<double>());
  }
  return ends;
}

/// Equal buckets and equal messages: where they meet on a card, both take longer, and the trace
/// shows it on the tracks of collectives and sends.
TEST(Scenario, TheTraceShowsWhereReductionsAndMessagesMeet) {
  const Workshop workshop;
  const std::string run =
      "pipecast run scenarios/gradients-and-messages-share-cards.yaml --quiet --trace t.json";
  ASSERT_EQ(workshop.sh(run).code, 0);
  const auto shared = nlohmann::json::parse(workshop.read("t.json"));
  ASSERT_EQ(workshop.sh(run + " --engine longest-path").code, 0);
  const auto alone = nlohmann::json::parse(workshop.read("t.json"));
  for (const std::string what : {"4REDUCE_GRAD", "SEND_B"}) {
    EXPECT_NEAR(durations_us(alone, 0, what).first, durations_us(alone, 0, what).second, 0.01);
    EXPECT_GE(durations_us(shared, 0, what).second, durations_us(alone, 0, what).second - 0.01);
    EXPECT_GT(durations_us(shared, 0, what).first, 1.4 * durations_us(alone, 0, what).first)
        << what;
  }
}

/// Tokens on their way to experts meet messages: the step is longer than the closed forms inside
/// its operations say, and every report says where.
TEST(Scenario, ExpertsAndMessagesMakeAStepLongerThanClosedFormsSay) {
  const Workshop workshop;
  const std::string run =
      "pipecast run scenarios/experts-and-messages-share-cards.yaml --json r.json ";
  const auto result = [&](const std::string& options) {
    const Outcome outcome = workshop.sh(run + options);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return std::pair(outcome.out, nlohmann::json::parse(workshop.read("r.json")));
  };
  const auto [text, shared] = result("--trace t.json");
  const auto [closed_text, closed] = result("--set parallel.group_traffic.as=closed_form");
  const auto [alone_text, alone] = result("--engine longest-path");
  const double step_s = closed["makespan_s"];
  EXPECT_NEAR(alone["makespan_s"].get<double>(), step_s, 1e-9 * step_s);
  EXPECT_GT(shared["makespan_s"].get<double>(), 1.02 * step_s);
  EXPECT_EQ(shared["replicas_simulated"], 1);
  EXPECT_NE(text.find("exchanges inside operations, slower than alone"), std::string::npos) << text;
  EXPECT_EQ(closed_text.find("exchanges inside operations"), std::string::npos);
  EXPECT_GT(shared["ranks"][1]["group_contention_s"].get<double>(), 0);
  EXPECT_EQ(closed["ranks"][1]["group_contention_s"], 0);
  // 4 ranks × 16 devices × 16 microbatches, 384 MiB of which 8/16 leave the node each.
  const double across = 4.0 * 16 * 16 * 384 * (1 << 20) / 2;
  for (const auto& json : {shared, closed})
    for (const auto& level : json["fabric"])
      for (const auto& traffic : level["traffic"])
        if (level["level"] == "leaf" && traffic["kind"] == "expert") {
          EXPECT_NEAR(traffic["bytes"].get<double>(), across, 1e-9 * across);
        }
  const auto trace = nlohmann::json::parse(workshop.read("t.json"));
  EXPECT_GT(durations_us(trace, 1, "EXPERT").first, 1.2 * durations_us(trace, 1, "EXPERT").second);
}

/// What an order of the dimensions costs: with Megatron's the pipeline crosses the spine, with the
/// pipeline inside the data dimension the gradients do.
TEST(Scenario, TheOrderOfDimensionsDecidesWhatCrossesTheSpine) {
  const Workshop workshop;
  const auto spine_bytes = [&](const std::string& order) {
    const Outcome run = workshop.sh(
        "pipecast run scenarios/gradients-and-messages-share-cards.yaml --json r.json --set "
        "platform.leaf_nodes=4 --set parallel.order='" +
        order + "'");
    EXPECT_NE(run.out.find("bytes of the messages that cross each level"), std::string::npos);
    std::map<std::string, double> bytes;
    const auto json = nlohmann::json::parse(workshop.read("r.json"));
    for (const auto& level : json["fabric"])
      if (level["level"] == "spine")
        for (const auto& traffic : level["traffic"])
          bytes[traffic["kind"].get<std::string>()] = traffic["bytes"].get<double>();
    return bytes;
  };
  // 32 replicas × 8 microbatches × 7 boundaries, there and back, of 96 MiB.
  const double messages = 32.0 * 8 * 7 * 2 * 96 * (1 << 20);
  // 8 rings a stage, 8 stages, 4 members, 2 · 3/4 of 1 GB each; the rings' protocol adds nothing
  // here.
  const double reduced = 8.0 * 8 * 4 * 1.5 * 1e9;
  const auto megatron = spine_bytes("tp-cp-ep-dp-pp");
  EXPECT_NEAR(megatron.at("pipeline"), messages, 1);
  EXPECT_EQ(megatron.count("gradient-reduction"), 0u);
  const auto inside = spine_bytes("[tensor, context, expert, pipeline, data]");
  EXPECT_EQ(inside.count("pipeline"), 0u);
  EXPECT_NEAR(inside.at("gradient-reduction"), reduced, 1);
}

/// Per-rank factors, jitter and blame, as a user asks for them.
TEST(Scenario, ImperfectMachinesAreReportedWithWhoIsToBlame) {
  const Workshop workshop;
  const auto run = [&](const std::string& options) {
    const Outcome outcome = workshop.sh(
        "pipecast run scenarios/gradients-and-messages-share-cards.yaml --json r.json " + options);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return std::pair(outcome.out, nlohmann::json::parse(workshop.read("r.json")));
  };
  const double even_s = run("").second["makespan_s"];
  const auto [slow_text, slow] = run("--set imperfections.slow_ranks='[{rank: 2, factor: 1.1}]'");
  EXPECT_GT(slow["makespan_s"].get<double>(), even_s);
  EXPECT_EQ(slow["replicas_simulated"], 1);  // all replicas have the slow rank
  const auto& blame = slow["delays"]["blame_s"];
  EXPECT_EQ(std::max_element(blame.begin(), blame.end()) - blame.begin(), 2);
  EXPECT_NE(slow_text.find("rank 2 adds"), std::string::npos) << slow_text;
  const auto [jitter_text, jitter] = run("--set imperfections.jitter='{sigma: 0.05, samples: 10}'");
  EXPECT_NE(jitter_text.find("10 steps with jitter: median"), std::string::npos) << jitter_text;
  EXPECT_GT(jitter["delays"]["p95_s"].get<double>(), jitter["delays"]["median_s"].get<double>());
  const auto [one_text, one] = run("--set imperfections.slow_devices='[{device: 5, factor: 1.2}]'");
  EXPECT_EQ(one["replicas_simulated"], one["replicas"]);
  EXPECT_NE(one_text.find("rank 0 adds"), std::string::npos) << one_text;
  EXPECT_GT(one["makespan_s"].get<double>(), even_s);  // its tensor group waits for it
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
