#include <algorithm>

#include "sim/graph/transfers.hpp"
#include "sim/graph/transfers_eager.hpp"

namespace pipecast {
namespace {

class SendReceivePlacer {
 public:
  explicit SendReceivePlacer(const Program& program)
      : program_(program), lowered_(program), next_(program.ranks.size(), 0), made_(program, 0) {
    for (std::vector<Op>& ops : lowered_.ranks) ops.clear();
  }

  Result<Program> run() {
    while (round()) {
    }
    for (std::size_t rank = 0; rank < program_.ranks.size(); ++rank)
      if (next_[rank] < program_.ranks[rank].size())
        return fail(infeasible("sends and receives cannot be placed: rank " + std::to_string(rank) +
                               " never gets the input of " +
                               cell_text(program_.ranks[rank], next_[rank])));
    return std::move(lowered_);
  }

 private:
  bool round() {
    bool progress = false;
    for (std::size_t rank = 0; rank < program_.ranks.size(); ++rank) progress |= turn(rank);
    return progress;
  }

  bool turn(std::size_t rank) {
    const std::vector<Op>& ops = program_.ranks[rank];
    const std::size_t at = next_[rank];
    if (at >= ops.size()) return false;
    const std::span<const Op> cell(ops.data() + at, cell_size(ops, at));
    if (!ready(cell)) return false;
    next_[rank] += cell.size();
    lowered_.ranks[rank].insert(lowered_.ranks[rank].end(), cell.begin(), cell.end());
    for (const Op& op : cell) hand_over(op);
    return true;
  }

  /// Inputs are there, or made by the other half of an overlapped pair.
  bool ready(std::span<const Op> cell) const {
    return std::all_of(cell.begin(), cell.end(), [&](const Op& op) {
      const Handover need = input_of(op, program_.placement.stages);
      return !need.exists || made_[need.key] != 0 ||
             made_by(cell, need.key, program_.placement.stages);
    });
  }

  void hand_over(const Op& op) {
    const Handover made = output_of(op, program_.placement.stages);
    if (!made.exists) return;
    made_[made.key] = 1;
    if (!crosses_ranks(program_, made.key)) return;
    lowered_.ranks[sender_of(program_, made.key)].push_back(send_op(made.key));
    lowered_.ranks[receiver_of(program_, made.key)].push_back(receive_op(made.key));
  }

  const Program& program_;
  Program lowered_;
  std::vector<std::size_t> next_;  // [rank] position of the head
  PerTransfer<char> made_;
};

}  // namespace

Result<Program> lower_pytorch_send_receive(const Program& program) {
  if (has_transfers(program)) return SendReceivePlacer(without_communication(program)).run();
  return SendReceivePlacer(program).run();
}

}  // namespace pipecast
