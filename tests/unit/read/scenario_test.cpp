#include "sim/read/scenario.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace pipecast {
namespace {

using Strings = std::vector<std::string>;

ScheduleInfo schedule(std::string_view name, BackwardKind backward, std::vector<FieldInfo> fields) {
  ScheduleInfo info;
  info.name = name;
  info.backward = backward;
  info.fields = std::move(fields);
  return info;
}

/// A registry of our own: the reader links none of the real ones.
struct Registry {
  std::vector<ScheduleInfo> schedules{
      schedule("plain", BackwardKind::Full, {}),
      schedule("split", BackwardKind::Split,
               {{"limit", FieldKind::Integer, 1, 9, "4", "activations", {}}}),
      schedule("inference", BackwardKind::None, {}),
  };
  std::vector<PlatformKind> kinds{
      {"mesh",
       "",
       {{"latency", FieldKind::Time, 0, 1, "1e-6 s", "", {}},
        {"bandwidth", FieldKind::Bandwidth, 1, 1e15, "0 GB/s", "of a link", {}}},
       nullptr}};
  std::vector<std::string> folders{
      (std::filesystem::temp_directory_path() / ("pipecast-presets-" + std::to_string(::getpid())))
          .string()};

  Registry() {
    std::filesystem::create_directories(folders[0]);
    std::ofstream(folders[0] + "/small.yaml")
        << "kind: mesh\ndescription: two boards\nlatency: {value: 2 us, source: a table, "
           "certainty: measured}\nbandwidth: 10 GB/s\nsources: {a table: page 3}\n";
  }
  ~Registry() { std::filesystem::remove_all(folders[0]); }

