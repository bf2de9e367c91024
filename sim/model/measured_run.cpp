#include "sim/model/measured_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace pipecast {
namespace {

using OpKey = std::tuple<int, int, int>;

OpKey key_of(const MeasuredOp& op) {
  return {static_cast<int>(op.kind), op.stage.value, op.microbatch.value};
}

std::string name_of(const MeasuredOp& op) {
  return op_text({.kind = op.kind, .stage = op.stage, .microbatch = op.microbatch});
}

void sort_ops(MeasuredRank& rank) {
  std::stable_sort(rank.ops.begin(), rank.ops.end(),
                   [](const MeasuredOp& a, const MeasuredOp& b) { return a.begin_s < b.begin_s; });
}

/// Nothing is measured twice, on one rank or on two.
Diagnostics repeated(const MeasuredStep& step) {
  std::map<OpKey, std::size_t> seen;
  Diagnostics faults;
  for (std::size_t rank = 0; rank < step.ranks.size(); ++rank)
    for (const MeasuredOp& op : step.ranks[rank].ops) {
      const auto [found, is_new] = seen.emplace(key_of(op), rank);
      if (is_new || faults.size() == 5) continue;
      faults.push_back(input_error(
          fmt::format("{}: {} was measured on rank {} and on rank {}", step.name, name_of(op),
                      found->second, rank),
          "give the traces of one pipeline: one file per rank, one replica, one stage copy"));
    }
  return faults;
}

std::set<OpKey> keys_of(const MeasuredStep& step) {
  std::set<OpKey> keys;
  for (const MeasuredRank& rank : step.ranks)
    for (const MeasuredOp& op : rank.ops) keys.insert(key_of(op));
  return keys;
}

}  // namespace

double MeasuredStep::seconds() const {
  double begin = 0, end = 0;
  bool any = false;
  for (const MeasuredRank& rank : ranks) {
    begin = any ? std::min(begin, rank.begin_s) : rank.begin_s;
    end = any ? std::max(end, rank.end_s) : rank.end_s;
    any = true;
  }
  return end - begin;
}

Result<Program> measured_program(const MeasuredStep& step) {
  Program program;
  int stages = 0, microbatches = 0;
  for (const MeasuredRank& rank : step.ranks)
    for (const MeasuredOp& op : rank.ops) {
      stages = std::max(stages, op.stage.value + 1);
      microbatches = std::max(microbatches, op.microbatch.value + 1);
    }
  const int ranks = static_cast<int>(step.ranks.size());
  if (ranks == 0 || stages % ranks != 0)
    return fail(input_error(fmt::format("{} stages were measured on {} ranks", stages, ranks),
                            "every rank of the pipeline needs its trace"));
  program.shape = {ranks, stages / ranks, microbatches};
  if (Diagnostics faults = check(program.shape); !faults.empty()) return fail(std::move(faults));
  program.placement.stages = stages;
  program.placement.rank_of.assign(static_cast<std::size_t>(stages), Rank{-1});
  for (int rank = 0; rank < ranks; ++rank) {
    std::vector<Op>& ops = program.ranks.emplace_back();
    for (const MeasuredOp& op : step.ranks[static_cast<std::size_t>(rank)].ops) {
      ops.push_back(
          {.kind = op.kind, .joined = op.joined, .stage = op.stage, .microbatch = op.microbatch});
      Rank& home = program.placement.rank_of[op.stage.at()];
      if (home.value >= 0 && home.value != rank)
        return fail(input_error(fmt::format("stage {} was computed on rank {} and on rank {}",
                                            op.stage.value, home.value, rank),
                                "schedules with two copies of a stage cannot be imported yet"));
      home = {rank};
    }
  }
  for (int stage = 0; stage < stages; ++stage)
    if (program.placement.rank_of[static_cast<std::size_t>(stage)].value < 0)
      return fail(input_error(fmt::format("no rank computed stage {}", stage),
                              "is the trace of a rank missing?"));
  if (Diagnostics faults = check(program); !faults.empty()) {
    faults.insert(faults.begin(),
                  input_error(step.name + ": the operations are not those of a whole step"));
    return fail(std::move(faults));
  }
  return program;
}

Diagnostics tidy(MeasuredRun& run) {
  Diagnostics faults;
  for (MeasuredStep& step : run.steps) {
    for (MeasuredRank& rank : step.ranks) sort_ops(rank);
    for (std::size_t rank = 0; rank < step.ranks.size(); ++rank)
      if (step.ranks[rank].ops.empty() && faults.size() < 5)
        faults.push_back(input_error(
            fmt::format("{}: rank {} of {} has no operation", step.name, rank, step.ranks.size()),
            "is its trace missing?"));
    for (Diagnostic& fault : repeated(step)) faults.push_back(std::move(fault));
    if (!faults.empty()) return faults;
  }
  if (run.steps.empty()) return {input_error("there is no step in the traces")};
  const std::set<OpKey> expected = keys_of(run.steps.front());
  const auto differs = [&](const MeasuredStep& step) { return keys_of(step) != expected; };
  const std::size_t before = run.steps.size();
  std::erase_if(run.steps, differs);
  if (run.steps.size() < before)
    run.notes.push_back(
        fmt::format("{} of {} steps left out: their operations differ from the first",
                    before - run.steps.size(), before));
  return {};
}

}  // namespace pipecast
