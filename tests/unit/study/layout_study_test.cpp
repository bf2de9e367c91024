// Studies that search layouts, and the shipped ones: they are read, and some of their candidates
// run.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "platforms/platform_kind.hpp"
#include "schedules/schedule.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/read/study_candidate.hpp"
#include "sim/report/memory.hpp"
#include "sim/run/longest_path.hpp"
#include "sim/study/evaluator.hpp"
#include "sim/study/screening_regret.hpp"
#include "sim/study/study_rank.hpp"

namespace pipecast {
namespace {

struct Registries {
  std::vector<ScheduleInfo> schedules = builtin_schedules();
  std::vector<PlatformKind> kinds = builtin_platform_kinds();
  std::vector<std::string> folders{std::string(PIPECAST_SOURCE_DIR) + "/platforms"};

  ReadContext context() const { return {schedules, kinds, folders}; }
};

const std::string kSmall = R"(name: small
scenario:
  workload:
    model: {layers: 12, hidden: 1536, heads: 16, feed_forward: 6144, vocabulary: 50304}
    sequence_length: 2048
    global_batch: 32
  platform: {preset: dgx-a100-ib, nodes: 2}
)";

Study small_study(const std::string& rest, const Registries& registries) {
  auto study = read_study(kSmall + rest, "small.yaml", registries.context());
  EXPECT_TRUE(study) << render(study.error());
  return study ? std::move(*study) : Study{};
}

TEST(LayoutStudy, NamesEveryLayoutInColumns) {
  const Registries registries;
  const Study study = small_study("layouts: search\n", registries);
  const std::vector<std::string> expected{"pipeline.schedule",        "pipeline.ranks",
                                          "pipeline.chunks",          "pipeline.microbatches",
                                          "workload.parallel.tensor", "workload.parallel.context",
                                          "workload.parallel.expert", "workload.parallel.data",
                                          "workload.microbatch_size", "workload.recompute"};
  EXPECT_EQ(varied_keys(study), expected);
  EXPECT_GT(study.candidates(), 100);
  const auto first = varied_values(study, choice_of(study, 0));
  EXPECT_EQ(first,
            (std::vector<std::string>{"1f1b", "1", "1", "2", "1", "1", "1", "16", "1", "none"}));
}

/// Axes on which layouts hang are part of the search: no batch gets the layouts of another.
TEST(LayoutStudy, EachBatchHasLayoutsOfItsOwn) {
  const Registries registries;
  const std::string rest =
      "layouts: {tensor: [1, 2], context: 1}\n"
      "axes: {transfers: [overlapped, blocking], workload.global_batch: [16, 24]}\n";
  const Study study = small_study(rest, registries);
  const auto keys = varied_keys(study);
  ASSERT_EQ(keys[0], "transfers");
  ASSERT_EQ(keys[1], "workload.global_batch");
  std::int64_t of_16 = 0;
  for (std::int64_t candidate = 0; candidate < study.candidates(); ++candidate) {
    const auto values = varied_values(study, choice_of(study, candidate));
    of_16 += values[1] == "16";
    EXPECT_EQ(std::stoi(values[5]) * std::stoi(values[9]) * std::stoi(values[10]),
              std::stoi(values[1]));
  }
  EXPECT_GT(of_16, study.candidates() / 2);  // 24 does not divide by 16 replicas
  EXPECT_LT(of_16, study.candidates());
}

TEST(LayoutStudy, LeavesAClusterOutOnWhichNothingDivides) {
  const Registries registries;
  const Study study = small_study(
      "layouts: {tensor: 8, pipeline: [1, 2], schedules: 1f1b}\n"
      "clusters:\n"
      "  - {name: seven, platform: {preset: dgx-a100-ib, nodes: 7}}\n"
      "  - {name: two, platform: {preset: dgx-a100-ib, nodes: 2}}\n",
      registries);
  EXPECT_NE(study.clusters[0].no_layout.find("does not divide"), std::string::npos)
      << study.clusters[0].no_layout;
  EXPECT_TRUE(study.clusters[1].no_layout.empty());
  ASSERT_GT(study.candidates(), 0);
  EXPECT_EQ(choice_of(study, 0).cluster, 1U);
}

/// What is refused before it runs is what would not have fitted.
TEST(LayoutStudy, MemoryOfTheOrderIsThatOfTheRun) {
  const auto schedules = builtin_schedules();
  for (const ScheduleInfo& schedule : schedules) {
    if (schedule.lower_bound != nullptr) continue;  // they search, which takes its time
    const Shape shape{4, schedule.default_chunks, 8};
    Workload workload = uniform_workload(shape, {{0.010}, {0.012}, {0.008}});
    for (std::size_t stage = 0; stage < workload.bytes.size(); ++stage) {
      StageBytes& bytes = workload.bytes[stage];
      bytes.held_by_forward = {100.0 + static_cast<double>(stage)};
      bytes.released_by_backward_input = {30};
      bytes.parameters = {1000};
    }
    const auto params = parse_fields(schedule.fields, {});
    if (!params) continue;
    auto program = make_program(schedule, {shape, *params, workload, {}});
    ASSERT_TRUE(program) << schedule.name << render(program.error());
    if (!program->exchanges.empty()) continue;
    workload = fitted(workload, *program);
    std::vector<DeviceId> devices{{0}, {1}, {2}, {3}};
    const auto graph =
        build_task_graph(*program, workload, constant_delay_platform(4, {0.001}), devices);
    ASSERT_TRUE(graph) << schedule.name;
    const MemoryUse run = measure_memory(*program, workload, graph->tasks, longest_path(*graph));
    const std::vector<RankMemory> ordered = ordered_memory(*program, workload);
    for (std::size_t rank = 0; rank < ordered.size(); ++rank) {
      SCOPED_TRACE(fmt::format("{} rank {}", schedule.name, rank));
      EXPECT_EQ(ordered[rank].peak_activation, run.ranks[rank].peak_activation);
      EXPECT_EQ(ordered[rank].static_memory(), run.ranks[rank].static_memory());
      EXPECT_EQ(ordered[rank].peak_in_flight, run.ranks[rank].peak_in_flight);
    }
  }
}

TEST(LayoutStudy, RefusesWhatCannotFitBeforeItRuns) {
  const Registries registries;
  const Study study = small_study(
      "set: {workload.model.hidden: 12288, workload.model.heads: 96, "
      "workload.model.feed_forward: 49152}\n"
      "layouts: {tensor: 1, pipeline: 1, schedules: 1f1b}\n",
      registries);
  Evaluator evaluator(study, registries.context());
  const StudyRow row = evaluator.evaluate(0, Tier::Screening);
  EXPECT_EQ(row.state, RowState::TooLarge);
  EXPECT_GT(row.short_by, 0);
  const Verdict verdict = judge(study, row);
  EXPECT_EQ(verdict.miss, Miss::Memory);
  EXPECT_TRUE(verdict.reason.starts_with("needs ") && verdict.reason.ends_with(" more on rank 0"))
      << verdict.reason;
}

/// Rows of every candidate of a study, both tiers.
std::vector<StudyRow> all_rows(const Study& study, Evaluator& evaluator) {
  std::vector<StudyRow> rows;
  for (std::int64_t candidate = 0; candidate < study.candidates(); ++candidate)
    for (const Tier tier : {Tier::Screening, Tier::Simgrid})
      rows.push_back(evaluator.evaluate(candidate, tier));
  return rows;
}

TEST(LayoutStudy, RanksALayoutAmongThoseOfItsCluster) {
  const Registries registries;
  const Study study = small_study(
      "layouts: {tensor: [2, 8], context: 1, schedules: 1f1b, microbatch_size: [1, 2]}\n"
      "objectives: tokens_per_s\n",
      registries);
  Evaluator evaluator(study, registries.context());
  const std::vector<StudyRow> rows = all_rows(study, evaluator);
  const Ranking ranking = rank_rows(study, rows);
  const std::vector<Condition> conditions{{"tensor", "8"}, {"parallel.data", "2"}};
  const auto found = standings(study, ranking, conditions);
  ASSERT_TRUE(found) << render(found.error());
  for (const Standing& standing : *found) {
    EXPECT_EQ(standing.of, ranking.ranked.size());
    EXPECT_EQ(ranking.ranked[standing.place - 1], standing.verdict);
    EXPECT_LE(standing.of_the_winner, 1);
  }
  const std::vector<Condition> unknown{{"tensors", "8"}};
  const auto none = standings(study, ranking, unknown);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().front().hint, "did you mean 'tensor'?");
  EXPECT_FALSE(standings(study, ranking, std::vector<Condition>{{"tensor", "64"}}));
}

