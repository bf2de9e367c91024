#include "sim/report/timeline_svg.hpp"

#include <gtest/gtest.h>

#include <regex>
#include <sstream>

#include "tests/unit/report/run_fixture.hpp"

namespace pipecast {
namespace {

using testing::make_run;
using testing::make_test_op;
using testing::one_f_one_b_program;

testing::TestRun run_of(int ranks, int microbatches, double delay_s = 0) {
  Program program = one_f_one_b_program(ranks, microbatches);
  Workload workload = uniform_workload(program.shape, {{1}, {1}, {1}});
  return make_run(std::move(program), std::move(workload),
                  constant_delay_platform(ranks, {delay_s}));
}

std::string drawn(const testing::TestRun& run, const TimelineSvgOptions& options = {}) {
  std::ostringstream out;
  write_timeline_svg(run.program, run.workload, run.graph, run.timeline, options, out);
  return out.str();
}

int count(const std::string& text, const std::string& pattern) {
  const std::regex expression(pattern);
  return static_cast<int>(std::distance(std::sregex_iterator(text.begin(), text.end(), expression),
                                        std::sregex_iterator()));
}

/// The first violation of XML's rules on tags, or nothing.
std::string xml_fault(const std::string& text) {
  std::vector<std::string> open;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '>') return "stray > at " + text.substr(i, 40);
    if (text[i] != '<') continue;
    const std::size_t end = text.find('>', i);
    if (end == std::string::npos) return "a tag does not end";
    const std::string tag = text.substr(i + 1, end - i - 1);
    if (std::count(tag.begin(), tag.end(), '"') % 2 != 0 || tag.find('<') != std::string::npos)
      return "bad tag " + tag;
    const std::string name = tag.substr(0, tag.find_first_of(" /", 1));
    if (tag.front() == '/') {
      if (open.empty() || open.back() != tag.substr(1)) return "unexpected </" + tag + ">";
      open.pop_back();
    } else if (tag.back() != '/') {
      open.push_back(name);
    }
    i = end;
  }
  return open.empty() ? "" : "unclosed " + open.back();
}

/// Brightness that is left of a colour such as #b4d6f4 in grey print, 0 to 1 (BT.601).
double grey_of(const std::string& color) {
  const auto part = [&](std::size_t at) { return std::stoi(color.substr(at, 2), nullptr, 16); };
  return (0.299 * part(1) + 0.587 * part(3) + 0.114 * part(5)) / 255;
}

/// F, I, B and W stay apart in grey print, from each other and from the idle background.
TEST(TimelineSvg, KindsSurviveGreyPrinting) {
  const std::string svg = drawn(run_of(2, 2));
  std::vector<double> greys;
  for (const char* name : {"bg", "f", "i", "b", "w"}) {
    std::smatch match;
    const std::regex fill("\\." + std::string(name) + "\\{fill:(#[0-9a-f]+)\\}");
    ASSERT_TRUE(std::regex_search(svg, match, fill)) << name;
    const std::string color = match[1].str();
    greys.push_back(color.size() == 7 ? grey_of(color) : 1.0);
  }
  for (std::size_t i = 1; i < greys.size(); ++i) EXPECT_GT(greys[i - 1] - greys[i], 0.13) << i;
}

TEST(TimelineSvg, HasABoxAndANumberPerOperation) {
  const auto run = run_of(4, 8);
  const std::string svg = drawn(run, {.title = "a <b> & \"c\"", .labels = TimeLabels::Ticks});
  EXPECT_EQ(xml_fault(svg), "");
  EXPECT_EQ(count(svg, "class=\"box f\""), 4 * 8);
  EXPECT_EQ(count(svg, "class=\"box b\""), 4 * 8);
  EXPECT_EQ(count(svg, "class=\"lf\"[^>]*>[0-7]</text>"), 4 * 8);
  EXPECT_EQ(count(svg, "class=\"lb\"[^>]*>[0-7]</text>"), 4 * 8);
  EXPECT_NE(svg.find("<title>a &lt;b&gt; &amp; &quot;c&quot;</title>"), std::string::npos);
  EXPECT_EQ(count(svg, ">rank [0-3]</text>"), 4);
  EXPECT_EQ(svg, drawn(run, {.title = "a <b> & \"c\"", .labels = TimeLabels::Ticks}));
}

