// Peak memory against published formulas and measurements; the tables of docs/memory.md.
#include "sim/cost/memory.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "schedules/schedule.hpp"
#include "sim/read/model_shape.hpp"
#include "sim/report/footprint.hpp"
#include "tests/support/csv_table.hpp"
#include "tests/support/simulated.hpp"

namespace pipecast {
namespace {

constexpr double kMiB = 1024.0 * 1024;
constexpr double kGiB = 1024 * kMiB;

/// Predicted over measured, collected for the means.
class Errors {
 public:
  explicit Errors(std::string source) : source_(std::move(source)) {}

  void add(const std::string& row, double predicted, double measured) {
    const double error = predicted / measured - 1;
    sum_ += std::abs(error);
    ++count_;
    if (std::abs(error) > std::abs(worst_)) {
      worst_ = error;
      worst_row_ = row;
    }
    lines_ += fmt::format("{:<44} {:>9.1f} {:>9.1f} {:>+7.1f} %\n", row, predicted, measured,
                          100 * error);
  }
  double mean() const { return sum_ / count_; }
  double worst() const { return std::abs(worst_); }
  /// The table of docs/memory.md, shown when a bound is broken.
  std::string table() const {
    return fmt::format("{}: {} values, mean absolute error {:.2f} %, worst {:+.2f} % ({})\n{}",
                       source_, count_, 100 * mean(), 100 * worst_, worst_row_, lines_);
  }