TEST(LayoutStudy, MeasuresWhatScreeningCosts) {
  const Registries registries;
  const Study study = small_study(
      "layouts: {tensor: [1, 2, 8], context: 1, schedules: 1f1b, microbatch_size: [1, 2, 4]}\n"
      "objectives: tokens_per_s\n",
      registries);
  Evaluator evaluator(study, registries.context());
  std::vector<StudyRow> rows = all_rows(study, evaluator);
  const auto regrets = screening_regret(study, rows);
  ASSERT_TRUE(regrets) << render(regrets.error());
  ASSERT_GT(regrets->size(), 1U);
  EXPECT_EQ(regrets->front().slice, "all");
  for (const Regret& regret : *regrets) {
    EXPECT_GE(regret.candidates, kSmallestSlice);
    EXPECT_GE(regret.screening_loss, 0);
    EXPECT_GE(regret.two_tier_loss, 0);
    EXPECT_LE(regret.two_tier_loss, regret.screening_loss + 1e-12);
    if (regret.screening_loss == 0) {
      EXPECT_EQ(regret.winner_place, 1);
    }
  }
  std::erase_if(
      rows, [](const StudyRow& row) { return row.tier == Tier::Simgrid && row.candidate == 3; });
  EXPECT_FALSE(screening_regret(study, rows));
}

std::vector<std::string> shipped_studies() {
  std::vector<std::string> files;
  const std::string folder = std::string(PIPECAST_SOURCE_DIR) + "/scenarios/studies";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.path().extension() == ".yaml") files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

/// Of each: the first candidates, some in between, the last.
TEST(ShippedStudies, AreReadAndHaveCandidatesThatRun) {
  const Registries registries;
  const auto files = shipped_studies();
  EXPECT_GE(files.size(), 9U);
  for (const std::string& file : files) {
    SCOPED_TRACE(file);
    const auto study = read_study_file(file, registries.context());
    ASSERT_TRUE(study) << render(study.error());
    for (const QuotedCluster& cluster : study->clusters) EXPECT_EQ(cluster.no_layout, "");
    ASSERT_GT(study->candidates(), 10);
    Evaluator evaluator(*study, registries.context());
    for (int i = 0; i <= 8; ++i) {
      const std::int64_t candidate = i * (study->candidates() - 1) / 8;
      const StudyRow row = evaluator.evaluate(candidate, Tier::Screening);
      EXPECT_TRUE(row.state == RowState::Evaluated || row.state == RowState::TooLarge)
          << candidate << ": " << row.reason;
    }
  }
}

}  // namespace
}  // namespace pipecast
