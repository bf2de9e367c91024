#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/shell.hpp"

namespace pipecast::cli {
namespace {

nlohmann::json page_data(const std::string& html) {
  const std::string begin = "id=\"data\">";
  const std::size_t from = html.find(begin) + begin.size();
  return nlohmann::json::parse(html.substr(from, html.find("</script>", from) - from));
}

TEST(Report, HoldsTheScenarioAndWhatTheCommandLineChanged) {
  const Workshop shop;
  const Outcome outcome = shop.sh(
      "pipecast run scenarios/zero-bubble-1.5b.yaml --quiet --report r.html "
      "--set 'name=\"</script>\"'");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const auto page = page_data(shop.read("r.html"));
  EXPECT_EQ(page["title"], "</script>");
  const auto& last = page["blocks"].back();
  EXPECT_EQ(last["title"], "The scenario that made it");
  const std::string text = last["text"];
  EXPECT_EQ(text.find(repository_file("scenarios/zero-bubble-1.5b.yaml")), 0U);
  EXPECT_NE(text.find("# --set name=\"</script>\"\n"), std::string::npos);
}

TEST(Report, OfAComparisonHoldsEveryValidSchedule) {
  const Workshop shop;
  const Outcome outcome = shop.sh(
      "pipecast compare scenarios/zero-bubble-1.5b.yaml --schedules zb-h1,1f1b,zb-h2,"
      "dualpipe --engine longest-path --set pipeline.microbatches=7 --report r.html "
      "--trace t.json");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const auto page = page_data(shop.read("r.html"));
  ASSERT_EQ(page["sections"].size(), 3U);  // dualpipe needs an even number
  EXPECT_EQ(page["sections"][0]["name"], "zb-h2");
  EXPECT_EQ(page["sections"][2]["name"], "1f1b");
  const auto trace = nlohmann::json::parse(shop.read("t.json"));
  ASSERT_EQ(trace["otherData"]["runs"].size(), 3U);
  std::size_t processes = 0;
  for (const auto& event : trace["traceEvents"]) processes += event["name"] == "process_name";
  EXPECT_EQ(processes, 3U * 8);
}

TEST(Report, CoarseTraceIsSmallerThanAFullOne) {
  const Workshop shop;
  const std::string run = "pipecast run scenarios/infiniband-gpt3-175b.yaml --quiet --trace ";
  EXPECT_EQ(shop.sh(run + "full.json").code, 0);
  EXPECT_EQ(shop.sh(run + "coarse.json --trace-detail coarse").code, 0);
  EXPECT_EQ(shop.sh(run + "coarse.json.gz --trace-detail coarse").code, 0);
  EXPECT_LT(shop.read("coarse.json").size(), shop.read("full.json").size());
  EXPECT_LT(shop.read("coarse.json.gz").size(), shop.read("coarse.json").size());
  EXPECT_EQ(shop.sh(run + "t.json --trace-detail medium").code, 2);
}

TEST(Report, ScheduleShowDrawsEqualDurationsForPapers) {
  const Workshop shop;
  const Outcome outcome = shop.sh("pipecast schedule show 1f1b -p 4 -m 8 --svg d.svg");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("rank 3"), std::string::npos);
  const std::string svg = shop.read("d.svg");
  EXPECT_EQ(svg.find("<svg "), 0U);
  EXPECT_NE(svg.find("1f1b, 4 ranks, 8 microbatches"), std::string::npos);
  EXPECT_NE(svg.find("bubble fraction 27.27 %"), std::string::npos);
  const Outcome only = shop.sh("pipecast schedule show 1f1b -p 4 -m 8 --svg -");
  EXPECT_EQ(only.out, svg);
  EXPECT_EQ(shop.sh("pipecast schedule show 1f1b -p 4 -m 8 --svg no/d.svg").code, 1);
}

TEST(Report, FilesThatCannotBeWrittenAreRefusedBeforeTheRuns) {
  const Workshop shop;
  for (const char* option : {"--report", "--trace"}) {
    const Outcome outcome =
        shop.sh(std::string("pipecast compare scenarios/zero-bubble-1.5b.yaml ") + option +
                " no/such/folder.html");
    EXPECT_EQ(outcome.code, 1);
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err.find("cannot write 'no/such/folder.html'"), std::string::npos)
        << outcome.err;
  }
}

}  // namespace
}  // namespace pipecast::cli
