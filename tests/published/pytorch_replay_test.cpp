// Replaying every measured run of PyTorch's runtime: its own operation durations and lags on our
// dependencies give its step.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <tuple>

#include "sim/run/longest_path.hpp"
#include "tests/support/pytorch_runs.hpp"

namespace pipecast {
namespace {

using test::CsvRow;

struct MeasuredOp {
  OpKind kind = OpKind::Forward;
  int stage = 0;
  int microbatch = 0;
  double begin_s = 0;
  double end_s = 0;
};

struct MeasuredStep {
  double step_s = 0;
  std::vector<std::vector<MeasuredOp>> ranks;
};

MeasuredOp parse_op(const std::string& text) {
  MeasuredOp op;
  char kind = 0;
  char colon = 0;
  double begin_us = 0;
  double duration_us = 0;
  std::istringstream(text) >> op.stage >> kind >> op.microbatch >> colon >> begin_us >> colon >>
      duration_us;
  op.kind = kind == 'F'   ? OpKind::Forward
            : kind == 'I' ? OpKind::BackwardInput
            : kind == 'W' ? OpKind::BackwardWeight
                          : OpKind::BackwardFull;
  op.begin_s = begin_us * 1e-6;
  op.end_s = op.begin_s + duration_us * 1e-6;
  return op;
}

std::map<std::string, MeasuredStep> read_steps() {
  std::map<std::string, MeasuredStep> steps;
  std::ifstream file(std::string(PIPECAST_TEST_DIR) + "/published/data/pytorch_intervals.txt");
  MeasuredStep* step = nullptr;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream words(line);
    std::string word;
    if (line.starts_with('=')) {
      std::string run;
      double step_us = 0;
      words >> word >> run >> step_us;
      step = &steps[run];
      step->step_s = step_us * 1e-6;
      continue;
    }
    step->ranks.emplace_back();
    while (words >> word) step->ranks.back().push_back(parse_op(word));
  }
  return steps;
}

using OpKey = std::tuple<OpKind, int, int>;

OpKey key_of(const Op& op) { return {op.kind, op.stage.value, op.microbatch.value}; }

std::map<OpKey, const MeasuredOp*> by_key(const MeasuredStep& step) {
  std::map<OpKey, const MeasuredOp*> ops;
  for (const auto& rank : step.ranks)
    for (const MeasuredOp& op : rank) ops[{op.kind, op.stage, op.microbatch}] = &op;
  return ops;
}

/// The graph whose tasks last what was measured, lag included: from the last moment at which
/// everything our dependencies ask for had ended, to the measured end. A dependency that PyTorch
/// does not have would make a task start before its input and shorten the others; one that we lack
/// would lengthen nothing and let the replay run ahead. Lags cannot be negative, so both show as a
/// different step.
void put_measured_durations(TaskGraph& graph, const Program& program, const MeasuredStep& step) {
  const auto measured = by_key(step);
  std::vector<double> ready_s(graph.tasks.size(), 0);
  for (const std::uint32_t id : graph.order) {
    Task& task = graph.tasks[id];
    double end_s = ready_s[id];
    if (is_work(task)) {
      const std::vector<Op>& ops = program.ranks[static_cast<std::size_t>(task.rank)];
      for (std::size_t i = 0; i < task.cell_ops; ++i) {
        const auto found = measured.find(key_of(ops[static_cast<std::size_t>(task.position) + i]));
        ASSERT_NE(found, measured.end());
        end_s = std::max(end_s, found->second->end_s);
      }
      task.seconds = end_s - ready_s[id];
    }
    for (auto [next, last] = boost::adjacent_vertices(id, graph.dependencies); next != last; ++next)
      ready_s[*next] = std::max(ready_s[*next], end_s);
  }
}

/// Mean gap between operations of a rank and mean lag of messages, where each was what was waited
/// for.
struct Lags {
  double gap_s = 0;
  double message_s = 0;
};

Lags mean_lags(const TaskGraph& graph, const Program& program, const MeasuredStep& step) {
  const auto measured = by_key(step);
  std::vector<double> own_s(graph.tasks.size(), -1);
  std::vector<double> message_s(graph.tasks.size(), -1);
  double gap_total = 0, message_total = 0;
  int gaps = 0, messages = 0;
  for (const std::uint32_t id : graph.order) {
    const Task& task = graph.tasks[id];
    double end_s = message_s[id];
    if (is_work(task)) {
      const std::vector<Op>& ops = program.ranks[static_cast<std::size_t>(task.rank)];
      const auto position = static_cast<std::size_t>(task.position);
      const double begin_s = measured.at(key_of(ops[position]))->begin_s;
      end_s = measured.at(key_of(ops[position + task.cell_ops - 1U]))->end_s;
      if (message_s[id] > own_s[id]) {
        message_total += begin_s - message_s[id];
        ++messages;
      } else if (own_s[id] >= 0) {
        gap_total += begin_s - own_s[id];
        ++gaps;
      }
    }
    for (auto [next, last] = boost::adjacent_vertices(id, graph.dependencies); next != last;
         ++next) {
      const bool by_message = is_transfer(task) || graph.tasks[*next].rank != task.rank;
      double& slot =
          by_message || is_transfer(graph.tasks[*next]) ? message_s[*next] : own_s[*next];
      slot = std::max(slot, end_s);
    }
  }
  // DualPipeV hands one chunk's result on before its pair ends, so a mean lag can fall below zero
  // there.
  return {gaps > 0 ? std::max(0.0, gap_total / gaps) : 0,
          messages > 0 ? std::max(0.0, message_total / messages) : 0};
}

class PytorchReplay : public testing::TestWithParam<CsvRow> {};

std::vector<CsvRow> rows() {
  return test::read_csv_table(std::string(PIPECAST_TEST_DIR) + "/published/data/pytorch_steps.csv");
}

TEST_P(PytorchReplay, MeasuredDurationsAndLagsGiveTheMeasuredStep) {
  const MeasuredStep step = read_steps().at(GetParam().text("run_id"));
  const Result<Program> program = test::program_of(GetParam());
  ASSERT_TRUE(program);
  auto graph =
      test::graph_of(*program, test::target_workload(GetParam()), TransferPolicy::Overlapped);
  ASSERT_TRUE(graph);
  put_measured_durations(*graph, *program, step);
  EXPECT_NEAR(makespan(longest_path(*graph)).value / step.step_s, 1.0, 0.02);
}

TEST_P(PytorchReplay, TheExecutedOrderIsOurs) {
  const MeasuredStep step = read_steps().at(GetParam().text("run_id"));
  const Result<Program> program = test::program_of(GetParam());
  ASSERT_TRUE(program);
  ASSERT_EQ(step.ranks.size(), program->ranks.size());
  for (std::size_t rank = 0; rank < step.ranks.size(); ++rank) {
    ASSERT_EQ(step.ranks[rank].size(), program->ranks[rank].size());
    for (std::size_t i = 0; i < step.ranks[rank].size(); ++i) {
      const MeasuredOp& op = step.ranks[rank][i];
      EXPECT_EQ(key_of(program->ranks[rank][i]), OpKey(op.kind, op.stage, op.microbatch));
    }
  }
}

/// The harder replay: measured durations, but only two lags per run, its mean gap and its mean
/// message lag.
TEST(PytorchReplayMeans, TwoMeanLagsPerRunAreEnoughForSmallMessages) {
  const auto steps = read_steps();
  int runs = 0;
  for (const CsvRow& row : rows()) {
    if (row.text("torch") != "2.14.1" || row.text("message_bytes") != "4096") continue;
    const MeasuredStep& step = steps.at(row.text("run_id"));
    const Result<Program> program = test::program_of(row);
    ASSERT_TRUE(program);
    Workload workload = test::target_workload(row);
    const auto bare = test::graph_of(*program, workload, TransferPolicy::Overlapped);
    ASSERT_TRUE(bare);
    const Lags lags = mean_lags(*bare, *program, step);
    workload.overheads.gap = {lags.gap_s};
    workload.overheads.message = {lags.message_s};
    auto graph = test::graph_of(*program, workload, TransferPolicy::Overlapped);
    ASSERT_TRUE(graph) << row.text("run_id") << " gap " << lags.gap_s << " message "
                       << lags.message_s;
    const auto measured = by_key(step);
    for (Task& task : graph->tasks) {
      if (!is_work(task)) continue;
      const std::vector<Op>& ops = program->ranks[static_cast<std::size_t>(task.rank)];
      const auto position = static_cast<std::size_t>(task.position);
      task.seconds = measured.at(key_of(ops[position + task.cell_ops - 1U]))->end_s -
                     measured.at(key_of(ops[position]))->begin_s;
    }
    EXPECT_NEAR(makespan(longest_path(*graph)).value / step.step_s, 1.0, 0.025)
        << row.text("run_id");
    ++runs;
  }
  EXPECT_EQ(runs, 102);
}

std::string run_name(const testing::TestParamInfo<CsvRow>& row) {
  std::string name = row.param.text("run_id");
  for (char& letter : name)
    if (std::isalnum(static_cast<unsigned char>(letter)) == 0) letter = '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Runs, PytorchReplay, testing::ValuesIn(rows()), run_name);

}  // namespace
}  // namespace pipecast
