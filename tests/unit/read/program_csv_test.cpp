#include "sim/read/program_csv.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "sim/read/text_file.hpp"
#include "tests/support/csv_blocks.hpp"
#include "tests/support/torch_loader.hpp"

namespace pipecast {
namespace {

using testing::file_text;
using testing::read_csv_blocks;

const std::string kData = std::string(PIPECAST_TEST_DIR) + "/unit/read/data/";

Result<Program> compute(std::string_view text) {
  return read_program_csv(text, "f.csv", CsvDialect::ComputeOnly);
}
Result<Program> comms(std::string_view text) {
  return read_program_csv(text, "f.csv", CsvDialect::ComputeComms);
}

/// `line:column: message` of every fault.
std::vector<std::string> faults(const Result<Program>& result) {
  std::vector<std::string> list;
  if (result) return list;
  for (const Diagnostic& fault : result.error())
    list.push_back(std::to_string(fault.where.line) + ":" + std::to_string(fault.where.column) +
                   ": " + fault.message);
  return list;
}

using Strings = std::vector<std::string>;

/// The cells of a text without the idle ones, as our writer would put them.
std::string without_idle_cells(const std::string& text) {
  std::string result;
  for (const auto& row : testing::torch_rows(text)) {
    std::string line;
    for (const std::string& cell : row)
      if (!testing::stripped(cell).empty())
        line += (line.empty() ? "" : ",") + testing::stripped(cell);
    result += line + "\r\n";
  }
  return result;
}

void expect_round_trip(const std::string& name, const std::string& text, CsvDialect dialect) {
  const auto program = read_program_csv(text, name, dialect);
  ASSERT_TRUE(program) << render(program.error());
  const std::string written = write_program_csv(*program);
  EXPECT_EQ(written, without_idle_cells(text)) << name;
  const auto again = read_program_csv(written, name, dialect);
  ASSERT_TRUE(again) << render(again.error());
  EXPECT_EQ(*again, *program) << name;
  const int ranks = testing::number_after(name, "_p");
  EXPECT_EQ(program->shape.ranks, ranks) << name;
  EXPECT_EQ(program->shape.microbatches, testing::number_after(name, "_m")) << name;
  EXPECT_EQ(program->shape.chunks, testing::number_after(name, "_v")) << name;
}

TEST(ProgramCsv, ComputeOrdersOfEveryFamilyReadAndRoundTrip) {
  const auto blocks = read_csv_blocks(kData + "compute_only.txt");
  EXPECT_GE(blocks.size(), 100U);
  for (const auto& [name, text] : blocks) expect_round_trip(name, text, CsvDialect::ComputeOnly);
}

TEST(ProgramCsv, LoweredOrdersOfEveryFamilyReadAndRoundTrip) {
  const auto blocks = read_csv_blocks(kData + "compute_comms.txt");
  EXPECT_GE(blocks.size(), 50U);
  for (const auto& [name, text] : blocks) expect_round_trip(name, text, CsvDialect::ComputeComms);
}

TEST(ProgramCsv, ReadsTheFilesThatPytorchShips) {
  for (const char* name :
       {"dualpipev_4rank_10mb.csv", "torchtitan_custom_schedule.csv",
        "zb1p_2rank_2stagep_compute.csv", "interleaved1f1b-dumpcsv-crlf_p2_v2_m4.csv",
        "interleavedzb-dumpcsv-crlf_p4_v2_m6.csv"}) {
    const auto program =
        read_program_csv_file(kData + "artifacts/" + name, CsvDialect::ComputeOnly);
    EXPECT_TRUE(program) << name << "\n" << (program ? "" : render(program.error()));
  }
  const auto lowered = read_program_csv_file(kData + "artifacts/zb1p_2rank_2stagep_comms.csv",
                                             CsvDialect::ComputeComms);
  ASSERT_TRUE(lowered) << render(lowered.error());
  EXPECT_EQ(lowered->shape, (Shape{2, 2, 8}));
}

TEST(ProgramCsv, RefusesOldNotationByName) {
  const auto comms_file = read_program_csv_file(
      kData + "artifacts/zb1p_2rank_2stagep_comms.old-notation.csv", CsvDialect::ComputeComms);
  EXPECT_EQ(faults(comms_file),
            Strings{"1:80: '2BW0' is the notation of PyTorch 2.5, where BW was the whole backward "
                    "and B the gradient of the input (16 cells in all)"});
  const auto compute_file = read_program_csv_file(
      kData + "artifacts/zb1p_2rank_2stagep_compute.old-notation.csv", CsvDialect::ComputeOnly);
  EXPECT_EQ(faults(compute_file),
            Strings{"1:22: the file has W but no I: in the notation of PyTorch 2.5, B was the "
                    "gradient of the input"});
  EXPECT_EQ(faults(compute("F0_s0,B0_s0\nF0_s1,B0_s1\n")),
            Strings{"1:1: 'F0_s0' is the notation of PyTorch 2.4 (4 cells in all)"});
}

TEST(ProgramCsv, ReadsTheNotationOfPytorch25WhenTold) {
  const auto old_file =
      read_program_csv_file(kData + "artifacts/zb1p_2rank_2stagep_compute.old-notation.csv",
                            CsvDialect::ComputeOnly, CsvNotation::Torch25);
  const auto new_file = read_program_csv_file(kData + "artifacts/zb1p_2rank_2stagep_compute.csv",
                                              CsvDialect::ComputeOnly);
  ASSERT_TRUE(old_file) << render(old_file.error());
  EXPECT_EQ(*old_file, *new_file);
  const auto lowered =
      read_program_csv_file(kData + "artifacts/zb1p_2rank_2stagep_comms.old-notation.csv",
                            CsvDialect::ComputeComms, CsvNotation::Torch25);
  EXPECT_TRUE(lowered) << render(lowered.error());
}

TEST(ProgramCsv, NamesTheReasonOfTheMisnumbered1f1b) {
  for (const auto& [name, text] : read_csv_blocks(kData + "misnumbered_1f1b.txt")) {
    const auto result = compute(text);
    ASSERT_EQ(faults(result).size(), 1U) << name;
    EXPECT_NE(result.error()[0].message.find("are numbered 1 to "), std::string::npos) << name;
    EXPECT_NE(result.error()[0].hint.find("_get_pipeline_order"), std::string::npos) << name;
  }
}

TEST(ProgramCsv, InfersThePlacementFromTheLines) {
  const auto vee = compute("0F0,3F0,3B0,0B0\n1F0,2F0,2B0,1B0\n");
  ASSERT_TRUE(vee) << render(vee.error());
  EXPECT_EQ(vee->placement, zigzag_placement({2, 2, 1}));
}

TEST(ProgramCsv, TheMicrobatchDecidesWhereAStageIsOnSeveralRanks) {
  const auto both = compute("0F0,1F1,1B1,0B0\n0F1,1F0,1B0,0B1\n");
  ASSERT_TRUE(both) << render(both.error());
  EXPECT_EQ(both->shape, (Shape{2, 1, 2}));
  EXPECT_EQ(both->placement.directions(), 2);
  EXPECT_EQ(both->placement.direction_of, (std::vector<std::uint8_t>{0, 1}));
  EXPECT_EQ(both->placement.rank(Stage{0}, Microbatch{1}), Rank{1});
  EXPECT_EQ(both->placement.rank(Stage{1}, Microbatch{1}), Rank{0});
}

TEST(ProgramCsv, ReportsEveryViolationWithItsCell) {
  EXPECT_EQ(
      faults(compute("0F0,0F0,0B0,0B1,0F1\n1B0, 1F0 ,1B0,1F1\n")),
      (Strings{"1:5: rank 0: 0F0 is there twice", "1:13: rank 0: 0B1 stands before its forward",
               "2:1: rank 1: 1B0 stands before its forward", "2:11: rank 1: 1B0 is there twice",
               "2:18: stage 1, microbatch 1: the backward is missing"}));
}

/// One run names every fault; what a cell that is none may have been meant to be is not missing.
TEST(ProgramCsv, ReportsBrokenRulesBesideBrokenCells) {
  EXPECT_EQ(
      faults(compute("0F0,0F0,0B0,0B1,0F1\n1B0, 1F0 ,1B0,1F1x\n")),
      (Strings{"1:5: rank 0: 0F0 is there twice", "1:13: rank 0: 0B1 stands before its forward",
               "2:1: rank 1: 1B0 stands before its forward", "2:11: rank 1: 1B0 is there twice",
               "2:18: after 1F1 stands 'x'"}));
  // The forward of microbatch 1 may be the cell before; the missing backward may be the one behind.
  EXPECT_EQ(faults(compute("0F0,0F1,0B0,0B1\n1F0,lF1,1B1,1B0\n")).size(), 1U);
  EXPECT_EQ(faults(compute("0F0,0F1,0B0,0B1\n1F0,1F1,1B1,lB0\n")).size(), 1U);
  // A rank whose cells are all read misses what it misses.
  EXPECT_EQ(faults(compute("0F0,0F1,0B0\n1F0,lF1,1B1,1B0\n")),
            (Strings{"1:12: stage 0, microbatch 1: the backward is missing",
                     "2:5: 'lF1' is not a cell"}));
  EXPECT_EQ(faults(comms("0F0,0SEND_F0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0,1X0\n")),
            (Strings{"1:17: rank 0: 0RECV_B0 is missing", "2:28: unknown operation 'X'"}));
}

TEST(ProgramCsv, NothingFollowsFromCellsThatCouldNotBeRead) {
  EXPECT_EQ(faults(compute("0F0,0B0\n1F0,1B0\n\n")).size(), 1U);  // a line too many
  EXPECT_EQ(faults(compute("0F0,0B0\n1F0,1B0\n2F0,2B0,3F0x\n")).size(), 1U);
  EXPECT_EQ(faults(compute("0F0,0B0,0W0\n1F0,1B0,1W0\n")).size(), 1U);  // notation of 2.5
}

TEST(ProgramCsv, FindsMessagesThatAreSentOrReceivedOnceTooOftenOrNever) {
  EXPECT_EQ(faults(comms("0F0,0SEND_F0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n")),
            Strings{"1:17: rank 0: 0RECV_B0 is missing"});
  EXPECT_EQ(faults(comms("0SEND_F0,0F0,0RECV_B0,0B0\n1F0,1RECV_F0,1B0,1SEND_B0\n")),
            (Strings{"1:1: rank 0: 0SEND_F0 stands before its forward",
                     "2:5: rank 1: 1RECV_F0 stands after its forward"}));
  EXPECT_EQ(faults(comms("0F0,0SEND_F0,0SEND_F0\n1RECV_F0,1F0,1SEND_F0\n")),
            (Strings{"1:14: rank 0: 0SEND_F0 is there twice",
                     "2:14: rank 1: 1SEND_F0 has no next stage"}));
}

TEST(ProgramCsv, ReduceGradIsKeptInComputeFiles) {
  const std::string text = "0F0,0B0,0REDUCE_GRAD\r\n1F0,1B0,1REDUCE_GRAD\r\n";
  const auto program = compute(text);
  ASSERT_TRUE(program) << render(program.error());
  EXPECT_EQ(write_program_csv(*program), text);
}

TEST(ProgramCsv, FarNumbersCostNoMemory) {
  EXPECT_EQ(faults(compute("0F2000000000\n")),
            Strings{"1:1: the cells name 1 stages and 2000000001 microbatches, that takes "
                    "2000000001 forwards; the file has 1"});
  EXPECT_EQ(faults(compute("2147483647F0\n")).size(), 1U);
  EXPECT_EQ(faults(compute("99999999999F0\n")),
            Strings{"1:1: the number 99999999999 is too large"});
}

TEST(ProgramCsv, FaultsAreBoundedInNumber) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += "x,";
  const auto grammar = faults(compute(text));
  ASSERT_EQ(grammar.size(), FaultList::kMaxFaults + 1);
  EXPECT_NE(grammar.back().find("and 4900 more faults"), std::string::npos) << grammar.back();
  std::string twice = "0F0,0B0";
  for (int i = 0; i < 5000; ++i) twice += ",0F0";
  EXPECT_LE(faults(compute(twice)).size(), FaultList::kMaxFaults + 1);
}

TEST(ProgramCsv, TooLongTextsAndFilesAreRefused) {
  const std::string text(kMaxCsvBytes + 1, ',');
  EXPECT_EQ(faults(compute(text)), Strings{"0:0: the schedule is larger than 64 MiB"});
}

TEST(ProgramCsv, TorchLoadsWhatWeWrite) {
  for (const auto& [name, text] : read_csv_blocks(kData + "compute_only.txt")) {
    const auto program = compute(text);
    ASSERT_TRUE(program);
    const bool one_way = program->placement.directions() == 1 && has_backward(*program) &&
                         !has_communication(*program);
    const std::string refusal = testing::torch_refusal(
        write_program_csv(*program), testing::TorchFormat::ComputeOnly, program->shape);
    EXPECT_EQ(refusal.empty(), one_way) << name << ": " << refusal;
  }
  for (const auto& [name, text] : read_csv_blocks(kData + "compute_comms.txt")) {
    if (text.find("post(") != std::string::npos) continue;
    const auto program = comms(text);
    ASSERT_TRUE(program);
    const std::string refusal = testing::torch_refusal(
        write_program_csv(*program), testing::TorchFormat::ComputeComms, program->shape);
    EXPECT_EQ(refusal, "") << name;
  }
}

}  // namespace
}  // namespace pipecast
