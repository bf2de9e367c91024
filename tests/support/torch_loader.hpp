#pragma once
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "sim/model/program.hpp"
#include "tests/support/golden_orders.hpp"

/// What torch.distributed.pipelining does with a schedule file, in our words: `_load_csv` of the
/// multi-stage schedules, `_Action.from_str` and `_validate_schedule` (main at 00722e64). Written
/// without our reader, so that the two can disagree.
namespace pipecast::testing {

struct TorchAction {
  int stage = 0;
  std::string type;
  int microbatch = -1;
};

inline std::string stripped(const std::string& text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  return first == std::string::npos
             ? std::string{}
             : text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

/// The actions of a cell: one, or the two of an overlapped pair. Empty when torch would raise.
inline std::vector<TorchAction> torch_actions(const std::string& cell) {
  static const std::regex action(
      R"(^(\d+)(F|I|B|W|UNSHARD|RESHARD|REDUCE_GRAD|SEND_F|RECV_F|SEND_B|RECV_B)(\d*))");
  std::vector<TorchAction> actions;
  std::vector<std::string> parts{cell};
  if (cell.front() == '(') {
    const auto end = cell.find(')');
    if (end == std::string::npos || cell.substr(end + 1) != "OVERLAP_F_B") return {};
    parts = split(cell.substr(1, end - 1), ';');
  }
  for (const std::string& part : parts) {
    std::smatch match;
    if (!std::regex_search(part, match, action)) return {};
    actions.push_back(
        {std::stoi(match[1]), match[2], match[3].length() > 0 ? std::stoi(match[3]) : -1});
  }
  return actions;
}

/// Rows of the csv module with default settings; a text without quotes needs no more than this.
inline std::vector<std::vector<std::string>> torch_rows(const std::string& text) {
  std::vector<std::vector<std::string>> rows;
  for (std::string line : split(text, '\n')) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    rows.push_back(split(line, ','));
  }
  return rows;
}

enum class TorchFormat { ComputeOnly, ComputeComms };

/// Why torch's loader refuses the file, or an empty string.
inline std::string torch_refusal(const std::string& text, TorchFormat format, const Shape& shape) {
  const auto rows = torch_rows(text);
  if (rows.size() != static_cast<std::size_t>(shape.ranks)) return "as many lines as ranks";
  std::map<int, std::set<std::size_t>> ranks_of_stage;
  std::map<int, std::map<std::string, std::set<int>>> done;
  for (std::size_t rank = 0; rank < rows.size(); ++rank)
    for (const std::string& raw : rows[rank]) {
      const std::string cell = stripped(raw);
      if (cell.empty() && format == TorchFormat::ComputeComms) return "an empty cell";
      if (cell.empty()) continue;
      const auto actions = torch_actions(cell);
      if (actions.empty()) return "cannot parse " + cell;
      for (const TorchAction& action : actions) {
        auto& of_stage = done[action.stage];
        const bool compute = std::set<std::string>{"F", "B", "I", "W"}.count(action.type) > 0;
        if (!compute && format == TorchFormat::ComputeOnly) return "not compute-only: " + cell;
        if (!compute) continue;
        if (action.stage >= shape.stages()) return "no such stage: " + cell;
        ranks_of_stage[action.stage].insert(rank);
        if ((action.type == "B" || action.type == "I") && !of_stage["F"].count(action.microbatch))
          return "before its forward: " + cell;
        if (action.type == "W" && !of_stage["I"].count(action.microbatch))
          return "before its input gradient: " + cell;
        of_stage[action.type].insert(action.microbatch);
      }
    }
  for (int stage = 0; stage < shape.stages(); ++stage) {
    auto& of_stage = done[stage];
    const auto m = static_cast<std::size_t>(shape.microbatches);
    if (ranks_of_stage[stage].size() != 1) return "a stage on several ranks";
    if (of_stage["F"].size() != m) return "forwards are missing";
    if (of_stage["I"].size() != of_stage["W"].size()) return "as many I as W";
    if (of_stage["B"].size() + of_stage["I"].size() != m) return "backwards are missing";
  }
  return {};
}

}  // namespace pipecast::testing
