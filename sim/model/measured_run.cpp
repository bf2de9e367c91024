#include "sim/model/measured_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "sim/model/inferred_placement.hpp"

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

/// Whether the two share most of their time, a forward and a backward.
bool are_a_pair(const MeasuredOp& first, const MeasuredOp& second) {
  if (first.joined || is_forward(first.kind) == is_forward(second.kind)) return false;
  const double shared = std::min(first.end_s, second.end_s) - second.begin_s;
  return shared > std::min(first.seconds(), second.seconds()) / 2;
}

using Durations = std::map<std::pair<int, OpKind>, std::pair<double, int>>;  ///< sum and number

/// What operations of a kind last on a stage that are in no pair.
Durations alone(const MeasuredStep& step) {
  Durations found;
  for (const MeasuredRank& rank : step.ranks)
    for (std::size_t i = 0; i < rank.ops.size(); ++i) {
      const MeasuredOp& op = rank.ops[i];
      const bool with_next = i + 1 < rank.ops.size() && are_a_pair(op, rank.ops[i + 1]);
      const bool with_last = i > 0 && are_a_pair(rank.ops[i - 1], op);
      if (with_next || with_last) continue;
      for (const int stage : {op.stage.value, -1}) {
        found[{stage, op.kind}].first += op.seconds();
        ++found[{stage, op.kind}].second;
      }
    }
  return found;
}

/// On the stage, else on any; 0 where the kind is in pairs only. A whole backward is its halves.
double usual_seconds(const Durations& durations, const MeasuredOp& op) {
  const auto mean = [&](int stage, OpKind kind) {
    const auto found = durations.find({stage, kind});
    return found == durations.end() ? 0 : found->second.first / found->second.second;
  };
  for (const int stage : {op.stage.value, -1}) {
    if (const double seconds = mean(stage, op.kind); seconds > 0) return seconds;
    const double input = mean(stage, OpKind::BackwardInput);
    const double weight = mean(stage, OpKind::BackwardWeight);
    if (op.kind == OpKind::BackwardFull && input > 0 && weight > 0) return input + weight;
  }
  return 0;
}

/// Forward first, as in the cell of a schedule; the time of the pair is divided as the two last
/// alone, in halves where nothing tells.
void join_pairs(MeasuredStep& step) {
  const Durations durations = alone(step);
  for (MeasuredRank& rank : step.ranks)
    for (std::size_t i = 0; i + 1 < rank.ops.size(); ++i) {
      MeasuredOp& first = rank.ops[i];
      MeasuredOp& second = rank.ops[i + 1];
      if ((i > 0 && rank.ops[i - 1].joined) || !are_a_pair(first, second)) continue;
      if (!is_forward(first.kind)) std::swap(first, second);
      const double begin = std::min(first.begin_s, second.begin_s);
      const double end = std::max(first.end_s, second.end_s);
      const double own = usual_seconds(durations, first);
      const double other = usual_seconds(durations, second);
      const double share = own > 0 && other > 0 ? own / (own + other) : 0.5;
      first.joined = true;
      first.begin_s = begin;
      first.end_s = second.begin_s = begin + share * (end - begin);
      second.end_s = end;
    }
}

void add_total(MeasuredRank& rank) {
  if (rank.ops.empty() || rank.begin_s != 0 || rank.end_s != 0) return;
  rank.begin_s = rank.ops.front().begin_s;
  for (const MeasuredOp& op : rank.ops) rank.end_s = std::max(rank.end_s, op.end_s);
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
  std::vector<std::vector<Op>> orders;
  std::vector<bool> computed(static_cast<std::size_t>(stages), false);
  for (const MeasuredRank& rank : step.ranks) {
    std::vector<Op>& ops = orders.emplace_back();
    for (const MeasuredOp& op : rank.ops) {
      ops.push_back(
          {.kind = op.kind, .joined = op.joined, .stage = op.stage, .microbatch = op.microbatch});
      computed[op.stage.at()] = true;
    }
  }
  for (int stage = 0; stage < stages; ++stage)
    if (!computed[static_cast<std::size_t>(stage)])
      return fail(input_error(fmt::format("no rank computed stage {}", stage),
                              "is the trace of a rank missing?"));
  auto placed = with_inferred_placement(std::move(orders));
  if (!placed) return fail(input_error(placed.error().message));
  program = std::move(*placed);
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
    join_pairs(step);
    for (MeasuredRank& rank : step.ranks) add_total(rank);
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
