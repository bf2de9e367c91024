#include "sim/report/html_report.hpp"

#include <gtest/gtest.h>

#include <sstream>
#include <vector>

#include "tests/unit/report/run_fixture.hpp"

namespace pipecast {
namespace {

testing::TestRun small_run() {
  const Shape shape{2, 1, 3};
  return testing::make_run(testing::one_f_one_b_program(2, 3),
                           testing::byte_workload(shape, {{0.1}, {0.1}, {0.1}}),
                           constant_delay_platform(2, {0.05}));
}

std::string html_of(const testing::TestRun& example) {
  std::ostringstream out;
  write_html_report(example.view(), out);
  return out.str();
}

/// Every element that is opened is closed in order; void and self-closing elements aside.
std::string unbalanced(const std::string& html) {
  std::vector<std::string> open;
  for (std::size_t at = html.find('<'); at != std::string::npos; at = html.find('<', at + 1)) {
    const std::size_t end = html.find('>', at);
    const std::string tag = html.substr(at + 1, end - at - 1);
    const std::string name = tag.substr(0, tag.find_first_of(" \t\n/", 1));
    if (tag[0] == '!' || tag.back() == '/' || name == "meta") continue;
    if (tag[0] != '/')
      open.push_back(name);
    else if (open.empty() || "/" + open.back() != tag)
      return tag;
    else
      open.pop_back();
  }
  return open.empty() ? "" : open.back();
}

TEST(HtmlReport, IsBalancedAndFetchesNothing) {
  const std::string html = html_of(small_run());
  EXPECT_EQ(unbalanced(html), "");
  EXPECT_EQ(html.find("src="), std::string::npos);
  EXPECT_EQ(html.find("href="), std::string::npos);
  EXPECT_EQ(html.find("<script"), std::string::npos);
}

TEST(HtmlReport, NamesBothBubblesAndEveryRank) {
  const std::string html = html_of(small_run());
  EXPECT_NE(html.find("bubble fraction"), std::string::npos);
  EXPECT_NE(html.find("bubble overhead"), std::string::npos);
  EXPECT_NE(html.find("Where the time of each rank goes"), std::string::npos);
}

TEST(HtmlReport, EscapesNames) {
  testing::TestRun example = small_run();
  example.scenario = "<b>&\"";
  EXPECT_NE(html_of(example).find("<h1>&lt;b&gt;&amp;&quot;</h1>"), std::string::npos);
}

}  // namespace
}  // namespace pipecast
