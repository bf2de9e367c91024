#include <algorithm>
#include <numeric>

#include "sim/graph/transfers.hpp"
#include "sim/graph/transfers_eager.hpp"
#include "sim/graph/transfers_writer.hpp"

namespace pipecast {
namespace {

constexpr std::int64_t kPass = 1000;

/// The generators for one chunk with split backwards and for the V count a message as one
/// thousandth of a pass, the others as nothing. A whole backward counts as its first half only
/// (upstream adds two lists where it means to add their elements).
EagerTimes times_of(const Program& bare) {
  const bool counts_messages =
      !is_loop_placed(bare) || (bare.shape.chunks == 1 && has_split_backward(bare));
  return {kPass, kPass, kPass, kPass, counts_messages ? 1 : 0};
}

/// Slots of the group-interleaved pattern with groups of one microbatch, the one schedule whose
/// generator keeps its own times: one pass is a slot, a building block has 3 v of them.
class GroupOfOneSlots {
 public:
  explicit GroupOfOneSlots(const Shape& shape)
      : ranks_(shape.ranks),
        chunks_(shape.chunks),
        spread_((shape.ranks + 1) / 2),
        period_(shape.chunks / std::gcd(shape.chunks, spread_)) {
    for (int chunk = 1; chunk < chunks_; ++chunk)
      shift_ = std::min(shift_, offset(chunk) - offset(chunk - 1) - ranks_);
    shift_ = std::min(shift_, ranks_ - 1);
  }

  std::int64_t slot(const Op& op) const {
    const int rank = op.stage.value % ranks_;
    const int chunk = op.stage.value / ranks_;
    std::int64_t at = std::int64_t{3} * chunks_ * op.microbatch.value + std::min(rank, shift_);
    if (is_forward(op.kind)) return at + offset(chunk) + rank;
    at += offset(chunks_ - 1) + rank + 3 * (ranks_ - 1 - rank) + 1 + offset(chunks_ - 1 - chunk);
    return at + (op.kind == OpKind::BackwardWeight ? 1 : 0);
  }

 private:
  int offset(int chunk) const { return 3 * spread_ * chunk + 3 * (chunk / period_); }

  int ranks_;
  int chunks_;
  int spread_;
  int period_;
  int shift_ = 1 << 20;
};

/// Puts the slots in place of the eager times if they give every rank's order.
void keep_group_of_one_times(const Program& bare, EagerRun& run) {
  if (bare.shape.chunks < 2 || !is_loop_placed(bare) || !has_split_backward(bare)) return;
  const GroupOfOneSlots slots(bare.shape);
  for (const std::vector<Op>& ops : bare.ranks)
    for (std::size_t i = 1; i < ops.size(); ++i)
      if (ops[i - 1].joined || slots.slot(ops[i - 1]) >= slots.slot(ops[i])) return;
  for (std::size_t rank = 0; rank < bare.ranks.size(); ++rank)
    for (std::size_t i = 0; i < bare.ranks[rank].size(); ++i) {
      run.starts[rank][i] = slots.slot(bare.ranks[rank][i]) * kPass;
      run.ends[rank][i] = run.starts[rank][i] + kPass;
    }
  for (EagerMessage& message : run.messages)
    message.moment = run.ends[message.sender][message.producer];
}

/// A place in a rank's list: before, or after the sends of, a cell.
struct Place {
  std::size_t cell = 0;
  bool after_sends = false;
};

class TimePlacer {
 public:
  TimePlacer(const Program& bare, const EagerRun& run)
      : bare_(bare), run_(run), from_(bare.ranks.size()) {
    for (const std::vector<std::int64_t>& cells : run.starts) {
      sends_.emplace_back(cells.size());
      before_.emplace_back(cells.size());
      before_sends_.emplace_back(cells.size());
    }
    for (const EagerMessage& message : run.messages)
      sends_[message.sender][message.producer].push_back(send_op(message.key));
  }

  Program place() {
    for (const EagerMessage& message : run_.messages) {
      from_[message.sender] = {message.producer + 1, false};
      place_receive(message);
    }
    return assemble();
  }

 private:
  /// The first place, not before an earlier message of the rank, whose cell ends at the moment or
  /// later, or is the consumer, or is a send: a receive never passes a send.
  void place_receive(const EagerMessage& message) {
    Place& at = from_[message.receiver];
    const auto stands_at = [&](std::size_t cell) {
      return cell >= message.consumer || message.moment <= run_.ends[message.receiver][cell];
    };
    while (true) {
      if (!at.after_sends && stands_at(at.cell)) break;
      if (!sends_[message.receiver][at.cell].empty()) {
        at.after_sends = true;
        break;
      }
      at = {at.cell + 1, false};
    }
    auto& lists = at.after_sends ? before_sends_ : before_;
    lists[message.receiver][at.cell].push_back(receive_op(message.key));
  }

  Program assemble() const {
    Program lowered = emptied(bare_);
    for (std::size_t rank = 0; rank < bare_.ranks.size(); ++rank) {
      std::vector<Op>& ops = lowered.ranks[rank];
      std::size_t index = 0;
      const auto add = [&](const std::vector<Op>& transfers) {
        ops.insert(ops.end(), transfers.begin(), transfers.end());
      };
      for_each_cell(bare_.ranks[rank], [&](std::span<const Op> cell) {
        add(before_[rank][index]);
        append_cell(ops, cell, Issue::Plain);
        add(before_sends_[rank][index]);
        add(sends_[rank][index]);
        ++index;
      });
    }
    return lowered;
  }

  const Program& bare_;
  const EagerRun& run_;
  std::vector<Place> from_;                                 // [rank]
  std::vector<std::vector<std::vector<Op>>> sends_;         // [rank][cell]
  std::vector<std::vector<std::vector<Op>>> before_;        // receives before a cell
  std::vector<std::vector<std::vector<Op>>> before_sends_;  // between a cell and its sends
};

}  // namespace

Result<Program> lower_zero_bubble(const Program& program) {
  const Program bare = without_communication(program);
  if (has_pairs(bare))
    return fail(not_lowered("zero-bubble", "its passes are single, not forward/backward pairs"));
  EagerRun run = eager_run(bare, times_of(bare));
  if (!run.complete) return fail(not_lowered("zero-bubble", "the schedule can never finish"));
  keep_group_of_one_times(bare, run);
  std::stable_sort(
      run.messages.begin(), run.messages.end(),
      [](const EagerMessage& a, const EagerMessage& b) { return a.moment < b.moment; });
  return TimePlacer(bare, run).place();
}

}  // namespace pipecast
