// `pipecast import`: the measured run through the command, as a user gives it.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/shell.hpp"
#include "tests/unit/report/trace_validator.hpp"

namespace pipecast::cli {
namespace {

using nlohmann::json;

const std::string kPrimus = "scenarios/measured/primus-pp8.csv";

std::string kineto(const std::string& run) {
  std::string files;
  for (const char* rank : {"0", "1", "2", "3"})
    files += " \"$R/" + run + "_f20i20w20_4KiB.rank" + rank + ".json.gz\"";
  return files;
}

/// The fourth iteration of the 8-GPU run from the first three: within 2 %, the last stage is the
/// slow one, rank 0's last backward the outlier.
TEST(Import, PrimusThreeIterationsPredictTheFourth) {
  const Workshop shop;
  const Outcome outcome = shop.sh("pipecast import " + kPrimus + " --json -");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json report = json::parse(outcome.out);
  EXPECT_EQ(report["steps"], 4);
  EXPECT_EQ(report["schedule"], "1f1b");
  EXPECT_EQ(report["in_sample"], false);
  EXPECT_NEAR(report["measured_s"].get<double>(), 3.253589, 1e-9);
  EXPECT_LT(std::abs(report["error"].get<double>()), 0.02);
  EXPECT_EQ(report["slow_stage"], 7);
  EXPECT_EQ(report["outliers"][0]["rank"], 0);
  EXPECT_EQ(report["outliers"][0]["operation"], "0B15");
  EXPECT_EQ(report["outliers"][0]["steps"], 3);
  const std::string text = shop.sh("pipecast import " + kPrimus).out;
  EXPECT_NE(text.find("slow stage: 7 (the last)"), std::string::npos) << text;
  EXPECT_NE(text.find("outlier: rank 0 0B15"), std::string::npos) << text;
}

TEST(Import, TheProfileRunsAsAScenarioAndIsItsOwnForecast) {
  const Workshop shop;
  const Outcome profile =
      shop.sh("pipecast import " + kPrimus + " --scenario m.yaml --json p.json");
  ASSERT_EQ(profile.code, 0) << profile.err;
  const Outcome against =
      shop.sh("pipecast import " + kPrimus + " --against m.yaml --engine longest-path --json -");
  ASSERT_EQ(against.code, 0) << against.err;
  const json own = json::parse(shop.read("p.json"));
  const json held = json::parse(against.out);
  EXPECT_EQ(held["against"], "measured costs, 8 stages, 16 microbatches");
  EXPECT_FALSE(own.contains("against"));
  EXPECT_NEAR(held["predicted_s"].get<double>(), own["predicted_s"].get<double>(), 1e-5);
  EXPECT_EQ(held["measured_s"], own["measured_s"]);
  const auto& excess = held["excess"];
  EXPECT_NEAR(excess["ideal_s"].get<double>() + excess["start_s"].get<double>() +
                  excess["operations_s"].get<double>() + excess["gaps_s"].get<double>() +
                  excess["messages_s"].get<double>() - excess["slack_s"].get<double>(),
              held["measured_s"].get<double>(), 1e-9);
}

TEST(Import, AChangedScenarioIsAnotherForecast) {
  const Workshop shop;
  ASSERT_EQ(shop.sh("pipecast import " + kPrimus + " --scenario m.yaml").code, 0);
  const Outcome slow = shop.sh("pipecast import " + kPrimus +
                               " --against m.yaml --set 'platform.delay=50 ms' --json -");
  ASSERT_EQ(slow.code, 0) << slow.err;
  EXPECT_GT(json::parse(slow.out)["error"].get<double>(), 0.05);
  const Outcome order =
      shop.sh("pipecast import " + kPrimus + " --against m.yaml --set pipeline.schedule=gpipe");
  ASSERT_EQ(order.code, 0) << order.err;
  EXPECT_NE(order.out.find("note: the scenario's order is another: as operation 9 of rank 0 it has "
                           "0F8, measured was 0B0"),
            std::string::npos)
      << order.out;
}

TEST(Import, AForecastOfAnotherPipelineIsRefusedWithItsPlace) {
  const Workshop shop;
  const Outcome outcome =
      shop.sh("pipecast import " + kPrimus + " --against scenarios/zero-bubble-1.5b.yaml");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("scenarios/zero-bubble-1.5b.yaml:"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("8 ranks, 1 chunk per rank, 24 microbatches; measured were 8 ranks, 1 "
                             "chunk per rank, 16 microbatches"),
            std::string::npos)
      << outcome.err;
  ASSERT_EQ(shop.sh("pipecast import " + kPrimus + " --scenario m.yaml").code, 0);
  const Outcome split =
      shop.sh("pipecast import " + kPrimus + " --against m.yaml --set pipeline.schedule=zb-h1");
  EXPECT_EQ(split.code, 1) << split.err;
  EXPECT_EQ(shop.sh("pipecast import " + kPrimus + " --set pipeline.ranks=4").code, 2);
}

TEST(Import, ThePageAndTheTraceHoldBothTimelines) {
  const Workshop shop;
  const Outcome outcome = shop.sh("pipecast import " + kPrimus + " --report r.html --trace t.json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const std::string page = shop.read("r.html");
  for (const char* part :
       {"Measured and predicted", "From the ideal step to the measured one",
        "Where the measured time of each rank goes", "How far each rank is behind the prediction",
        "What the excess is made of", "Where measured and predicted differ",
        "Operations of each stage", "\"name\":\"measured\"", "\"name\":\"predicted\""})
    EXPECT_NE(page.find(part), std::string::npos) << part;
  EXPECT_LT(page.size(), 3u << 20);
  const json trace = json::parse(shop.read("t.json"));
  EXPECT_EQ(testing::TraceValidator(trace).faults(), std::vector<std::string>{});
  EXPECT_EQ(trace["otherData"]["runs"].size(), 2u);
}

TEST(Import, BrokenCutAndMixedTracesNameTheFileAndTheReason) {
  const Workshop shop;
  const std::string data =
      "R=" +
      std::filesystem::absolute(PIPECAST_SOURCE_DIR "/tests/published/data/kineto").string() + "; ";
  const auto refused = [&](const std::string& files, const std::string& reason) {
    const Outcome outcome = shop.sh(data + "pipecast import " + files);
    EXPECT_EQ(outcome.code, 1) << files;
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err.find(reason), std::string::npos) << outcome.err;
  };
  const std::string all = kineto("zbv_p4_v2_m8");
  EXPECT_EQ(shop.sh(data + "pipecast import" + all).code, 0);
  const std::string one = "\"$R/zbv_p4_v2_m8_f20i20w20_4KiB.rank1.json.gz\"";
  ASSERT_EQ(shop.sh(data + "head -c 3000 " + one + " > cut.rank1.json.gz; zcat " + one +
                    " | head -c 30000 > cut.rank1.json; zcat " + one +
                    " | sed 's/\"ts\"/ts/' > broken.rank1.json; echo '[1,2]' > other.rank1.json")
                .code,
            0);
  refused("cut.rank1.json.gz",
          "cut.rank1.json.gz: error: the trace ends in the middle of its gzip");
  refused("cut.rank1.json", "the trace is cut off (at byte 30000)");
  refused("broken.rank1.json", "the trace is not JSON");
  refused("other.rank1.json", "the trace is of no pipeline");
  refused(all + " " + one, "rank 1 has two files");
  refused(kineto("zbv_p4_v2_m8") + kineto("1f1b-ir_p4_v1_m8"), "has two files");
  refused(
      "\"$R/zbv_p4_v2_m8_f20i20w20_4KiB.rank0.json.gz\" "
      "\"$R/1f1b-ir_p4_v1_m8_f20i20w20_4KiB.rank1.json.gz\"",
      "error");
}

/// Nothing may stand behind the end of a trace, or be taken for it.
TEST(Import, WhatFollowsTheEndOfATraceIsRefused) {
  const Workshop shop;
  const std::string whole = "\"$R/zbv_p4_v2_m8_f20i20w20_4KiB.rank1.json.gz\"";
  const std::string data =
      "R=" +
      std::filesystem::absolute(PIPECAST_SOURCE_DIR "/tests/published/data/kineto").string() +
      "; zcat " + whole + " > w.json; ";
  const struct {
    const char* made_by;
    const char* file;
    const char* reason;
  } cases[] = {
      {"cat w.json > t.json; printf '\\0' >> t.json", "t.json",
       "the trace holds a NUL byte (at byte"},
      {"cat w.json > t.json; head -c 70000 /dev/zero >> t.json", "t.json", "holds a NUL byte"},
      {"printf '\\0' > t.json; cat w.json >> t.json", "t.json", "holds a NUL byte (at byte 1)"},
      {"cat w.json > t.json; echo text >> t.json", "t.json", "is not JSON (at byte"},
      {"cat w.json w.json > t.json", "t.json", "is not JSON (at byte"},
      {"iconv -f UTF-8 -t UTF-16 w.json > t.json", "t.json", "is not JSON (at byte 1)"},
      {"iconv -f UTF-8 -t UTF-16LE w.json > t.json", "t.json", "holds a NUL byte (at byte 2)"},
      {"gzip -c w.json > t.json.gz; printf '\\0\\0' >> t.json.gz", "t.json.gz",
       "goes on behind the end of its gzip stream"},
      {"gzip -c w.json > t.json.gz; echo text >> t.json.gz", "t.json.gz",
       "goes on behind the end of its gzip stream"},
      {"gzip -c w.json | head -c -4 > t.json.gz", "t.json.gz",
       "ends in the middle of its gzip stream"},
      {"gzip -c w.json > t.json.gz; printf '\\037' >> t.json.gz", "t.json.gz",
       "goes on behind the end of its gzip stream"},
      {"gzip -c w.json > a.gz; cat a.gz a.gz > t.json.gz", "t.json.gz", "is not JSON (at byte"},
      {"printf 'rank,kind,microbatch,start_s,end_s\\n0,F,0,0,1\\n\\0' > t.csv", "t.csv",
       "holds a NUL byte"},
  };
  for (const auto& each : cases) {
    const Outcome outcome =
        shop.sh(data + each.made_by + "; pipecast import " + std::string(each.file));
    EXPECT_EQ(outcome.code, 1) << each.made_by << outcome.err;
    EXPECT_NE(outcome.err.find(std::string(each.file) + ": error: "), std::string::npos)
        << outcome.err;
    EXPECT_NE(outcome.err.find(each.reason), std::string::npos) << each.made_by << outcome.err;
  }
  // Members of gzip one after the other are one file, a byte order mark of UTF-8 says nothing.
  EXPECT_EQ(
      shop.sh(data + "gzip -c w.json > w.gz; (head -c 5000 w.json | gzip -c; tail -c +5001 "
                     "w.json | gzip -c) > rank1.json.gz; (printf '\\357\\273\\277'; cat w.json) "
                     "> bom.rank1.json; for f in rank1.json.gz bom.rank1.json; do "
                     "pipecast import \"$R\"/zbv_p4_v2_m8*rank[023].json.gz $f || exit 9; done")
          .code,
      0);
}

/// Real traces of an A100, an MI250 and of host operations alone.
TEST(Import, RealTracesOfNoPipelineSayWhatTheyHold) {
  const Workshop shop;
  const std::string folder =
      std::filesystem::absolute(PIPECAST_SOURCE_DIR "/tests/published/data/traces").string();
  const std::pair<const char*, const char*> traces[] = {
      {"kineto_a100_alexnet.json.gz", "1408 events, 79 kernels"},
      {"kineto_mi250_minitoy_train_ROCm6_2_kineto.json.gz", "220 events, 14 kernels"},
      {"kineto_cpu_only_rank34.json.gz", "30 events, 0 kernels"}};
  for (const auto& [name, holds] : traces) {
    const Outcome outcome = shop.sh("pipecast import '" + folder + "/" + name + "'");
    EXPECT_EQ(outcome.code, 1);
    EXPECT_NE(outcome.err.find(std::string(name) + ": error: the trace is of no pipeline: " +
                               holds + ", no annotation like 'PP:1F3'"),
              std::string::npos)
        << outcome.err;
  }
}

}  // namespace
}  // namespace pipecast::cli
