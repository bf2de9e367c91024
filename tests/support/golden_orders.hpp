#pragma once
#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "sim/model/program.hpp"

namespace pipecast::testing {

/// One published order: the cells of every rank as text, idle cells left out.
struct GoldenOrder {
  std::string name;  ///< "pytorch/gpipe_p2_v1_m4.csv"
  Shape shape;       ///< as the file name says
  std::vector<std::vector<std::string>> ranks;
};

inline std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

inline int number_after(const std::string& name, const std::string& mark) {
  return std::stoi(name.substr(name.rfind(mark) + mark.size()));
}

/// tests/golden/data/orders/<family>.txt: a line "# name" before the lines of each file.
inline std::vector<GoldenOrder> read_golden_orders(const std::string& path) {
  std::vector<GoldenOrder> orders;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("# ", 0) == 0) {
      const std::string name = line.substr(2);
      orders.push_back(
          {name,
           {number_after(name, "_p"), number_after(name, "_v"), number_after(name, "_m")},
           {}});
    } else {
      orders.back().ranks.push_back(split(line, ','));
    }
  }
  return orders;
}

/// Our order in the same form.
inline std::vector<std::vector<std::string>> cells_of(const Program& program) {
  std::vector<std::vector<std::string>> ranks;
  for (const std::vector<Op>& ops : program.ranks) {
    std::vector<std::string>& cells = ranks.emplace_back();
    for (std::size_t position = 0; position < ops.size(); position += cell_size(ops, position))
      cells.push_back(cell_text(ops, position));
  }
  return ranks;
}

/// Which operation lets go of an activation.
enum class ReleasedBy { Weight, Input };

/// Per rank, the maximum over the line of forwards minus releases; a whole backward releases
/// either way. Defined over program order, so no timeline is needed.
inline std::vector<int> peak_in_flight(const Program& program, ReleasedBy rule) {
  const OpKind part = rule == ReleasedBy::Weight ? OpKind::BackwardWeight : OpKind::BackwardInput;
  std::vector<int> peaks;
  for (const std::vector<Op>& ops : program.ranks) {
    int alive = 0;
    int peak = 0;
    for (const Op& op : ops) {
      if (is_forward(op.kind)) peak = std::max(peak, ++alive);
      if (op.kind == OpKind::BackwardFull || op.kind == part) --alive;
    }
    peaks.push_back(peak);
  }
  return peaks;
}

}  // namespace pipecast::testing
