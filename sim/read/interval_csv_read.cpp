#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>

#include "sim/base/quantity.hpp"
#include "sim/read/measured_file.hpp"
#include "sim/read/text_file.hpp"

namespace pipecast {
namespace {

enum class Column : std::uint8_t { Step, Rank, Stage, Kind, Microbatch, Begin, End, Other };

struct ColumnRole {
  Column column = Column::Other;
  double unit_s = 1;
};

ColumnRole role_of(std::string_view name) {
  constexpr std::array kNames = {std::pair{std::string_view("step"), Column::Step},
                                 std::pair{std::string_view("iteration"), Column::Step},
                                 std::pair{std::string_view("rank"), Column::Rank},
                                 std::pair{std::string_view("stage"), Column::Stage},
                                 std::pair{std::string_view("kind"), Column::Kind},
                                 std::pair{std::string_view("microbatch"), Column::Microbatch},
                                 std::pair{std::string_view("begin"), Column::Begin},
                                 std::pair{std::string_view("start"), Column::Begin},
                                 std::pair{std::string_view("end"), Column::End}};
  double unit_s = 1;
  for (const auto& [suffix, unit] :
       {std::pair{std::string_view("_us"), 1e-6}, std::pair{std::string_view("_ms"), 1e-3},
        std::pair{std::string_view("_ns"), 1e-9}, std::pair{std::string_view("_s"), 1.0}})
    if (name.ends_with(suffix)) {
      unit_s = unit;
      name.remove_suffix(suffix.size());
      break;
    }
  for (const auto& [word, column] : kNames)
    if (name == word) return {column, unit_s};
  return {};
}

std::optional<OpKind> kind_of(std::string_view word) {
  if (word == "F" || word == "fwd" || word == "forward") return OpKind::Forward;
  if (word == "B" || word == "bwd" || word == "backward") return OpKind::BackwardFull;
  if (word == "I") return OpKind::BackwardInput;
  if (word == "W" || word == "wgrad") return OpKind::BackwardWeight;
  return std::nullopt;
}

std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  for (std::size_t begin = 0;;) {
    const std::size_t end = line.find(',', begin);
    std::string_view cell = line.substr(begin, end - begin);
    while (!cell.empty() && (cell.front() == ' ' || cell.front() == '\t')) cell.remove_prefix(1);
    while (!cell.empty() && (cell.back() == ' ' || cell.back() == '\t')) cell.remove_suffix(1);
    cells.push_back(cell);
    if (end == std::string_view::npos) return cells;
    begin = end + 1;
  }
}

class IntervalReader {
 public:
  explicit IntervalReader(const std::string& file) : file_(file) {}

  void line(int number, std::string_view text) {
    number_ = number;
    line_ = text;
    if (text.empty() || text.front() == '#') return;
    if (roles_.empty())
      header(cells_of(text));
    else if (usable_ && !faults_.full())
      row(cells_of(text));
  }

  Result<MeasuredRun> take() {
    if (roles_.empty()) fault("the file has no header line");
    if (!faults_.empty()) return fail(faults_.take(file_));
    MeasuredRun run;
    for (auto& [name, step] : steps_) run.steps.push_back(std::move(step));
    return run;
  }

 private:
  void fault(std::string message, std::string hint = {}) {
    faults_.add(input_error(std::move(message), std::move(hint),
                            text_span(file_, number_, 1, line_.size(), line_)));
  }

  void header(const std::vector<std::string_view>& cells) {
    std::map<Column, std::string_view> found;
    for (const std::string_view cell : cells) {
      roles_.push_back(role_of(cell));
      if (roles_.back().column == Column::Other) continue;
      if (!found.emplace(roles_.back().column, cell).second)
        fault(fmt::format("two columns mean the same: '{}'", shown(cell)));
    }
    for (const auto& [column, name] :
         {std::pair{Column::Rank, "rank"}, std::pair{Column::Kind, "kind"},
          std::pair{Column::Microbatch, "microbatch"}, std::pair{Column::Begin, "begin_us"},
          std::pair{Column::End, "end_us"}})
      if (!found.contains(column))
        fault(fmt::format("there is no column '{}'", name),
              "the first line names the columns: step, rank, stage, kind, microbatch, begin_us, "
              "end_us (or start_ms, end_s …)");
    usable_ = faults_.empty();
  }

  std::optional<int> whole(std::string_view text, const char* what, int most) {
    const auto value = parse_integer(text);
    if (value && *value >= 0 && *value <= most) return static_cast<int>(*value);
    fault(fmt::format("{} is '{}', which is no number from 0 to {}", what, shown(text), most));
    return std::nullopt;
  }

  std::optional<double> time(std::string_view text, const ColumnRole& role) {
    const auto value = parse_number(text);
    if (value && std::abs(*value) < 1e18) return *value * role.unit_s;
    fault(fmt::format("'{}' is no time", shown(text)));
    return std::nullopt;
  }

  void row(const std::vector<std::string_view>& cells) {
    if (cells.size() != roles_.size())
      return fault(
          fmt::format("the line has {} cells, the header {}", cells.size(), roles_.size()));
    std::map<Column, std::string_view> text;
    std::optional<double> begin, end;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      text[roles_[i].column] = cells[i];
      if (roles_[i].column == Column::Begin) begin = time(cells[i], roles_[i]);
      if (roles_[i].column == Column::End) end = time(cells[i], roles_[i]);
    }
    const std::string_view word = text[Column::Kind];
    const bool is_total = word == "STEP" || word == "total";
    const auto kind = kind_of(word);
    if (!is_total && !kind) return;  // transfers and what else the file holds
    const auto rank = whole(text[Column::Rank], "rank", kMaxRanks - 1);
    if (!rank || !begin || !end) return;
    if (*end < *begin) return fault("the interval ends before it begins");
    MeasuredRank& place = rank_of(std::string(text[Column::Step]), *rank);
    if (is_total) {
      place.begin_s = *begin;
      place.end_s = *end;
      return;
    }
    const auto microbatch = whole(text[Column::Microbatch], "microbatch", kMaxMicrobatches - 1);
    const auto stage =
        text.contains(Column::Stage) ? whole(text[Column::Stage], "stage", kMaxStages - 1) : rank;
    if (microbatch && stage)
      place.ops.push_back({.kind = *kind,
                           .stage = {*stage},
                           .microbatch = {*microbatch},
                           .begin_s = *begin,
                           .end_s = *end});
  }

  MeasuredRank& rank_of(const std::string& step_name, int rank) {
    const auto number = parse_integer(step_name);
    const auto key = std::pair(number ? *number : 0, step_name);
    MeasuredStep& step = steps_[key];
    step.name = step_name.empty() ? "step 0" : "step " + shown(step_name);
    if (step.ranks.size() <= static_cast<std::size_t>(rank))
      step.ranks.resize(static_cast<std::size_t>(rank) + 1);
    return step.ranks[static_cast<std::size_t>(rank)];
  }

  const std::string& file_;
  FaultList faults_;
  int number_ = 1;
  std::string_view line_;
  std::vector<ColumnRole> roles_;
  bool usable_ = false;
  std::map<std::pair<std::int64_t, std::string>, MeasuredStep> steps_;
};

}  // namespace

Result<MeasuredRun> read_interval_csv(std::string_view text, const std::string& file) {
  if (auto fault = text_fault(text, file)) return fail(std::move(*fault));
  IntervalReader reader(file);
  int number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    reader.line(++number, line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return reader.take();
}

}  // namespace pipecast
