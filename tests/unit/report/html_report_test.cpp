#include "sim/report/html_report.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "sim/report/critical_path.hpp"
#include "sim/report/page_bundle.hpp"
#include "sim/report/report_page.hpp"
#include "sim/report/run_timeline.hpp"
#include "sim/report/waterfall.hpp"
#include "tests/unit/report/run_fixture.hpp"

namespace pipecast {
namespace {

testing::TestRun small_run() {
  const Shape shape{2, 1, 3};
  return testing::make_run(testing::one_f_one_b_program(2, 3),
                           testing::byte_workload(shape, {{0.1}, {0.1}, {0.1}}),
                           constant_delay_platform(2, {0.05}));
}

std::string html_of(const RunView& run) {
  std::ostringstream out;
  write_html_report(run, out);
  return out.str();
}

std::string between(const std::string& text, const std::string& begin, const std::string& end) {
  const std::size_t from = text.find(begin) + begin.size();
  return text.substr(from, text.find(end, from) - from);
}

nlohmann::json data_of(const std::string& html) {
  return nlohmann::json::parse(between(html, "id=\"data\">", "</script>"));
}

std::size_t count(const std::string& text, const std::string& piece) {
  std::size_t found = 0;
  for (std::size_t at = text.find(piece); at != std::string::npos; at = text.find(piece, at + 1))
    ++found;
  return found;
}

const nlohmann::json* block_titled(const nlohmann::json& page, const std::string& title) {
  for (const auto& block : page["blocks"])
    if (block.value("title", "") == title) return &block;
  return nullptr;
}

TEST(HtmlReport, IsOneFileThatFetchesNothing) {
  const testing::TestRun example = small_run();
  std::string html = html_of(example.view());
  EXPECT_EQ(count(html, "<script"), 2U);
  EXPECT_EQ(count(html, "</script"), 2U);
  EXPECT_NE(html.find(page_script()), std::string::npos);
  html.erase(html.find(page_script()), page_script().size());
  EXPECT_EQ(html.find("src="), std::string::npos);
  EXPECT_EQ(html.find("href="), std::string::npos);
  EXPECT_EQ(html.find("@import"), std::string::npos);
  EXPECT_EQ(html.find("url("), std::string::npos);
}

TEST(HtmlReport, HasEveryPartOfTheRun) {
  const testing::TestRun example = small_run();
  RunView view = example.view();
  view.scenario_text = "name: a test\n";
  const auto page = data_of(html_of(view));
  EXPECT_EQ(page["title"], "a test");
  std::string figures;
  for (const auto& figure : page["blocks"][0]["figures"])
    figures += figure["name"].get<std::string>() + ";";
  EXPECT_EQ(figures,
            "step time (makespan);ideal;bubble fraction;bubble overhead;longest rank span;"
            "span bubble fraction;peak memory;");
  for (const char* title :
       {"Timeline", "From the ideal step to the predicted one", "Where the time of each rank goes",
        "Critical path", "Memory of each rank over the step",
        "Peak memory of each rank by component", "Busiest links", "Ranks", "Stages",
        "The scenario that made it"})
    EXPECT_NE(block_titled(page, title), nullptr) << title;
  EXPECT_EQ((*block_titled(page, "The scenario that made it"))["text"], "name: a test\n");
}

TEST(HtmlReport, LetsNoTextLeaveItsPlace) {
  testing::TestRun example = small_run();
  example.scenario = "</script><script>alert(1)</script><!-- & \"\\\n\xff";
  example.warnings = {"</ScRiPt>", "<img onerror=x>"};
  RunView view = example.view();
  view.scenario_text = "]]></script ><!--<script>";
  const std::string html = html_of(view);
  EXPECT_EQ(count(html, "<script"), 2U);
  EXPECT_EQ(count(html, "</script"), 2U);
  EXPECT_EQ(count(html, "<!--"), 0U);
  EXPECT_EQ(count(html, "<img"), 0U);
  const auto page = data_of(html);
  EXPECT_EQ(page["title"], "</script><script>alert(1)</script><!-- & \"\\\n\xEF\xBF\xBD");
  EXPECT_EQ(page["warnings"][1], "<img onerror=x>");
}

TEST(HtmlReport, IsTheSameOnEveryRun) {
  const testing::TestRun example = small_run();
  EXPECT_EQ(html_of(example.view()), html_of(example.view()));
}

TEST(CriticalPath, FollowsTheLastPredecessorFromEndToStart) {
  const testing::TestRun run = small_run();
  const auto path = critical_path(run.graph, run.timeline);
  ASSERT_FALSE(path.empty());
  EXPECT_EQ(run.timeline.intervals[path.front()].start_s, 0);
  EXPECT_EQ(run.timeline.intervals[path.back()].end_s, run.summary.makespan_s);
  double covered_s = 0;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const Interval& interval = run.timeline.intervals[path[i]];
    covered_s += interval.end_s - interval.start_s;
    if (i > 0) {
      EXPECT_EQ(interval.start_s, run.timeline.intervals[path[i - 1]].end_s);
    }
  }
  EXPECT_NEAR(covered_s, run.summary.makespan_s, 1e-12);
  EXPECT_TRUE(critical_path(TaskGraph{}, Timeline{}).empty());
}

TEST(Waterfall, AddsUpToTheMakespan) {
  const testing::TestRun run = small_run();
  const Waterfall fall = waterfall(run.view());
  double sum_s = 0;
  for (const WaterfallPart& part : fall.parts) sum_s += part.seconds;
  EXPECT_NEAR(sum_s, run.summary.makespan_s, 1e-12);
  EXPECT_NEAR(fall.parts.front().seconds, 0.9, 1e-12);  // 3 · (0.1 + 0.2)
}

TEST(RunTimeline, HoldsEveryOperationAndMessage) {
  const testing::TestRun run = small_run();
  const TimelineData data = run_timeline(run.view());
  ASSERT_EQ(data.lines.size(), 2U);
  EXPECT_EQ(data.lines[1].boxes.size(), 6U);
  EXPECT_EQ(data.messages.size(), 6U);
  EXPECT_EQ(data.length_s, run.summary.makespan_s);
  EXPECT_TRUE(data.notes.empty());
  EXPECT_TRUE(data.lines[0].boxes[0].critical);
}

TEST(RunTimeline, StaysWithinItsBoundAndSaysSo) {
  const testing::TestRun run = small_run();
  const TimelineData data = run_timeline(run.view(), {4});
  ASSERT_EQ(data.lines.size(), 1U);
  EXPECT_EQ(data.lines[0].boxes.size(), 4U);
  EXPECT_TRUE(data.messages.empty());
  EXPECT_EQ(data.notes.size(), 2U);
}

TEST(BoundedSteps, KeepsEveryPeak) {
  std::vector<double> times;
  std::vector<double> values;
  for (int i = 0; i < 1000; ++i) {
    times.push_back(i * 0.001);
    values.push_back(i == 577 ? 9 : i % 3);
  }
  const PageSeries series = bounded_steps(times, values, 1, 100);
  EXPECT_LE(series.x.size(), 102U);
  EXPECT_EQ(*std::max_element(series.y.begin(), series.y.end()), 9);
  EXPECT_TRUE(std::is_sorted(series.x.begin(), series.x.end()));
  EXPECT_EQ(series.y.back(), values.back());
  EXPECT_EQ(bounded_steps(times, values, 1, 1000).x, times);
}

}  // namespace
}  // namespace pipecast