  ReadContext context() const { return {schedules, kinds, folders}; }
};

const std::string kHead =
    "pipeline: {schedule: plain, ranks: 2, microbatches: 3}\n"
    "platform: {delay: 601 us}\n";

Result<Scenario> read(const std::string& text, std::vector<Override> overrides = {}) {
  const Registry registry;
  return read_scenario(text, "folder/step.yaml", registry.context(), overrides);
}

Scenario good(const std::string& text, std::vector<Override> overrides = {}) {
  auto scenario = read(text, std::move(overrides));
  EXPECT_TRUE(scenario) << (scenario ? "" : render(scenario.error()));
  return scenario ? std::move(*scenario) : Scenario{};
}

Strings faults(const Result<Scenario>& result) {
  Strings list;
  if (result) return list;
  for (const Diagnostic& fault : result.error())
    list.push_back(std::to_string(fault.where.line) + ":" + std::to_string(fault.where.column) +
                   ": " + fault.message);
  return list;
}

TEST(Scenario, OneValuePerCost) {
  const Scenario scenario =
      good(kHead + "workload: {costs: {forward: 10 ms, backward: 20 ms}, message: 27 MiB}\n");
  EXPECT_EQ(scenario.name, "step");
  EXPECT_EQ(scenario.shape, (Shape{2, 1, 3}));
  EXPECT_EQ(scenario.schedule.name, "plain");
  EXPECT_EQ(scenario.platform.delay.value, 601e-6);
  EXPECT_TRUE(scenario.platform.kind.empty());
  EXPECT_EQ(scenario.workload.costs.size(), 2U);
  EXPECT_EQ(scenario.workload.costs[1], (StageCost{{0.010}, {0.020}, {}}));
  EXPECT_FALSE(scenario.workload.backward_is_split);
  EXPECT_EQ(scenario.workload.bytes[0].message_backward.value, 27.0 * 1024 * 1024);
}

TEST(Scenario, CostsPerStageAndPerMicrobatch) {
  const Scenario scenario = good(kHead +
                                 "workload:\n"
                                 "  costs:\n"
                                 "    forward: [1 ms, 2 ms]\n"
                                 "    backward_input: [[1 ms, 2 ms, 3 ms], [4 ms, 5 ms, 6 ms]]\n"
                                 "    backward_weight: 7 ms\n");
  EXPECT_TRUE(scenario.workload.backward_is_split);
  ASSERT_TRUE(scenario.workload.varies_by_microbatch());
  EXPECT_EQ(scenario.workload.cost(Stage{1}, Microbatch{2}),
            (StageCost{{0.002}, {0.006}, {0.007}}));
  EXPECT_TRUE(check(scenario.workload).empty());
}

TEST(Scenario, BytesPerStage) {
  const Scenario scenario =
      good(kHead +
           "workload:\n"
           "  costs: {forward: 1 ms, backward: 2 ms}\n"
           "  activation: {held_by_forward: [2 GiB, 1 GiB], released_by_backward_input: 0.5 GiB}\n"
           "  message: 1 MB\n"
           "  gradient_message: [2 MB, 3 MB]\n"
           "  parameters: 4 GB\n"
           "  gradients: 5 GB\n"
           "  optimizer: [6 GB, 7 GB]\n");
  EXPECT_EQ(scenario.workload.bytes[1],
            (StageBytes{{1073741824}, {536870912}, {1e6}, {3e6}, {4e9}, {5e9}, {7e9}}));
}

TEST(Scenario, RuntimeKeysAtTheTopOrInTheWorkload) {
  const std::string costs = "costs: {forward: 1 ms, backward: 2 ms}";
  const std::string runtime =
      "overheads: {operation: 200 us, gap: 1 ms, message: 2 ms}\n"
      "first_stage_input_gradient: empty\noverlap: {ratio: 0.9}\n";
  const Scenario top = good(kHead + "workload: {" + costs + "}\n" + runtime);
  EXPECT_EQ(top.workload.overheads, (Overheads{{200e-6}, {1e-3}, {2e-3}}));
  EXPECT_EQ(top.workload.first_stage_input_gradient, FirstStageInputGradient::Empty);
  EXPECT_EQ(top.workload.overlap, (OverlapCost{OverlapCost::Rule::Ratio, 0.9}));
  const Scenario inside = good(kHead + "workload: {" + costs + ", overlap: {duration: 10 ms}}\n");
  EXPECT_EQ(inside.workload.overlap, (OverlapCost{OverlapCost::Rule::Given, 0.010}));
  EXPECT_EQ(faults(read(kHead + "workload: {" + costs + ", overlap: sum}\noverlap: sum\n")),
            Strings{"3:52: overlap is given twice, also at the top of the scenario"});
}

TEST(Scenario, NothingIsParallelButThePipeline) {
  const Scenario scenario = good(kHead + "workload: {costs: {forward: 1 ms, backward: 2 ms}}\n");
  ParallelLayout layout;
  layout.pipeline = scenario.shape.ranks;
  layout.chunks = scenario.shape.chunks;
  EXPECT_EQ(scenario.parallel, layout);
  EXPECT_TRUE(scenario.workload.sync.empty());
}

TEST(Scenario, ParallelBlockInTheWorkloadOrAtTheTop) {
  const std::string block =
      "parallel: {tensor: 2, context: 1, data: 4, expert: 2, zero: 1, order: dp-tp-pp-ep, "
      "replicas: all,\n"
      "  gradient_reduction: {overlap: false, bucket: 25 MiB, algorithm: ring},\n"
      "  parameter_gather: {overlap: false, algorithm: tree}}\n";
  const Scenario top = good(kHead + "workload: {costs: {forward: 1 ms, backward: 2 ms}}\n" + block);
  const ParallelLayout& layout = top.parallel;
  EXPECT_EQ(layout.tensor, 2);
  EXPECT_EQ(layout.data, 4);
  EXPECT_EQ(layout.expert, 2);
  EXPECT_EQ(layout.zero, 1);
  EXPECT_EQ(order_text(layout.order), "dp-tp-pp-ep-cp");
  EXPECT_EQ(layout.replicas, Replicas::All);
  EXPECT_EQ(layout.gradient_reduction,
            (GradientReduction{false, {25.0 * 1024 * 1024}, false, CollectiveAlgorithm::Ring}));
  EXPECT_EQ(layout.parameter_gather, (ParameterGather{false, CollectiveAlgorithm::Tree}));
  EXPECT_EQ(layout.devices(), 2 * 4 * top.shape.ranks);
  EXPECT_EQ(faults(read(kHead + "workload: {costs: {forward: 1 ms, backward: 2 ms}, "
                                "parallel: {data: 2}}\nparallel: {data: 2}\n")),
            Strings{"3:52: parallel is given twice, also at the top of the scenario"});
}

TEST(Scenario, GradientsAreReducedAfterEachBackwardOnceTheyAreSharded) {
  const auto reduction = [](const std::string& parallel) {
    return good(kHead +
                "workload: {costs: {forward: 1 ms, backward: 2 ms}}\nparallel: " + parallel + "\n")
        .parallel.gradient_reduction.every_microbatch;
  };
  EXPECT_FALSE(reduction("{data: 2, zero: 1}"));
  EXPECT_TRUE(reduction("{data: 2, zero: 2}"));
  EXPECT_FALSE(reduction("{data: 2, zero: 3, gradient_reduction: {every: step}}"));
  EXPECT_TRUE(reduction("{data: 2, gradient_reduction: {every: microbatch}}"));
}

TEST(Scenario, ParametersAreGatheredForEachUseOnceTheyAreSharded) {
  const auto each_use = [](const std::string& parallel) {
    return good(kHead +
                "workload: {costs: {forward: 1 ms, backward: 2 ms}}\nparallel: " + parallel + "\n")
        .parallel.gathers_each_use();
  };
  EXPECT_FALSE(each_use("{data: 2, zero: 2}"));
  EXPECT_TRUE(each_use("{data: 2, zero: 3}"));
  EXPECT_TRUE(each_use("{data: 2, zero: 3, parameter_gather: {every: microbatch}}"));
  EXPECT_FALSE(each_use("{data: 2, zero: 3, parameter_gather: {every: step}}"));
}

TEST(Scenario, WhatAStageExchangesAndWhatADeviceKeeps) {
  const Scenario scenario = good(kHead +
                                 "workload:\n"
                                 "  costs: {forward: 1 ms, backward: 2 ms}\n"
                                 "  parameters: 8 GB\n"
                                 "  gradients: 16 GB\n"
                                 "  gradient: [8 GB, 4 GB]\n"
                                 "  optimizer: 24 GB\n"
                                 "  optimizer_step: 5 ms\n"
                                 "parallel: {data: 4, zero: 2}\n");
  EXPECT_EQ(scenario.workload.sync[1], (StageSync{{4e9}, {8e9}, {}, {}, {0.005}}));
  EXPECT_EQ(scenario.workload.bytes[1].gradients, Bytes{16e9});
  const Workload kept = sharded(scenario.workload, scenario.parallel);
  EXPECT_EQ(kept.bytes[1].parameters, Bytes{8e9});
  EXPECT_EQ(kept.bytes[1].gradients, Bytes{4e9});
  EXPECT_EQ(kept.bytes[1].optimizer, Bytes{6e9});
  const Scenario plain = good(kHead +
                              "workload: {costs: {forward: 1 ms, backward: 2 ms}, gradients: "
                              "16 GB}\n");
  EXPECT_EQ(plain.workload.sync[0].gradients, Bytes{16e9});
}

TEST(Scenario, ParametersOfTheScheduleOverItsDefaults) {
  const std::string tail =
      "workload: {costs: {forward: 1 ms, backward_input: 1 ms, backward_weight: 1 ms}}\n"
      "platform: {delay: 0 s}\n";
  const Scenario by_default =
      good("pipeline: {schedule: split, ranks: 2, microbatches: 3}\n" + tail);
  EXPECT_EQ(std::get<std::int64_t>(by_default.schedule.params.at("limit")), 4);
  const Scenario given =
      good("pipeline: {schedule: split, ranks: 2, microbatches: 3, params: {limit: 7}}\n" + tail);
  EXPECT_EQ(std::get<std::int64_t>(given.schedule.params.at("limit")), 7);
}

TEST(Scenario, ASplitScheduleNeedsBothHalves) {
  EXPECT_EQ(faults(read("pipeline: {schedule: split, ranks: 2, microbatches: 3}\n"
                        "workload: {costs: {forward: 1 ms, backward: 1 ms}}\n"
                        "platform: {delay: 0 s}\n")),
            Strings{"2:35: the schedule splits the backward, the costs give only the whole of it"});
}

TEST(Scenario, InferenceNeedsNoBackward) {
  good(
      "pipeline: {schedule: inference, ranks: 2, microbatches: 3}\n"
      "workload: {costs: {forward: 1 ms}}\nplatform: {delay: 0 s}\n");
  EXPECT_EQ(faults(read(kHead + "workload: {costs: {forward: 1 ms}}\n")),
            Strings{"3:12: workload.costs lacks the backward"});
}

TEST(Scenario, PresetWithOverrides) {
  const std::string tail =
      "workload: {costs: {forward: 1 ms, backward: 1 ms}}\n"
      "pipeline: {schedule: plain, ranks: 2, microbatches: 3}\n";
  const Scenario scenario =
      good("platform: {preset: small, bandwidth: 20 GB/s, devices: [5, 3]}\n" + tail);
  EXPECT_EQ(scenario.platform.kind, "mesh");
  EXPECT_EQ(scenario.platform.preset, "small");
  EXPECT_EQ(std::get<double>(scenario.platform.values.at("latency")), 2e-6);
  EXPECT_EQ(std::get<double>(scenario.platform.values.at("bandwidth")), 20e9);
  EXPECT_EQ(scenario.platform.devices, (std::vector<int>{5, 3}));
  const Scenario inline_kind = good("platform: {kind: mesh, bandwidth: 1 GB/s}\n" + tail);
  EXPECT_EQ(inline_kind.platform.kind, "mesh");
  EXPECT_TRUE(inline_kind.platform.preset.empty());
  EXPECT_EQ(faults(read("platform: {kind: mesh}\n" + tail)),
            Strings{"1:1: platform lacks the key 'bandwidth'"});
}

/// Paths are relative to the scenario; what the file does not say of its devices can be added.
TEST(Scenario, PlatformFilesOfOtherTools) {
  const Registry registry;
  const std::filesystem::path folder = registry.folders[0];
  std::ofstream(folder / "pair.xml")
      << "<platform version=\"4.1\"><zone id=\"z\" routing=\"Full\"><host id=\"a\" speed=\"1f\"/>"
         "<host id=\"b\" speed=\"1f\"><prop id=\"memory\" value=\"7\"/></host>"
         "<link id=\"l\" bandwidth=\"8Gbps\" latency=\"1us\"/>"
         "<route src=\"a\" dst=\"b\"><link_ctn id=\"l\"/></route></zone></platform>";
  std::ofstream(folder / "net.yml")
      << "topology: [Ring]\nnpus_count: [4]\nbandwidth: [50]\nlatency: [500]\n";
  const std::string head =
      "workload: {costs: {forward: 1 ms, backward: 1 ms}}\n"
      "pipeline: {schedule: plain, ranks: 2, microbatches: 3}\n";
  const auto platform_of = [&](const std::string& block) {
    const auto scenario = read_scenario(head + "platform: " + block,
                                        (folder / "step.yaml").string(), registry.context());
    EXPECT_TRUE(scenario) << render(scenario.error());
    return scenario ? scenario->platform : PlatformChoice{};
  };
  const PlatformChoice xml = platform_of("{xml: pair.xml, devices: [1, 0], memory: 80 GB}\n");
  EXPECT_EQ(xml.file, (folder / "pair.xml").string());
  EXPECT_EQ(xml.devices, (std::vector<int>{1, 0}));
  ASSERT_TRUE(xml.file_platform);
  EXPECT_EQ(xml.file_platform->devices[0].memory.value, 80e9);
  EXPECT_EQ(xml.file_platform->devices[1].memory.value, 7);
  EXPECT_EQ(route(*xml.file_platform, {0}, {1})->bandwidth.value, 1e9);
  const PlatformChoice astra = platform_of("{astra: net.yml}\n");
  ASSERT_TRUE(astra.file_platform);
  EXPECT_EQ(astra.file_platform->devices.size(), 4u);
}

TEST(Scenario, EveryTransferPolicyHasItsWord) {
  const std::string text = kHead + "workload: {costs: {forward: 1 ms, backward: 2 ms}}\n";
  EXPECT_EQ(good(text).transfers, TransferPolicy::Overlapped);
  for (const TransferPolicy policy : {TransferPolicy::Overlapped, TransferPolicy::Fifo,
                                      TransferPolicy::Blocking, TransferPolicy::Posted})
    EXPECT_EQ(good(text + "transfers: " + std::string(policy_name(policy)) + "\n").transfers,
              policy);
}

TEST(Scenario, OverridesGoThroughTheSameChecks) {
  const std::string text = kHead + "workload: {costs: {forward: 1 ms, backward: 2 ms}}\n";
  const Scenario scenario = good(text, {{"pipeline.ranks", "4"},
                                        {"workload.costs.forward", "[1 ms, 2 ms, 3 ms, 4 ms]"},
                                        {"platform", "{preset: small}"}});
  EXPECT_EQ(scenario.shape.ranks, 4);
  EXPECT_EQ(scenario.workload.costs[3].forward.value, 0.004);
  EXPECT_EQ(scenario.platform.preset, "small");
  EXPECT_EQ(faults(read(text, {{"pipeline.ranks", "0"}, {"pipeline.rank", "4"}})),
            (Strings{"1:1: unknown key 'rank' in pipeline",
                     "1:16: ranks is 0, allowed is from 1 to 16384"}));
}

TEST(Scenario, WhereFindsTheKeyOrTheOneAroundIt) {
  const Scenario scenario = good(kHead + "workload: {costs: {forward: 1 ms, backward: 2 ms}}\n",
                                 {{"pipeline.chunks", "1"}});
  EXPECT_EQ(scenario.where("pipeline.ranks").line, 1);
  EXPECT_EQ(scenario.where("pipeline.ranks").column, 36);
  EXPECT_EQ(scenario.where("pipeline.params.limit").column, 1);
  EXPECT_EQ(scenario.where("pipeline.chunks").file, "--set");
  EXPECT_EQ(scenario.where("nowhere").line, 0);
}

class CsvScenario : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ / "two.csv") << "0F0,0F1,,0B0,0B1\r\n,1F0,1B0,1F1,1B1\r\n";
    std::ofstream(folder_ / "lowered.csv")
        << "0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Result<Scenario> read(const std::string& pipeline) {
    const Registry registry;
    return read_scenario("pipeline: " + pipeline +
                             "\nworkload: {costs: {forward: 1 ms, backward: 2 ms}}\n"
                             "platform: {delay: 0 s}\n",
                         (folder_ / "s.yaml").string(), registry.context());
  }

  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("pipecast-scenario-" + std::to_string(::getpid()));
};

