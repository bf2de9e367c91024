#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "sim/read/json_tree.hpp"
#include "sim/read/measured_file.hpp"

namespace pipecast {
namespace {

std::optional<double> number_of(const YamlCursor& cursor) {
  const auto text = cursor.text();
  if (!text) return std::nullopt;
  const auto value = parse_number(*text);
  if (!value) cursor.fault(value.error());
  return value ? std::optional(*value) : std::nullopt;
}

std::optional<double> milliseconds(const YamlCursor& cursor) {
  const auto value = number_of(cursor);
  return value ? std::optional(*value * 1e-3) : std::nullopt;
}

MeasuredOp op_at(OpKind kind, int rank, std::size_t position, double begin_s, double end_s) {
  return {.kind = kind,
          .stage = {rank},
          .microbatch = {static_cast<int>(position)},
          .begin_s = begin_s,
          .end_s = end_s};
}

/// `fwd: [[begin, end], …]`
void read_pairs(const YamlCursor& rank, std::string_view key, OpKind kind, int number,
                MeasuredRank& into) {
  const auto list = rank.find(key);
  if (!list) return;
  if (!list->is_list()) return list->fault("a list of [begin, end] is needed");
  for (std::size_t i = 0; i < list->size(); ++i) {
    const YamlCursor pair = list->item(i);
    if (!pair.is_list() || pair.size() != 2) return pair.fault("a pair [begin, end] is needed");
    const auto begin = milliseconds(pair.item(0));
    const auto end = milliseconds(pair.item(1));
    if (!begin || !end) return;
    if (*end < *begin) return pair.fault("the interval ends before it begins");
    into.ops.push_back(op_at(kind, number, i, *begin, *end));
  }
}

/// `fwd_start: […]`, `fwd_end: […]`
void read_columns(const YamlCursor& rank, const std::string& word, OpKind kind, int number,
                  MeasuredRank& into) {
  const auto begins = rank.find(word + "_start");
  const auto ends = rank.find(word + "_end");
  if (!begins || !ends) return;
  if (!begins->is_list() || !ends->is_list() || begins->size() != ends->size())
    return begins->fault("begins and ends must be lists of one length");
  for (std::size_t i = 0; i < begins->size(); ++i) {
    const auto begin = milliseconds(begins->item(i));
    const auto end = milliseconds(ends->item(i));
    if (!begin || !end) return;
    if (*end < *begin) return ends->item(i).fault("the interval ends before it begins");
    into.ops.push_back(op_at(kind, number, i, *begin, *end));
  }
}

MeasuredRank read_rank(const YamlCursor& cursor, int number) {
  MeasuredRank rank;
  for (const auto& [word, kind] :
       {std::pair{"fwd", OpKind::Forward}, std::pair{"bwd", OpKind::BackwardFull},
        std::pair{"wgrad", OpKind::BackwardWeight}}) {
    if (cursor.has(word)) read_pairs(cursor, word, kind, number, rank);
    if (cursor.has(std::string(word) + "_start")) read_columns(cursor, word, kind, number, rank);
  }
  bool split = false;
  for (const MeasuredOp& op : rank.ops) split = split || op.kind == OpKind::BackwardWeight;
  for (MeasuredOp& op : rank.ops) {
    if (split && op.kind == OpKind::BackwardFull) op.kind = OpKind::BackwardInput;
    rank.end_s = std::max(rank.end_s, op.end_s);
  }
  for (const char* key : {"total_ms", "total"})
    if (cursor.has(key))
      if (const auto total = cursor.find(key)) rank.end_s = milliseconds(*total).value_or(0);
  if (cursor.has("fwd_chunk"))
    cursor.fault("several chunks per rank are not read from this format",
                 "give the intervals as CSV with a column 'stage'");
  return rank;
}

void put_rank(MeasuredStep& step, const YamlCursor& cursor, int number) {
  const auto at = static_cast<std::size_t>(number);
  if (step.ranks.size() <= at) step.ranks.resize(at + 1);
  if (!step.ranks[at].ops.empty()) return cursor.fault(fmt::format("rank {} stands twice", number));
  step.ranks[at] = read_rank(cursor, number);
}

void read_iterations(const YamlCursor& list, MeasuredRun& run) {
  if (!list.is_list()) return list.fault("a list of iterations is needed");
  for (const YamlCursor& iteration : list.children()) {
    MeasuredStep step;
    const auto ranks = iteration.require("ranks");
    if (!ranks || !ranks->is_list()) return;
    const auto name = iteration.find("iteration");
    step.name = fmt::format("step {}", name ? name->text().value_or("") : "");
    int position = 0;
    for (const YamlCursor& rank : ranks->children()) {
      int number = position++;
      if (const auto given = rank.find("rank"))
        number = static_cast<int>(given->integer(0, kMaxRanks - 1).value_or(number));
      put_rank(step, rank, number);
    }
    run.steps.push_back(std::move(step));
  }
}

}  // namespace

Result<MeasuredRun> read_interval_tree(std::string_view text, const std::string& file,
                                       int rank_of_file) {
  const bool is_json = text.find_first_not_of(" \t\r\n") != std::string_view::npos &&
                       text[text.find_first_not_of(" \t\r\n")] == '{';
  const Result<YamlDocument> document = is_json ? parse_json(text, file) : parse_yaml(text, file);
  if (!document) return fail(document.error());
  FaultList faults;
  const YamlCursor root = YamlCursor::root(*document, faults);
  MeasuredRun run;
  if (!root.is_map()) {
    root.fault("a map of iterations is needed");
  } else if (root.has("iterations")) {
    if (const auto list = root.find("iterations")) read_iterations(*list, run);
  } else if (rank_of_file < 0) {
    root.fault("the file does not say which rank it is of", "name it like pp_rank_0.json");
  } else {
    for (const YamlCursor& step : root.children()) {
      if (!step.is_map()) continue;
      MeasuredStep& made = run.steps.emplace_back();
      made.name = "step " + std::string(step.key());
      put_rank(made, step, rank_of_file);
    }
  }
  if (!faults.empty()) return fail(faults.take(file));
  return run;
}

}  // namespace pipecast
