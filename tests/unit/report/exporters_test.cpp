#include "sim/report/exporters.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/unit/report/run_fixture.hpp"

namespace pipecast {
namespace {

using testing::byte_workload;
using testing::make_run;
using testing::one_f_one_b_program;

testing::TestRun small_run() {
  Program program = one_f_one_b_program(2, 2);
  Workload workload = byte_workload(program.shape, {{0.1}, {0.2}, {0.3}});
  auto run = make_run(std::move(program), std::move(workload), constant_delay_platform(2, {0.05}));
  run.scenario = "a \"quoted\" name\nof two lines \xff";
  run.warnings = {"mind the gap"};
  return run;
}

std::string written(void (*write)(const RunView&, std::ostream&), const RunView& view) {
  std::ostringstream out;
  write(view, out);
  return out.str();
}

TEST(JsonSummary, HoldsEveryFieldOfTheContract) {
  const auto run = small_run();
  const auto json = nlohmann::json::parse(written(write_json_summary, run.view()));
  EXPECT_EQ(json.at("format"), "pipecast.run/1");
  EXPECT_EQ(json.at("scenario"), "a \"quoted\" name\nof two lines \xEF\xBF\xBD");
  EXPECT_EQ(json.at("engine"), "longest-path");
  EXPECT_EQ(json.at("schedule").at("name"), "1f1b");
  EXPECT_EQ(json.at("schedule").at("microbatches"), 2);
  for (const char* key : {"makespan_s", "ideal_s", "bubble_fraction", "bubble_overhead",
                          "max_rank_span_s", "span_bubble_fraction", "tasks"})
    EXPECT_TRUE(json.at(key).is_number()) << key;
  EXPECT_EQ(json.at("makespan_s").get<double>(), run.summary.makespan_s);
  EXPECT_EQ(json.at("digest").get<std::string>().size(), 16U);
  EXPECT_EQ(json.at("warnings").at(0), "mind the gap");
  ASSERT_EQ(json.at("ranks").size(), 2U);
  for (const char* key :
       {"busy_s", "idle_s", "waiting_for_transfer_s", "warmup_idle_s", "steady_idle_s",
        "cooldown_idle_s", "gap_s", "span_s", "peak_activation_bytes", "peak_in_flight",
        "static_bytes", "peak_bytes", "capacity_bytes"})
    EXPECT_TRUE(json.at("ranks").at(1).at(key).is_number()) << key;
  EXPECT_EQ(json.at("ranks").at(1).at("device"), "device1");
  EXPECT_TRUE(json.at("ranks").at(1).at("fits").is_null());  // nobody says what the device holds
  for (const char* key : {"stage", "rank", "forward_s", "backward_input_s", "backward_weight_s",
                          "peak_activation_bytes"})
    EXPECT_TRUE(json.at("stages").at(1).at(key).is_number()) << key;
  EXPECT_EQ(json.at("links").at(0).at("link"), "delay");
}

TEST(IntervalCsv, HasARowPerOperationAndTransfer) {
  const auto run = small_run();
  EXPECT_EQ(written(write_interval_csv, run.view()),
            "rank,stream,kind,stage,microbatch,start_s,end_s,bytes,peer\n"
            "0,compute,F,0,0,0,0.1,100,\n"
            "0,compute,F,0,1,0.1,0.2,100,\n"
            "0,compute,B,0,0,0.8,1.3,-100,\n"
            "0,compute,B,0,1,1.4000000000000001,1.9000000000000001,-100,\n"
            "1,compute,F,1,0,0.15000000000000002,0.25,100,\n"
            "1,compute,B,1,0,0.25,0.75,-100,\n"
            "1,compute,F,1,1,0.75,0.85,100,\n"
            "1,compute,B,1,1,0.85,1.35,-100,\n"
            "1,transfer,SEND_B,1,0,0.75,0.8,4,0\n"
            "1,transfer,SEND_B,1,1,1.35,1.4000000000000001,4,0\n"
            "0,transfer,SEND_F,0,0,0.1,0.15000000000000002,8,1\n"
            "0,transfer,SEND_F,0,1,0.2,0.25,8,1\n");
}

TEST(TextSummary, NamesBothBubblesAndTheWarnings) {
  const auto run = small_run();
  const std::string text = written(write_text_summary, run.view());
  for (const char* piece :
       {"step time (makespan)", "bubble fraction", "idle time of all ranks / (ranks x makespan)",
        "bubble overhead", "makespan / ideal - 1", "span bubble fraction", "warning: mind the gap",
        "device1", "12 tasks, digest "})
    EXPECT_NE(text.find(piece), std::string::npos) << piece << "\n" << text;
}

TEST(TextSummary, LeavesOutTheMiddleOfManyRanks) {
  Program program = one_f_one_b_program(40, 2);
  Workload workload = byte_workload(program.shape, {{1}, {1}, {1}});
  const auto run =
      make_run(std::move(program), std::move(workload), constant_delay_platform(40, {}));
  const std::string text = written(write_text_summary, run.view());
  EXPECT_NE(text.find("... 8 more"), std::string::npos) << text;
}

TEST(Exporters, AreFoundByName) {
  const auto exporters = builtin_exporters();
  ASSERT_NE(find_exporter(exporters, "json"), nullptr);
  EXPECT_EQ(find_exporter(exporters, "json")->suffix, ".json");
  EXPECT_EQ(find_exporter(exporters, "pdf"), nullptr);
}

}  // namespace
}  // namespace pipecast