TEST(TimelineSvg, BoxesLieWhereTheTimelinePutsThem) {
  const std::string svg = drawn(run_of(2, 1));
  // Rank 1: forward 1 to 2, backward 2 to 4 of 6 seconds.
  std::smatch row;
  ASSERT_TRUE(std::regex_search(
      svg, row,
      std::regex(
          "rank 1[^]*?box f\" x=\"([0-9.]+)\" width=\"([0-9.]+)\"[^]*?box b\" x=\"([0-9.]+)\" "
          "width=\"([0-9.]+)\"")));
  std::smatch background;
  ASSERT_TRUE(std::regex_search(svg, background,
                                std::regex("class=\"bg\" x=\"([0-9.]+)\" width=\"([0-9.]+)\"")));
  const double left = std::stod(background[1]);
  const double second = std::stod(background[2]) / 6;
  EXPECT_NEAR(std::stod(row[1]), left + second, 0.02);
  EXPECT_NEAR(std::stod(row[2]), second, 0.02);
  EXPECT_NEAR(std::stod(row[3]), left + 2 * second, 0.02);
  EXPECT_NEAR(std::stod(row[4]), 2 * second, 0.02);
}

TEST(TimelineSvg, ShowsMessagesThatAreWaitedForAndChunks) {
  const std::string waits = drawn(run_of(2, 2, 0.5));
  EXPECT_EQ(xml_fault(waits), "");
  EXPECT_GE(count(waits, "<path class=\"m\""), 3);
  EXPECT_NE(waits.find("waiting for a message"), std::string::npos);

  Program program;
  program.shape = {1, 2, 1};
  program.placement = loop_placement(program.shape);
  program.ranks = {{make_test_op(OpKind::Forward, 0, 0), make_test_op(OpKind::Forward, 1, 0),
                    make_test_op(OpKind::BackwardFull, 1, 0),
                    make_test_op(OpKind::BackwardFull, 0, 0)}};
  Workload workload = uniform_workload(program.shape, {{1}, {1}, {1}});
  const std::string chunks =
      drawn(make_run(std::move(program), std::move(workload), constant_delay_platform(1, {})));
  EXPECT_EQ(count(chunks, "class=\"h\""), 2 + 1);  // two boxes and the legend
  EXPECT_NE(chunks.find("second chunk of the rank"), std::string::npos);
}

TEST(TimelineSvg, ManyOperationsBecomeSharesOfTime) {
  const auto run = run_of(16, 1000);
  const std::string svg = drawn(run);
  EXPECT_EQ(xml_fault(svg), "");
  EXPECT_EQ(count(svg, "class=\"box"), 0);
  EXPECT_NE(svg.find("the height of a colour is its share of the time"), std::string::npos);
  EXPECT_LT(svg.size(), 500'000U);
  // Area of the forwards: a third of the work.
  double forward = 0;
  double backward = 0;
  const std::regex box(
      "class=\"([fb])\" x=\"[0-9.]+\"(?: y=\"[0-9.]+\")? width=\"([0-9.]+)\" height=\"([0-9.]+)\"");
  const std::string rows = svg.substr(0, svg.rfind("<g "));  // without the legend
  for (std::sregex_iterator next(rows.begin(), rows.end(), box); next != std::sregex_iterator();
       ++next)
    ((*next)[1] == "f" ? forward : backward) += std::stod((*next)[2]) * std::stod((*next)[3]);
  EXPECT_NEAR(forward / (forward + backward), 1.0 / 3, 0.01);
}

TEST(TimelineSvg, AStepWithoutTimeIsStillADocument) {
  Program program = one_f_one_b_program(2, 2);
  Workload workload = uniform_workload(program.shape, {});
  const auto run =
      make_run(std::move(program), std::move(workload), constant_delay_platform(2, {}));
  EXPECT_EQ(xml_fault(drawn(run)), "");
}

}  // namespace
}  // namespace pipecast
