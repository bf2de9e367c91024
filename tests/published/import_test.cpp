// Measured pipelines through `pipecast import`: an 8-GPU 1F1B run (AMD Primus), and the Kineto
// traces of six runs of PyTorch's runtime beside the intervals measured in the same step.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "sim/read/measured_file.hpp"
#include "sim/study/measured_compare.hpp"
#include "tests/support/csv_table.hpp"

namespace pipecast {
namespace {

const std::string kData = std::string(PIPECAST_TEST_DIR) + "/published/data/";
constexpr std::array kRuns = {"1f1b-ir_p4_v1_m8",       "gpipe_p4_v1_m8",
                              "dualpipev_p4_v2_m8",     "interleaved1f1b_p4_v2_m8",
                              "interleavedzb_p4_v2_m8", "zbv_p4_v2_m8"};

Result<ImportReport> imported(const std::vector<std::string>& files) {
  Result<MeasuredRun> run = read_measured_files(files);
  if (!run) return tl::unexpected(run.error());
  return import_report(std::move(*run), builtin_schedules());
}

std::vector<std::string> kineto_files(const std::string& run) {
  std::vector<std::string> files;
  for (const char* rank : {"0", "1", "2", "3"})
    files.push_back(kData + "kineto/" + run + "_f20i20w20_4KiB.rank" + rank + ".json.gz");
  return files;
}

TEST(PrimusImport, ThreeStepsPredictTheFourth) {
  const auto report = imported({kData + "primus_pp8.csv"});
  ASSERT_TRUE(report) << render(report.error());
  EXPECT_EQ(report->profile.schedule, "1f1b");
  EXPECT_NEAR(report->comparison.measured_s, 3.253589, 1e-9);
  EXPECT_LT(std::abs(report->comparison.error()), 0.02);
  EXPECT_EQ(report->profile.slow_stage, Stage{7});
  ASSERT_FALSE(report->profile.outliers.empty());
  const MeasuredOutlier& outlier = report->profile.outliers.front();
  EXPECT_EQ(outlier.rank, Rank{0});
  EXPECT_EQ(op_text(outlier.op), "0B15");
  EXPECT_EQ(outlier.steps, 3);
}

/// Share of the cells (operations, overlapped pairs as one) whose duration differs by at most half
/// a millisecond.
TEST(KinetoImport, OperationsAgreeWithTheIntervalsOfTheSameStep) {
  using Key = std::tuple<std::string, std::string, int, int>;
  std::map<Key, Interval> intervals;
  for (const test::CsvRow& row : test::read_csv_table(kData + "kineto_intervals.csv"))
    if (row.text("kind") != "STEP")
      intervals[{row.text("run"), row.text("kind"), row.integer("stage"),
                 row.integer("microbatch")}] = {row.number("begin_us") * 1e-6,
                                                row.number("end_us") * 1e-6};
  int cells = 0, close = 0;
  for (const std::string run : kRuns) {
    const auto measured = read_measured_files(kineto_files(run));
    ASSERT_TRUE(measured) << render(measured.error());
    int own = 0, own_close = 0;
    for (const MeasuredRank& rank : measured->steps.front().ranks)
      for (std::size_t i = 0; i < rank.ops.size(); ++i) {
        const std::size_t first = i;
        while (rank.ops[i].joined) ++i;
        const auto at = [&](std::size_t index) {
          const MeasuredOp& op = rank.ops[index];
          return intervals.at({run + "_f20i20w20_4KiB", std::string(op_word(op.kind)),
                               op.stage.value, op.microbatch.value});
        };
        const double difference =
            (rank.ops[i].end_s - rank.ops[first].begin_s) - (at(i).end_s - at(first).start_s);
        ++own;
        own_close += std::abs(difference) <= 0.5e-3 ? 1 : 0;
      }
    RecordProperty(std::string("within_half_a_millisecond_") + run,
                   std::to_string(own_close) + " of " + std::to_string(own));
    cells += own;
    close += own_close;
  }
  RecordProperty("within_half_a_millisecond",
                 std::to_string(close) + " of " + std::to_string(cells));
  EXPECT_EQ(cells, 765);
  EXPECT_GE(close, 0.95 * cells) << close << " of " << cells;
}

TEST(KinetoImport, TheParametersOfARunGiveItsStep) {
  for (const std::string run : kRuns) {
    const auto report = imported(kineto_files(run));
    ASSERT_TRUE(report) << run << "\n" << render(report.error());
    const MeasuredComparison& comparison = report->comparison;
    EXPECT_LT(std::abs(comparison.error()), 0.03) << run;
    const ExcessTime& excess = comparison.excess.path;
    EXPECT_NEAR(comparison.measured_s,
                excess.ideal_s + excess.start_s + excess.operations_s + excess.gaps_s +
                    excess.messages_s - excess.slack_s,
                1e-9)
        << run;
  }
}

TEST(KinetoImport, ReadsTheOrderBack) {
  const std::map<std::string, std::string> schedules = {{"1f1b-ir_p4_v1_m8", "1f1b"},
                                                        {"gpipe_p4_v1_m8", "gpipe"},
                                                        {"dualpipev_p4_v2_m8", "dualpipe-v"},
                                                        {"zbv_p4_v2_m8", "zbv"}};
  for (const auto& [run, schedule] : schedules) {
    const auto report = imported(kineto_files(run));
    ASSERT_TRUE(report);
    EXPECT_EQ(report->profile.schedule, schedule);
  }
}

}  // namespace
}  // namespace pipecast
