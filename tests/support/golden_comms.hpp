#pragma once
#include <charconv>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "sim/graph/transfers_key.hpp"
#include "sim/model/program.hpp"

/// Reads tests/golden/data/comms/*.txt: lowered lists of public frameworks in a short notation that
/// the head of each file explains.
namespace pipecast::comms {

/// One lowered list, with what the reference says about it.
struct Golden {
  std::string name;       ///< `interleaved1f1b-sendrecv_p2_v2_m4`
  std::string kind;       ///< `interleaved1f1b-sendrecv`
  std::string semantics;  ///< `fifo`, `group` or `free`
  bool fifo_per_pair = false;
  double makespan = 0;
  double makespan_without_communication = 0;
  Shape shape;
  std::vector<std::string> lines;  ///< one per rank
};

inline int number_after(const std::string& name, const std::string& mark) {
  const std::size_t at = name.rfind(mark);
  return std::stoi(name.substr(at + mark.size()));
}

inline std::vector<Golden> read_goldens(const std::string& family) {
  std::ifstream in(std::string(PIPECAST_TEST_DIR) + "/golden/data/comms/" + family + ".txt");
  std::vector<Golden> goldens;
  for (std::string line; std::getline(in, line);) {
    if (!line.empty() && line[0] == '#') continue;
    if (line.rfind("= ", 0) != 0) {
      goldens.back().lines.push_back(line);
      continue;
    }
    Golden golden;
    std::istringstream head(line.substr(2));
    head >> golden.name >> golden.semantics >> golden.fifo_per_pair >> golden.makespan >>
        golden.makespan_without_communication;
    golden.kind = golden.name.substr(0, golden.name.rfind("_p"));
    golden.shape = {number_after(golden.name, "_p"), number_after(golden.name, "_v"),
                    number_after(golden.name, "_m")};
    goldens.push_back(golden);
  }
  return goldens;
}

inline std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t at = 0;;) {
    const std::size_t end = text.find(separator, at);
    parts.emplace_back(text.substr(at, end == text.npos ? text.npos : end - at));
    if (end == text.npos) return parts;
    at = end + 1;
  }
}

inline OpKind kind_of(std::string_view word) {
  static constexpr std::pair<std::string_view, OpKind> kWords[] = {
      {"F", OpKind::Forward},       {"B", OpKind::BackwardFull},
      {"I", OpKind::BackwardInput}, {"W", OpKind::BackwardWeight},
      {"sF", OpKind::SendForward},  {"rF", OpKind::ReceiveForward},
      {"sB", OpKind::SendBackward}, {"rB", OpKind::ReceiveBackward},
      {"u", OpKind::Unshard},       {"h", OpKind::Reshard},
      {"g", OpKind::ReduceGrad},    {"o", OpKind::Optimizer},
  };
  for (const auto& [text, kind] : kWords)
    if (text == word) return kind;
  return OpKind::Gap;  // DeepSpeed's LOAD and REDUCE_TIED_GRAD: not operations of a program
}

inline Op parse_op(std::string_view text) {
  Op op;
  const char* const end = text.data() + text.size();
  const char* const word = std::from_chars(text.data(), end, op.stage.value).ptr;
  const char* number = word;
  while (number != end && (*number < '0' || *number > '9')) ++number;
  op.kind = kind_of(std::string_view(word, static_cast<std::size_t>(number - word)));
  op.microbatch.value = -1;
  std::from_chars(number, end, op.microbatch.value);
  return op;
}

/// Appends the ops of one cell. `w` alone repeats the batch that ends `ops`.
inline void parse_cell(std::string_view text, std::vector<Op>& ops) {
  if (text.empty()) return;
  if (text == "w") {
    std::size_t first = ops.size();
    while (first > 0 && ops[first - 1].issue == Issue::Post &&
           (first == ops.size() || ops[first - 1].joined))
      --first;
    const std::vector<Op> batch(ops.begin() + static_cast<std::ptrdiff_t>(first), ops.end());
    return append_cell(ops, batch, Issue::Wait);
  }
  const std::size_t open = text.find('(');
  if (open == text.npos) {
    for (const std::string& word : split(text, ' '))
      if (const Op op = parse_op(word); op.kind != OpKind::Gap) ops.push_back(op);
    return;
  }
  std::vector<Op> cell;
  for (const std::string& part : split(text.substr(open + 1, text.size() - open - 2), ';'))
    cell.push_back(parse_op(part));
  append_cell(ops, cell,
              text[0] == 'p'   ? Issue::Post
              : text[0] == 'w' ? Issue::Wait
                               : Issue::Plain);
}

/// The rank of each stage is the one that computes it; microbatches that go another way make a
/// direction of their own.
inline Placement infer_placement(const Program& program) {
  const int stages = program.shape.stages();
  const auto width = static_cast<std::size_t>(stages);
  std::vector<std::vector<Rank>> path(static_cast<std::size_t>(program.shape.microbatches),
                                      std::vector<Rank>(width));
  for (std::size_t rank = 0; rank < program.ranks.size(); ++rank)
    for (const Op& op : program.ranks[rank])
      if (op.kind == OpKind::Forward)
        path[op.microbatch.at()][op.stage.at()] = {static_cast<std::int32_t>(rank)};
  Placement placement;
  placement.stages = stages;
  std::map<std::vector<Rank>, std::uint8_t> directions;
  for (const std::vector<Rank>& way : path) {
    const auto [known, fresh] =
        directions.try_emplace(way, static_cast<std::uint8_t>(directions.size()));
    if (fresh) placement.rank_of.insert(placement.rank_of.end(), way.begin(), way.end());
    placement.direction_of.push_back(known->second);
  }
  if (directions.size() == 1) placement.direction_of.clear();
  return placement;
}

inline Program parse_program(const Golden& golden) {
  Program program;
  program.shape = golden.shape;
  for (const std::string& line : golden.lines) {
    std::vector<Op>& ops = program.ranks.emplace_back();
    for (const std::string& cell : split(line, ',')) parse_cell(cell, ops);
  }
  program.placement = infer_placement(program);
  return program;
}

/// A rank's list as text, for messages.
inline std::string list_text(const std::vector<Op>& ops) {
  std::string text;
  for (std::size_t at = 0; at < ops.size(); at += cell_size(ops, at))
    text += (at ? "," : "") + cell_text(ops, at);
  return text;
}

}  // namespace pipecast::comms
