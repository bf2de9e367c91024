#pragma once
#include <string_view>
#include <utility>
#include <vector>

#include "sim/graph/transfers.hpp"
#include "sim/graph/transfers_key.hpp"

namespace pipecast {

/// Writes one rank's list the way a framework's loop issues it.
class RankWriter {
 public:
  using Batch = std::vector<Op>;

  explicit RankWriter(std::vector<Op>& ops) : ops_(ops) {}

  void compute(const Op& op) { append_cell(ops_, {&op, 1}, Issue::Plain); }
  void compute_pair(const Op& first, const Op& second) {
    const Op pair[] = {first, second};
    append_cell(ops_, pair, Issue::Plain);
  }
  /// An empty batch is no cell.
  void post(const Batch& batch) { append_cell(ops_, batch, Issue::Post); }
  void wait(const Batch& batch) { append_cell(ops_, batch, Issue::Wait); }
  void post_and_wait(const Batch& batch) {
    post(batch);
    wait(batch);
  }

 private:
  std::vector<Op>& ops_;
};

/// The same program with empty lists.
inline Program emptied(const Program& program) {
  Program result = program;
  for (std::vector<Op>& ops : result.ranks) ops.clear();
  return result;
}

/// A framework's loop issues its own compute order only. `lowered` if that is the order of
/// `program`, else the first cell of the first rank where the two part.
Result<Program> if_same_order(Program lowered, const Program& program, std::string_view lowering,
                              std::string_view schedules);

/// The diagnostic for a program that a framework's loop cannot run at all.
Diagnostic not_lowered(std::string_view lowering, std::string_view reason);

/// Stage s on rank s mod P, P·v of them.
bool is_loop_placed(const Program& program);

/// Some cell is an overlapped forward/backward pair. Precondition: no communication is spelt out.
bool has_pairs(const Program& bare);

}  // namespace pipecast
