#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/cli/shell.hpp"

namespace pipecast::cli {
namespace {

constexpr const char* kRun = "pipecast run scenarios/zero-bubble-1.5b.yaml ";

TEST(Output, FilesAppearWholeAndAlone) {
  const Workshop workshop;
  const Outcome run =
      workshop.sh(std::string(kRun) + "--json r.json --trace t.json.gz --timeline t.csv --quiet");
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.out + run.err, "");
  EXPECT_EQ(workshop.listing(), "r.json t.csv t.json.gz");
  const auto json = nlohmann::json::parse(workshop.read("r.json"));
  EXPECT_EQ(json["format"], "pipecast.run/1");
  EXPECT_NEAR(json["makespan_s"].get<double>(), 1.310405, 1e-9);
  EXPECT_EQ(workshop.sh("gzip -dc t.json.gz | head -c 1").out, "{");
}

TEST(Output, RepeatedRunsWriteTheSameBytes) {
  const Workshop workshop;
  for (const char* name : {"a", "b"})
    workshop.sh(std::string(kRun) + "--json " + name + ".json --trace " + name +
                ".trace.json.gz --timeline " + name + ".csv >" + name + ".txt");
  for (const char* suffix : {".json", ".trace.json.gz", ".csv", ".txt"}) {
    EXPECT_FALSE(workshop.read(std::string("a") + suffix).empty());
    EXPECT_EQ(workshop.read(std::string("a") + suffix), workshop.read(std::string("b") + suffix));
  }
}

TEST(Output, ResultsAndProgressDoNotMix) {
  const Workshop workshop;
  const Outcome summary = workshop.sh(std::string(kRun) + "--json r.json");
  EXPECT_NE(summary.out.find("bubble fraction"), std::string::npos);
  EXPECT_EQ(summary.out.find("r.json"), std::string::npos);
  EXPECT_NE(summary.err.find("wrote r.json"), std::string::npos);
  EXPECT_EQ((summary.out + summary.err).find('\x1b'), std::string::npos);
  const Outcome json = workshop.sh(std::string(kRun) + "--json -");
  EXPECT_EQ(nlohmann::json::parse(json.out)["engine"], "simgrid");
}

TEST(Output, APlaceThatCannotBeWrittenIsOneClearMessage) {
  const Workshop workshop;
  for (const char* place : {"missing/r.json", ".", "scenarios/zero-bubble-1.5b.yaml/r.json"}) {
    const Outcome run = workshop.sh(std::string(kRun) + "--quiet --json " + place);
    EXPECT_EQ(run.code, 1) << place;
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
    EXPECT_NE(run.err.find(std::string("cannot write '") + place + "'"), std::string::npos);
  }
  const Outcome full = workshop.sh(std::string(kRun) + "--quiet --json /dev/full");
  EXPECT_EQ(full.code, 1);
  EXPECT_EQ(full.err, "error: cannot write '/dev/full': No space left on device\n");
  EXPECT_EQ(workshop.listing(), "");
}

TEST(Output, AFailureLeavesTheOldFile) {
  const Workshop workshop;
  workshop.write("r.json", "old");
  EXPECT_EQ(workshop.sh("pipecast run missing.yaml --json r.json").code, 1);
  EXPECT_EQ(workshop.sh(std::string(kRun) + "--json r.json --trace missing/t.json").code, 1);
  EXPECT_EQ(workshop.read("r.json"), "old");
  EXPECT_EQ(workshop.listing(), "r.json");
}

TEST(Output, LinksAndDevicesStayWhatTheyAre) {
  const Workshop workshop;
  workshop.write("real.json", "old");
  workshop.sh("ln -s real.json link.json");
  EXPECT_EQ(workshop.sh(std::string(kRun) + "--quiet --json link.json").code, 0);
  EXPECT_EQ(workshop.sh("test -L link.json && test ! -L real.json").code, 0);
  EXPECT_EQ(workshop.read("real.json").front(), '{');
  EXPECT_EQ(workshop.sh(std::string(kRun) + "--quiet --json /dev/null").code, 0);
  EXPECT_EQ(workshop.sh("test -c /dev/null").code, 0);
}

TEST(Output, OneFileCannotHoldTwoThings) {
  const Workshop workshop;
  EXPECT_EQ(workshop.sh(std::string(kRun) + "--json x --timeline x").code, 1);
  EXPECT_EQ(workshop.listing(), "");
}

}  // namespace
}  // namespace pipecast::cli
