#include "sim/study/compare_report.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

namespace pipecast {
namespace {

std::vector<CompareRow> two_rows() {
  CompareRow fast;
  fast.schedule = "zb-h1";
  fast.shape = {2, 1, 4};
  fast.step_s = 0.5;
  fast.relative_step = 0.8;
  fast.peak_activation = {{1024}, {512}};
  fast.largest_peak_activation = {1024};
  CompareRow refused;
  refused.schedule = "zbv";
  refused.refused = "needs \"two\" chunks";
  return {fast, refused};
}

TEST(CompareReport, JsonHoldsEveryRow) {
  std::ostringstream out;
  write_compare_json(two_rows(), "a \"name\"", "simgrid", out);
  const auto json = nlohmann::json::parse(out.str());
  EXPECT_EQ(json["format"], "pipecast.compare/1");
  EXPECT_EQ(json["scenario"], "a \"name\"");
  ASSERT_EQ(json["rows"].size(), 2U);
  EXPECT_EQ(json["rows"][0]["peak_activation_bytes"][1], 512);
  EXPECT_EQ(json["rows"][0]["relative_step"], 0.8);
  EXPECT_EQ(json["rows"][1]["refused"], "needs \"two\" chunks");
}

TEST(CompareReport, FitsIsNullWhereNobodyKnows) {
  std::vector<CompareRow> rows(3, two_rows().front());
  rows[1].capacity_known = false;
  rows[2].fits = false;
  std::ostringstream out;
  write_compare_json(rows, "name", "simgrid", out);
  const auto json = nlohmann::json::parse(out.str());
  EXPECT_EQ(json["rows"][0]["fits"], true);
  EXPECT_TRUE(json["rows"][1]["fits"].is_null());
  EXPECT_EQ(json["rows"][2]["fits"], false);
  std::ostringstream text;
  write_compare_text(rows, text);
  EXPECT_NE(text.str().find("unknown\n"), std::string::npos) << text.str();
}

TEST(CompareReport, TextNamesTheReasons) {
  std::ostringstream out;
  write_compare_text(two_rows(), out);
  EXPECT_NE(out.str().find("0.800"), std::string::npos);
  EXPECT_NE(out.str().find("zbv: needs \"two\" chunks"), std::string::npos);
}

}  // namespace
}  // namespace pipecast
