// Machines of several accelerators, as a user meets them.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cli/shell.hpp"

namespace pipecast::cli {
namespace {

using nlohmann::json;

constexpr const char* kMixed = "scenarios/models/llama3-70b-on-h100-and-a100.yaml";

json run_json(const Workshop& workshop, const std::string& arguments) {
  const Outcome outcome = workshop.sh("pipecast run " + arguments + " --json r.json");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  return json::parse(workshop.read("r.json"));
}

/// Ten layers on every stage: the A100 set the pace. By seconds they get fewer.
TEST(MixedMachine, ABalancedSplitBeatsAnEvenOneAndTheSlowerRanksAreBlamed) {
  const Workshop workshop;
  const json balanced = run_json(workshop, kMixed);
  const json even = run_json(workshop, std::string(kMixed) + " --set workload.split=even");
  EXPECT_LT(balanced["throughput"]["step_s"].get<double>(),
            0.8 * even["throughput"]["step_s"].get<double>());
  for (std::size_t rank = 0; rank < 8; ++rank) {
    EXPECT_EQ(even["ranks"][rank]["accelerator"], rank < 4 ? "h100_sxm5_80gb" : "a100_sxm4_80gb");
    EXPECT_EQ(even["ranks"][rank]["capacity_bytes"], rank < 4 ? 85520809984 : 85899345920);
  }
  const auto blame = even["delays"]["blame_s"].get<std::vector<double>>();
  EXPECT_GE(std::max_element(blame.begin(), blame.end()) - blame.begin(), 4);
  EXPECT_EQ(std::count_if(blame.begin(), blame.begin() + 4, [](double s) { return s > 1e-9; }), 0);
  const auto busiest = [](const json& run) {
    double most = 0;
    for (const json& rank : run["ranks"]) most = std::max(most, rank["busy_s"].get<double>());
    return most;
  };
  EXPECT_LT(busiest(balanced), 0.8 * busiest(even));
  // Both devices' unverified numbers.
  const std::string warnings = even["warnings"].dump();
  EXPECT_NE(warnings.find("h100_sxm5_80gb: "), std::string::npos) << warnings;
  EXPECT_NE(warnings.find("a100_sxm4_80gb: "), std::string::npos) << warnings;
}

TEST(MixedMachine, TheSameAcceleratorTwiceIsAUniformMachine) {
  const Workshop workshop;
  const std::string path = kMixed;
  const auto digest = [&](const std::string& accelerators) {
    return run_json(workshop,
                    path + " --set platform.accelerators='" + accelerators + "'")["digest"];
  };
  const json uniform = digest("[]");
  EXPECT_EQ(digest("[{nodes: 2-5, accelerator: h100_sxm5_80gb}]"), uniform);
  EXPECT_EQ(digest("[{nodes: [0, 3-7], preset: dgx-h100-ib}]"), uniform);
  EXPECT_NE(digest("[{nodes: 7, accelerator: a100_sxm4_80gb}]"), uniform);
}

/// Utilization is that of all devices together.
TEST(MixedMachine, PeaksAddUp) {
  const Workshop workshop;
  const std::string path = kMixed;
  const auto flops_per_peak = [&](const json& run) {
    const json& step = run["throughput"];
    return step["tflops_per_device"].get<double>() / step["model_flops_utilization"].get<double>();
  };
  const double h100 =
      flops_per_peak(run_json(workshop, path + " --set platform.accelerators='[]'"));
  const double a100 = flops_per_peak(run_json(
      workshop, path + " --set platform.accelerators='[{nodes: 0-7, preset: dgx-a100-ib}]'"));
  EXPECT_NEAR(flops_per_peak(run_json(workshop, path)), (h100 + a100) / 2, 1e-9 * h100);
}

TEST(MixedMachine, EveryCommandNamesTheAccelerators) {
  const Workshop workshop;
  const std::string path = kMixed;
  const std::string text = workshop.sh("pipecast run " + path).out;
  EXPECT_NE(text.find("accelerator"), std::string::npos) << text;
  EXPECT_NE(text.find("slower than on the fastest accelerator"), std::string::npos) << text;
  EXPECT_NE(workshop.sh("pipecast check " + path).out.find("32 a100_sxm4_80gb, 32 h100_sxm5_80gb"),
            std::string::npos);
  const std::string shown = workshop.sh("pipecast platform show " + path).out;
  EXPECT_NE(shown.find("32 × a100_sxm4_80gb"), std::string::npos) << shown;
  EXPECT_NE(shown.find("32 × h100_sxm5_80gb"), std::string::npos) << shown;
  const Outcome listed = workshop.sh("pipecast check --show-defaults " + path);
  EXPECT_NE(listed.out.find("accelerators: [{nodes: 4-7, accelerator: \"a100_sxm4_80gb"),
            std::string::npos)
      << listed.out;
  EXPECT_EQ(workshop.sh("pipecast run " + path + " --quiet --report r.html --trace t.json").code,
            0);
  EXPECT_NE(workshop.read("r.html").find("n4.d0, a100_sxm4_80gb"), std::string::npos);
  EXPECT_NE(workshop.read("t.json").find("rank 4 (n4.d0, a100_sxm4_80gb)"), std::string::npos);
}

/// Stages are where each schedule puts them: on a V the last chunk is back on rank 0.
TEST(MixedMachine, CompareMovesStagesWithTheSchedule) {
  const Workshop workshop;
  const Outcome outcome = workshop.sh(std::string("pipecast compare ") + kMixed +
                                      " --set workload.split=even --set "
                                      "workload.parallel.data=1 --set transfers=overlapped "
                                      "--schedules 1f1b,zb-h1,dualpipe --json c.json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json compared = json::parse(workshop.read("c.json"));
  for (const json& row : compared["rows"]) EXPECT_GT(row["step_s"].get<double>(), 0) << row.dump();
}

/// Replicas on both accelerators: all are simulated, and the slower one ends the step.
TEST(MixedMachine, ReplicasOnBothAccelerators) {
  const Workshop workshop;
  const std::string path = std::string(kMixed) +
                           " --set pipeline.ranks=4 --set workload.parallel.data=2"
                           " --set workload.split=even --set platform.accelerators=";
  const auto replicas = [&](const std::string& accelerators) {
    return run_json(workshop, path + "'" + accelerators + "'");
  };
  const json h100 = replicas("[]");
  const json a100 = replicas("[{nodes: 0-7, preset: dgx-a100-ib}]");
  const json both = replicas("[{nodes: [1, 3, 5, 7], preset: dgx-a100-ib}]");
  EXPECT_EQ(h100["replicas_simulated"], 1);
  EXPECT_EQ(both["replicas_simulated"], both["replicas"]);
  EXPECT_GT(both["throughput"]["step_s"].get<double>(),
            1.3 * h100["throughput"]["step_s"].get<double>());
  EXPECT_NEAR(both["throughput"]["step_s"].get<double>(),
              a100["throughput"]["step_s"].get<double>(),
              0.1 * a100["throughput"]["step_s"].get<double>());
  EXPECT_NE(both["warnings"].dump().find("replicas are on several accelerators"),
            std::string::npos);
}

constexpr const char* kStudy = R"(name: which mix
scenario:
  pipeline: {schedule: 1f1b, ranks: 8, microbatches: 8}
  workload: {costs: {forward: 10 ms, backward: 20 ms}}
  platform: {preset: dgx-h100-ib, nodes: 1}
axes:
  platform.accelerators:
    - []
    - [{nodes: 0, accelerator: a100_sxm4_80gb}]
    - [{nodes: 0, accelerator: h200_sxm5_141gb}]
training: {tokens_per_microbatch: 4096, tokens: 1e9}
objectives: [usd_per_million_tokens, energy_mwh]
quote:
  accelerators:
    h100_sxm5_80gb: {rent_per_device_hour: 2.5 USD, power_per_device: 1000 W}
    a100_sxm4_80gb: {rent_per_device_hour: 1.25 USD, power_per_device: 800 W}
)";

/// The rows of an export, by column.
std::vector<std::map<std::string, std::string>> rows_of(const std::string& csv) {
  std::vector<std::map<std::string, std::string>> rows;
  std::vector<std::string> names;
  std::istringstream lines(csv);
  for (std::string line; std::getline(lines, line);) {
    std::vector<std::string> cells(1);
    bool quoted = false;
    for (const char c : line) {
      if (c == '"') quoted = !quoted;
      if (c == ',' && !quoted)
        cells.emplace_back();
      else if (c != '"' && c != '\r')
        cells.back() += c;
    }
    if (names.empty()) {
      names = cells;
      continue;
    }
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (i == 0) rows.emplace_back();
      rows.back()[names[i]] = cells[i];
    }
  }
  return rows;
}

TEST(MixedMachine, AStudyVariesTheMachineAndPricesDevicesByAccelerator) {
  const Workshop workshop;
  workshop.write("mix.yaml", kStudy);
  const Outcome swept = workshop.sh("pipecast sweep mix.yaml --out mix.db");
  ASSERT_EQ(swept.code, 0) << swept.err;
  ASSERT_EQ(workshop.sh("pipecast study export mix.db --csv mix.csv").code, 0);
  const auto rows = rows_of(workshop.read("mix.csv"));
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].at("accelerators"), "h100_sxm5_80gb 8");
  EXPECT_DOUBLE_EQ(std::stod(rows[0].at("usd_per_hour")), 8 * 2.5);
  EXPECT_DOUBLE_EQ(std::stod(rows[1].at("usd_per_hour")), 8 * 1.25);
  EXPECT_DOUBLE_EQ(std::stod(rows[0].at("power_w")), 8000);
  EXPECT_DOUBLE_EQ(std::stod(rows[1].at("power_w")), 6400);
  EXPECT_EQ(rows[2].at("usd_per_hour"), "");  // nobody said what an H200 costs
  EXPECT_EQ(rows[1].at("rank"), "1");
}

