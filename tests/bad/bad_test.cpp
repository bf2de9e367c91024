#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "sim/graph/task_graph.hpp"
#include "sim/read/program_csv.hpp"
#include "sim/read/scenario.hpp"
#include "sim/read/study.hpp"
#include "sim/study/simulate.hpp"
#include "tests/support/csv_blocks.hpp"
#include "tests/support/golden_orders.hpp"

/// Every broken file of this folder gets exactly the complaints that it says it must get: in the
/// comment it begins with, or beside it in `NAME.txt` where it cannot begin with a comment. A line
/// `set: key.path=value` there is a `--set`, `dialect: …` the dialect of a schedule; every other
/// line is one of ours, `line:column: error: message` or `  hint: …`.
namespace pipecast {
namespace {

namespace fs = std::filesystem;

struct Expectation {
  std::vector<Override> overrides;
  CsvDialect dialect = CsvDialect::ComputeOnly;
  std::string complaints;
};

std::vector<std::string> expected_lines(const fs::path& file, const std::string& text) {
  fs::path beside = file;
  beside.replace_extension(".txt");
  const bool apart = fs::exists(beside);
  std::vector<std::string> lines;
  for (const std::string& line : testing::split(apart ? testing::file_text(beside) : text, '\n')) {
    if (!apart && line.rfind("# ", 0) != 0) break;
    lines.push_back(apart ? line : line.substr(2));
  }
  return lines;
}

Expectation read_expectation(const fs::path& file, const std::string& text) {
  Expectation expected;
  for (const std::string& line : expected_lines(file, text)) {
    if (line.rfind("set: ", 0) == 0) {
      const auto equals = line.find('=');
      expected.overrides.push_back({line.substr(5, equals - 5), line.substr(equals + 1)});
    } else if (line == "dialect: compute_comms") {
      expected.dialect = CsvDialect::ComputeComms;
    } else {
      expected.complaints += line + "\n";
    }
  }
  return expected;
}

/// Faults in the form of the expectation: the file is named only where it is another one.
std::string complaints(const Diagnostics& faults, const fs::path& file) {
  std::string text;
  for (const Diagnostic& fault : faults) {
    if (!fault.where.file.empty() && fault.where.file != file)
      text += fs::path(fault.where.file).filename().string() + ":";
    if (fault.where.line > 0) text += fmt::format("{}:{}: ", fault.where.line, fault.where.column);
    text += (fault.fault == Fault::Input ? "error: " : "infeasible: ") + fault.message + "\n";
    if (!fault.hint.empty()) text += "  hint: " + fault.hint + "\n";
  }
  const std::string folder = file.parent_path().string() + "/";
  for (auto at = text.find(folder); at != std::string::npos; at = text.find(folder))
    text.erase(at, folder.size());
  return text;
}

Diagnostics faults_of_scenario(const fs::path& file, const Expectation& expected) {
  const auto schedules = builtin_schedules();
  const auto kinds = builtin_platform_kinds();
  const ReadContext context{schedules, kinds, {std::string(PIPECAST_SOURCE_DIR) + "/platforms"}};
  const auto scenario = read_scenario_file(file.string(), context, expected.overrides);
  if (!scenario) return scenario.error();
  const auto prepared = prepare(*scenario, context);
  return prepared ? Diagnostics{} : prepared.error();
}

Diagnostics faults_of_study(const fs::path& file, const Expectation&) {
  const auto schedules = builtin_schedules();
  const auto kinds = builtin_platform_kinds();
  const ReadContext context{schedules, kinds, {std::string(PIPECAST_SOURCE_DIR) + "/platforms"}};
  const auto study = read_study_file(file.string(), context);
  return study ? Diagnostics{} : study.error();
}

Diagnostics faults_of_schedule(const fs::path& file, const Expectation& expected) {
  const auto program = read_program_csv_file(file.string(), expected.dialect);
  if (!program) return program.error();
  std::vector<DeviceId> devices;
  for (int rank = 0; rank < program->shape.ranks; ++rank) devices.push_back({rank});
  const auto graph = build_task_graph(*program, uniform_workload(program->shape, {{1}, {1}, {1}}),
                                      constant_delay_platform(program->shape.ranks, {1}), devices);
  return graph ? Diagnostics{} : graph.error();
}

std::vector<fs::path> files_of(const std::string& folder, const std::string& extension) {
  std::vector<fs::path> files;
  const fs::path path = fs::path(PIPECAST_TEST_DIR) / "bad" / folder;
  for (const auto& entry : fs::directory_iterator(path))
    if (entry.path().extension() == extension) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

template <class Faults>
void expect_complaints(const std::vector<fs::path>& files, std::size_t at_least, Faults faults_of) {
  EXPECT_GE(files.size(), at_least);
  for (const fs::path& file : files) {
    const Expectation expected = read_expectation(file, testing::file_text(file.string()));
    EXPECT_FALSE(expected.complaints.empty()) << file << " does not say what it must get";
    EXPECT_EQ(complaints(faults_of(file, expected), file), expected.complaints) << file;
  }
}

TEST(Bad, EveryBrokenScenarioGetsItsMessage) {
  expect_complaints(files_of("scenarios", ".yaml"), 80, faults_of_scenario);
}

TEST(Bad, EveryBrokenStudyGetsItsMessage) {
  expect_complaints(files_of("studies", ".yaml"), 60, faults_of_study);
}

TEST(Bad, EveryBrokenScheduleGetsItsMessage) {
  expect_complaints(files_of("schedules", ".csv"), 50, faults_of_schedule);
}

}  // namespace
}  // namespace pipecast