TEST_F(CsvScenario, TheFileGivesTheShape) {
  const auto scenario = read("{schedule: {csv: two.csv}}");
  ASSERT_TRUE(scenario) << render(scenario.error());
  EXPECT_EQ(scenario->shape, (Shape{2, 1, 2}));
  EXPECT_TRUE(scenario->schedule.name.empty());
  EXPECT_EQ(scenario->schedule.csv_path, (folder_ / "two.csv").string());
  ASSERT_TRUE(scenario->schedule.csv_program);
  EXPECT_EQ(scenario->schedule.csv_program->ranks[0].size(), 4U);
}

TEST_F(CsvScenario, GivenNumbersMustAgree) {
  EXPECT_TRUE(read("{schedule: {csv: two.csv}, ranks: 2, chunks: 1, microbatches: 2}"));
  EXPECT_EQ(faults(read("{schedule: {csv: two.csv}, ranks: 3, microbatches: 4}")),
            (Strings{"1:45: ranks is 3, the schedule file has 2",
                     "1:62: microbatches is 4, the schedule file has 2"}));
}

TEST_F(CsvScenario, TheDialectIsSaidNotGuessed) {
  EXPECT_TRUE(read("{schedule: {csv: lowered.csv, dialect: compute_comms}}"));
  EXPECT_EQ(faults(read("{schedule: {csv: lowered.csv}}")),
            Strings{"1:5: '0SEND_F0' is communication, the file is read as compute_only (4 cells "
                    "in all)"});
}

TEST_F(CsvScenario, AMissingFileIsReportedAtItsKey) {
  const auto result = read("{schedule: {csv: tow.csv}, params: {a: 1}}");
  ASSERT_FALSE(result);
  ASSERT_EQ(result.error().size(), 2U);
  EXPECT_EQ(result.error()[0].where.column, 28);
  EXPECT_EQ(result.error()[0].hint, "did you mean 'two.csv'?");
  EXPECT_EQ(result.error()[1].hint, "no keys are allowed here");
}

}  // namespace
}  // namespace pipecast