TEST(MixedMachine, AStudyOfTwoNodesTakesTheMeanOfItsDevices) {
  const Workshop workshop;
  std::string study = kStudy;
  study.replace(study.find("nodes: 1}"), 9, "nodes: 2, devices: [0, 1, 8, 9, 10, 11, 12, 13]}");
  workshop.write("mix.yaml", study);
  const Outcome swept = workshop.sh("pipecast sweep mix.yaml --out mix.db");
  ASSERT_EQ(swept.code, 0) << swept.err;
  ASSERT_EQ(workshop.sh("pipecast study export mix.db --csv mix.csv").code, 0);
  const auto rows = rows_of(workshop.read("mix.csv"));
  EXPECT_EQ(rows[1].at("accelerators"), "a100_sxm4_80gb 2, h100_sxm5_80gb 6");
  EXPECT_DOUBLE_EQ(std::stod(rows[1].at("usd_per_hour")), 6 * 2.5 + 2 * 1.25);
  EXPECT_DOUBLE_EQ(std::stod(rows[1].at("power_w")), 6 * 1000 + 2 * 800);
}

/// Another accelerator than the preset's brings its own memory, unless that is given too.
TEST(Accelerator, InPlaceOfThePresetsHasItsOwnMemory) {
  const Workshop workshop;
  const auto capacity = [&](const std::string& options) {
    const Outcome run =
        workshop.sh("pipecast run scenarios/infiniband-gpt3-175b.yaml --json r.json " + options);
    EXPECT_EQ(run.code == 0 || run.code == 3, true) << run.err;
    const auto written = nlohmann::json::parse(workshop.read("r.json"));
    return written["ranks"][0]["capacity_bytes"].get<double>();
  };
  const double before = capacity("");
  const double other = capacity("--set platform.accelerator=h200_sxm5_141gb");
  EXPECT_GT(other, 140e9);
  EXPECT_LT(before, other);
  EXPECT_EQ(capacity("--set platform.accelerator=h200_sxm5_141gb --set platform.memory='70 GB'"),
            70e9);
  const Outcome unknown = workshop.sh(
      "pipecast check scenarios/infiniband-gpt3-175b.yaml --set platform.accelerator=h200");
  EXPECT_EQ(unknown.code, 1);
  EXPECT_NE(unknown.err.find("unknown accelerator 'h200'"), std::string::npos) << unknown.err;
}

/// Numbers of a preset that nobody verified are named, unless the scenario gives them.
TEST(Accelerator, FabricsFromMemoryAreWarnedOf) {
  const Workshop workshop;
  const auto text = [&](const std::string& options) {
    return workshop
        .sh("pipecast run scenarios/infiniband-gpt3-175b.yaml --set "
            "platform.preset=ascend-910b-roce " +
            options)
        .out;
  };
  EXPECT_NE(text("").find("scale_up_bandwidth 196 GB/s (memory)"), std::string::npos) << text("");
  EXPECT_EQ(text("--set platform.scale_up_bandwidth='190 GB/s'").find("scale_up_bandwidth 1"),
            std::string::npos);
}

}  // namespace
}  // namespace pipecast::cli
