#include "sim/report/chrome_trace.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/unit/report/run_fixture.hpp"
#include "tests/unit/report/trace_validator.hpp"

namespace pipecast {
namespace {

using nlohmann::json;
using testing::byte_workload;
using testing::make_run;
using testing::one_f_one_b_program;

testing::TestRun run_of(int ranks, int microbatches, double latency_s, double bytes_per_s) {
  Program program = one_f_one_b_program(ranks, microbatches);
  Workload workload = byte_workload(program.shape, {{0.0011}, {0.0013}, {0.0007}});
  Platform platform = constant_delay_platform(ranks, {});
  platform.links[0] = {"a \"wire\"", {latency_s}, {bytes_per_s}, Sharing::FatPipe};
  return make_run(std::move(program), std::move(workload), std::move(platform));
}

std::string text_of(const testing::TestRun& run, const TraceOptions& options = {}) {
  std::ostringstream out;
  write_chrome_trace(run.view(), out, options);
  return out.str();
}

void expect_valid(const json& trace) {
  EXPECT_EQ(testing::TraceValidator(trace).faults(), std::vector<std::string>{});
}

std::vector<json> events_of(const json& trace, const std::string& phase,
                            const std::string& category = "") {
  std::vector<json> events;
  for (const auto& event : trace["traceEvents"])
    if (event["ph"] == phase && (category.empty() || event.value("cat", "") == category))
      events.push_back(event);
  return events;
}

TEST(TraceValidator, SeesWhatIsWrong) {
  const auto faults = [](const std::string& events) {
    return testing::TraceValidator(json::parse("{\"traceEvents\":[" + events + "]}")).faults();
  };
  const std::string names = R"({"ph":"M","pid":1,"name":"process_name","args":{"name":"p"}},
    {"ph":"M","pid":1,"tid":2,"name":"thread_name","args":{"name":"t"}})";
  const auto slice = [](const std::string& ts, const std::string& dur) {
    return R"(,{"ph":"X","pid":1,"tid":2,"cat":"c","name":"n","ts":)" + ts + ",\"dur\":" + dur +
           "}";
  };
  EXPECT_TRUE(faults(names + slice("0", "2") + slice("2", "1")).empty());
  EXPECT_TRUE(faults(names + slice("0", "2") + slice("0", "1")).empty());
  EXPECT_EQ(faults(names + slice("0", "2") + slice("1", "2")).size(), 1U);
  EXPECT_EQ(faults(names + slice("-1", "2")).size(), 1U);
  EXPECT_EQ(faults(R"({"ph":"X","pid":"1","tid":2,"cat":"c","name":"n","ts":0,"dur":1})").size(),
            1U);
  EXPECT_EQ(faults(names + R"(,{"ph":"s","pid":1,"tid":2,"name":"n","id":1,"ts":5})").size(), 2U);
  EXPECT_EQ(
      faults(names + slice("0", "9") + R"(,{"ph":"s","pid":1,"tid":2,"name":"n","id":1,"ts":5},
    {"ph":"f","bp":"e","pid":1,"tid":2,"name":"n","id":1,"ts":4})")
          .size(),
      1U);
}

TEST(ChromeTrace, IsValidAndComplete) {
  const auto run = run_of(4, 8, 0.0002, 1e6);
  const json trace = json::parse(text_of(run));
  expect_valid(trace);
  EXPECT_EQ(events_of(trace, "X", "F").size(), 4U * 8);
  EXPECT_EQ(events_of(trace, "X", "B").size(), 4U * 8);
  EXPECT_EQ(events_of(trace, "X", "comm").size(), 2U * 2 * 3 * 8);
  EXPECT_EQ(events_of(trace, "s").size(), 2U * 3 * 8);
  EXPECT_EQ(events_of(trace, "f").size(), 2U * 3 * 8);
  EXPECT_EQ(trace["displayTimeUnit"], "ms");
}

TEST(ChromeTrace, NamesProcessesThreadsAndCellsAsInTheContract) {
  const auto run = run_of(2, 1, 0.0002, 1e6);
  const std::string text = text_of(run);
  for (
      const char* line :
      {R"x({"ph":"M","pid":1,"name":"process_name","args":{"name":"rank 1 (device1)"}})x",
       R"({"ph":"M","pid":0,"tid":0,"name":"thread_name","args":{"name":"compute"}})",
       R"({"ph":"M","pid":0,"tid":1,"name":"thread_name","args":{"name":"send"}})",
       R"({"ph":"M","pid":1,"tid":2,"name":"thread_name","args":{"name":"receive"}})",
       R"({"ph":"X","pid":0,"tid":0,"cat":"F","name":"0F0","ts":0,"dur":1100,)"
       R"("cname":"thread_state_runnable","args":{"stage":0,"microbatch":0,"kind":"F","bytes":100}})",
       R"({"ph":"X","pid":1,"tid":2,"cat":"comm","name":"1RECV_F0","ts":1100,"dur":208,)"
       R"("cname":"generic_work","args":{"stage":1,"microbatch":0,"kind":"RECV_F","bytes":8}})",
       R"({"ph":"X","pid":1,"tid":0,"cat":"bubble","name":"waiting for transfer","ts":1100,"dur":208,)"
       R"("cname":"grey","args":{"reason":"waiting for transfer 0SEND_F0","phase":"warm-up"}})",
       R"({"ph":"C","pid":0,"name":"memory","ts":0,"args":{"params":1000,"grads":2000,"optimizer":3000,"activations":100}})"})
    EXPECT_NE(text.find(line), std::string::npos) << line << "\n" << text;
}

TEST(ChromeTrace, BubblesAddUpToTheIdleTime) {
  const auto run = run_of(4, 8, 0.0002, 1e6);
  const json trace = json::parse(text_of(run));
  std::map<int, double> idle_us;
  std::set<std::string> reasons;
  for (const json& bubble : events_of(trace, "X", "bubble")) {
    idle_us[bubble["pid"]] += bubble["dur"].get<double>();
    reasons.insert(bubble["args"]["reason"].get<std::string>().substr(0, 20));
  }
  for (int rank = 0; rank < 4; ++rank)
    EXPECT_NEAR(idle_us[rank], 1e6 * run.summary.ranks[static_cast<std::size_t>(rank)].idle_s,
                0.05);
  EXPECT_TRUE(reasons.contains("warm-up"));
  EXPECT_TRUE(reasons.contains("cool-down"));
  EXPECT_TRUE(reasons.contains("waiting for transfer"));
}

TEST(ChromeTrace, CountersReachThePeakAndEndAtZero) {
  const auto run = run_of(4, 8, 0.0002, 1e6);
  for (const TraceDetail detail : {TraceDetail::Full, TraceDetail::Coarse}) {
    const json trace = json::parse(text_of(run, {detail, Compression::None}));
    std::map<int, double> peak;
    std::map<int, double> last;
    for (const json& counter : events_of(trace, "C")) {
      if (counter["name"] != "memory") continue;
      last[counter["pid"]] = counter["args"]["activations"];
      peak[counter["pid"]] = std::max(peak[counter["pid"]], last[counter["pid"]]);
    }
    for (const RankSummary& rank : run.summary.ranks) {
      EXPECT_EQ(peak[rank.rank.value], rank.peak_activation.value);
      EXPECT_EQ(last[rank.rank.value], 0);
    }
  }
}

TEST(ChromeTrace, LinkCountersCarryTheBytes) {
  const auto run = run_of(3, 4, 0.0002, 1e5);
  const json trace = json::parse(text_of(run));
  double carried = 0;
  double before_us = 0;
  double level = 0;
  for (const json& counter : events_of(trace, "C")) {
    if (counter["name"] == "memory") continue;
    EXPECT_EQ(counter["name"], "a _wire_");
    carried += level * (counter["ts"].get<double>() - before_us) * 1e-6 * 1e5;
    before_us = counter["ts"];
    level = counter["args"]["utilization"];
  }
  EXPECT_EQ(level, 0);
  EXPECT_NEAR(carried, 2 * 4 * (8 + 4), 0.05);  // times in the file are rounded to nanoseconds
}

TEST(ChromeTrace, OverlappingTransfersGetLanesOfTheirOwn) {
  const auto run =
      run_of(2, 6, 0.01, 1e6);  // a message is longer on its way than an operation lasts
  const json trace = json::parse(text_of(run));
  expect_valid(trace);
  std::set<std::string> names;
  for (const json& event : events_of(trace, "M"))
    if (event["name"] == "thread_name") names.insert(event["args"]["name"]);
  EXPECT_TRUE(names.contains("send 2")) << trace;
}

TEST(ChromeTrace, ZeroDurationsStayValid) {
  Program program = one_f_one_b_program(3, 4);
  Workload workload = byte_workload(program.shape, {{0}, {0.001}, {0}});
  const auto run =
      make_run(std::move(program), std::move(workload), constant_delay_platform(3, {}));
  expect_valid(json::parse(text_of(run)));
  workload = byte_workload(run.program.shape, {{0}, {0}, {0}});
  const auto still = make_run(run.program, workload, constant_delay_platform(3, {}));
  expect_valid(json::parse(text_of(still)));
  expect_valid(json::parse(text_of(still, {TraceDetail::Coarse, Compression::None})));
}

TEST(ChromeTrace, SeveralRunsShareAFile) {
  const auto a = run_of(2, 3, 0.0002, 1e6);
  auto b = run_of(3, 3, 0.0002, 1e6);
  const std::vector<RunView> views{a.view(), b.view()};
  std::ostringstream out;
  write_chrome_trace(views, out);
  const json trace = json::parse(out.str());
  expect_valid(trace);
  EXPECT_NE(out.str().find("1f1b rank 2 (device2)"), std::string::npos);
  EXPECT_EQ(events_of(trace, "X", "F").size(), 2U * 3 + 3U * 3);
}

TEST(ChromeTrace, CoarseMergesAndStaysValid) {
  const auto run = run_of(2, 100'000, 0.0002, 1e6);
  const std::string text = text_of(run, {TraceDetail::Coarse, Compression::None});
  EXPECT_EQ(run.graph.tasks.size(), 600'000U);
  EXPECT_LT(text.size(), 40'000'000U);
  const json trace = json::parse(text);
  expect_valid(trace);
  std::int64_t operations = 0;
  for (const json& event : events_of(trace, "X", "operations"))
    operations += event["args"]["operations"].get<std::int64_t>();
  EXPECT_GT(operations, 300'000);
}

TEST(ChromeTrace, IsTheSameOnEveryRun) {
  const auto run = run_of(3, 5, 0.0002, 1e6);
  EXPECT_EQ(text_of(run), text_of(run));
  const std::string packed = text_of(run, {TraceDetail::Full, Compression::Gzip});
  EXPECT_EQ(packed, text_of(run, {TraceDetail::Full, Compression::Gzip}));
  EXPECT_LT(packed.size(), text_of(run).size() / 4);
}

}  // namespace
}  // namespace pipecast