 private:
  std::string source_;
  std::string worst_row_;
  std::string lines_;
  double sum_ = 0;
  double worst_ = 0;
  int count_ = 0;
};

std::vector<test::CsvRow> rows_of(const std::string& name) {
  return test::read_csv_table(std::string(PIPECAST_TEST_DIR) + "/published/data/" + name);
}

Program program_of(const std::string& name, const Shape& shape) {
  const std::vector<ScheduleInfo> schedules = builtin_schedules();
  const ScheduleInfo* schedule = find_schedule(schedules, name);
  const Workload workload = uniform_workload(shape, {{1}, {1}, {0.6}});
  auto program =
      make_program(*schedule, {shape, *parse_fields(schedule->fields, {}), workload, {}});
  EXPECT_TRUE(program) << name << render(program ? Diagnostics{} : program.error());
  return *program;
}

/// Every rank's peak under a schedule, by simulation.
std::vector<RankFootprint> simulate(const std::string& name, const Shape& shape,
                                    std::span<const StageFootprint> stages,
                                    const MemoryRules& rules) {
  const Program program = program_of(name, shape);
  const Workload workload = fitted(uniform_workload(shape, {{1}, {1}, {0.6}}), program);
  const auto run = testing::simulated(program, workload);
  EXPECT_TRUE(run);
  auto ranks = measure_footprints(program, workload, stages, rules.workspace, run->graph.tasks,
                                  run->timeline);
  for (RankFootprint& rank : ranks) judge(rank, rules, {});
  return ranks;
}

/// Megatron-Core with Transformer Engine 2.11.
MemoryRules simumax_rules() {
  MemoryRules rules;
  rules.scratch = GradientScratch::Persistent;
  rules.second_attention_output = true;
  return rules;
}

TransformerModel simumax_model(const test::CsvRow& row) {
  const std::vector<std::string> folders{std::string(PIPECAST_SOURCE_DIR) + "/platforms"};
  TransformerModel model = find_model_preset(row.text("model"), folders)->model;
  model.layers = row.integer("layers");
  model.mtp_layers = 0;
  if (model.has_experts()) model.experts.dense_layers_first = 1;
  if (row.text("model") == "llama3.1-405b") model.key_value_heads = 16;
  return model;
}

ParallelLayout simumax_layout(const test::CsvRow& row) {
  ParallelLayout layout;
  layout.tensor = row.integer("tp");
  layout.sequence_parallel = layout.tensor > 1;
  layout.pipeline = row.integer("pp");
  layout.context = row.integer("cp");
  layout.expert = row.integer("ep");
  layout.data = row.integer("dp");
  layout.zero = 1;
  layout.sequence = row.integer("sequence");
  layout.global_batch = 4 * layout.data;
  return layout;
}

TEST(PublishedMemory, SimumaxPeaksRankByRank) {
  Errors errors("SimuMax B200, allocated MiB");
  const MemoryRules rules = simumax_rules();
  for (const test::CsvRow& row : rows_of("simumax_memory.csv")) {
    const TransformerModel model = simumax_model(row);
    const ParallelLayout layout = simumax_layout(row);
    const auto stages = split_layers(model, layout, {});
    ASSERT_TRUE(stages) << render(stages.error());
    const auto footprints = stage_footprints(model, layout, *stages, {}, rules);
    const auto ranks = simulate("1f1b", {layout.pipeline, 1, 4}, footprints, rules);
    std::istringstream measured(row.text("peaks_mib"));
    double peak = 0;
    for (int device = 0; measured >> peak; ++device) {
      const int stage = device * layout.pipeline / 8;
      errors.add(
          fmt::format("{} tp{} pp{} cp{} ep{} s{} device {}", row.text("model"), layout.tensor,
                      layout.pipeline, layout.context, layout.expert, layout.sequence, device),
          ranks[static_cast<std::size_t>(stage)].peak.value / kMiB, peak);
    }
  }
  EXPECT_LE(errors.mean(), 0.005) << errors.table();
  EXPECT_LE(errors.worst(), 0.02) << errors.table();
}

/// Megatron-DeepSpeed, with the default allowances. 24 bytes per parameter of optimizer (32-bit
/// copy, two moments, 32-bit gradient, and a copy of both while it steps) is set on the two rows
/// that differ in ZeRO only.
MemoryRules bloom_rules(const test::CsvRow& row) {
  MemoryRules rules;
  rules.gradient_bytes = row.text("date") == "02-28" ? 6 : 2;
  rules.optimizer_bytes = 24;
  rules.keeps_boundaries = true;
  rules.loss = LossKernel::Softmax32;
  return rules;
}

TransformerModel bloom_model(const test::CsvRow& row) {
  const std::vector<std::string> folders{std::string(PIPECAST_SOURCE_DIR) + "/platforms"};
  TransformerModel model = find_model_preset("bloom-176b", folders)->model;
  model.vocabulary = 250880;
  model.layers = row.integer("layers");
  model.hidden = row.integer("hidden");
  model.heads = model.key_value_heads = row.integer("heads");
  model.head_width = model.hidden / model.heads;
  model.feed_forward = 4 * model.hidden;
  return model;
}

ParallelLayout bloom_layout(const test::CsvRow& row) {
  ParallelLayout layout;
  layout.tensor = row.integer("tensor");
  layout.pipeline = row.integer("pipeline");
  layout.data = row.integer("data");
  layout.zero = row.integer("zero");
  layout.microbatch_size = row.integer("microbatch_size");
  layout.global_batch = row.integer("global_batch");
  layout.sequence = 2048;
  layout.recompute = Recompute::Full;
  return layout;
}

double largest_needed(const std::vector<RankFootprint>& ranks) {
  double largest = 0;
  for (const RankFootprint& rank : ranks) largest = std::max(largest, rank.needed.value / kGiB);
  return largest;
}

/// Line 634 needs more than line 635 with half the microbatch; 801 and 802 are one setting.
bool contradicts(const test::CsvRow& row) {
  const std::string& line = row.text("line");
  return line == "634" || line == "801" || line == "802";
}

TEST(PublishedMemory, BloomTopologySweep) {
  Errors errors("BLOOM, GiB");
  Errors contradictory("BLOOM, rows that contradict each other");
  KernelChoice kernels;
  kernels.fused_attention = false;
  for (const test::CsvRow& row : rows_of("bloom_memory.csv")) {
    const TransformerModel model = bloom_model(row);
    const ParallelLayout layout = bloom_layout(row);
    const std::vector<double> even(static_cast<std::size_t>(model.layers), 1.0);
    const auto stages = balanced_split({even, 0, 0}, 0, layout.pipeline);
    const MemoryRules rules = bloom_rules(row);
    const auto footprints = stage_footprints(model, layout, stages, kernels, rules);
    const Shape shape{layout.pipeline, 1, 2 * layout.pipeline};
    const double largest = largest_needed(simulate("1f1b", shape, footprints, rules));
    (contradicts(row) ? contradictory : errors)
        .add(fmt::format("line {} {} h{} L{} tp{} pp{} dp{} b{} zero{}", row.text("line"),
                         row.text("date"), model.hidden, model.layers, layout.tensor,
                         layout.pipeline, layout.data, layout.microbatch_size, layout.zero),
             largest, row.number("memory_gb"));
  }
  EXPECT_LE(errors.mean(), 0.05) << errors.table() << contradictory.table();
  EXPECT_LE(errors.worst(), 0.12) << errors.table();
}

TransformerModel zero_bubble_model(const test::CsvRow& row) {
  TransformerModel model;
  model.layers = row.integer("layers");
  model.hidden = row.integer("hidden");
  model.heads = model.key_value_heads = row.integer("heads");
  model.head_width = model.hidden / model.heads;
  model.feed_forward = 4 * model.hidden;
  model.vocabulary = 50304;
  model.max_position = 1024;
  model.gated = false;
  model.linear_bias = true;
  model.norm = Norm::LayerNorm;
  model.position = Position::Learned;
  return model;
}

/// Largest rank under a schedule; the first and last stage have a layer less than the others.
double zero_bubble_peak(const test::CsvRow& row, const std::string& schedule, int chunks) {
  const TransformerModel model = zero_bubble_model(row);
  KernelChoice kernels;
  kernels.fused_attention = false;
  kernels.dropout = true;
  MemoryRules rules;
  rules.loss = LossKernel::Softmax32;
  ParallelLayout layout;
  layout.pipeline = row.integer("stages");
  layout.chunks = chunks;
  layout.sequence = 1024;
  layout.microbatch_size = row.integer("microbatch_size");
  layout.global_batch = row.integer("microbatches") * layout.microbatch_size;
  SplitRule rule;
  rule.count_embedding = rule.count_head = true;
  const auto stages = split_layers(model, layout, rule);
  EXPECT_TRUE(stages) << render(stages ? Diagnostics{} : stages.error());
  if (!stages) return 0;
  const Shape shape{layout.pipeline, chunks, row.integer("microbatches")};
  return largest_needed(
      simulate(schedule, shape, stage_footprints(model, layout, *stages, kernels, rules), rules));
}

TEST(PublishedMemory, ZeroBubbleTable4) {
  Errors errors("Zero bubble table 4, GiB");
  for (const test::CsvRow& row : rows_of("zero_bubble_memory.csv")) {
    const std::string label = row.text("model") + " m" + row.text("microbatches") + " ";
    const auto add = [&](const char* name, const char* schedule, int chunks, const char* column) {
      errors.add(label + name, zero_bubble_peak(row, schedule, chunks), row.number(column));
    };
    add("1F1B", "1f1b", 1, "one_f_one_b");
    add("1F1B-I", "interleaved-1f1b", row.integer("chunks"), "interleaved");
    add("ZB-1p", "zb-h1", 1, "zb1p");
    add("ZB-2p", "zb-h2", 1, "zb2p");
  }
  EXPECT_LE(errors.mean(), 0.05) << errors.table();
  EXPECT_LE(errors.worst(), 0.12) << errors.table();
}

}  // namespace
}  // namespace pipecast
