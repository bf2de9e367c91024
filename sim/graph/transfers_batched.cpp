#include <algorithm>
#include <utility>

#include "sim/graph/transfers.hpp"
#include "sim/graph/transfers_eager.hpp"

namespace pipecast {
namespace {

/// Where receives stand.
enum class ReceivePlace : std::uint8_t { BeforeConsumer, WhenSent };

class BatchPlacer {
 public:
  BatchPlacer(const Program& program, const EagerRun& run) : program_(program), run_(run) {}

  /// Messages must be in one global order: both ends of a pair then list them alike.
  Program place(ReceivePlace receives) const {
    std::vector<std::vector<std::vector<Op>>> before(program_.ranks.size());  // [rank][cell]
    for (std::size_t rank = 0; rank < before.size(); ++rank)
      before[rank].resize(run_.starts[rank].size() + 1);
    for (const EagerMessage& message : run_.messages) {
      const std::size_t sent = cell_at(message.sender, message.moment);
      const std::size_t received = receives == ReceivePlace::WhenSent
                                       ? cell_at(message.receiver, message.moment)
                                       : message.consumer;
      before[message.sender][sent].push_back(send_op(message.key));
      before[message.receiver][received].push_back(receive_op(message.key));
    }
    return assemble(before);
  }

 private:
  /// First cell of the rank that starts at `moment` or later.
  std::size_t cell_at(std::size_t rank, std::int64_t moment) const {
    const std::vector<std::int64_t>& starts = run_.starts[rank];
    return static_cast<std::size_t>(std::lower_bound(starts.begin(), starts.end(), moment) -
                                    starts.begin());
  }

  Program assemble(const std::vector<std::vector<std::vector<Op>>>& before) const {
    Program lowered = program_;
    for (std::size_t rank = 0; rank < lowered.ranks.size(); ++rank) {
      std::vector<Op>& ops = lowered.ranks[rank];
      ops.clear();
      std::size_t cell_index = 0;
      const auto batch = [&] {
        const std::vector<Op>& transfers = before[rank][cell_index++];
        append_cell(ops, transfers, Issue::Post);
        append_cell(ops, transfers, Issue::Wait);
      };
      for_each_cell(program_.ranks[rank], [&](std::span<const Op> cell) {
        batch();
        append_cell(ops, cell, Issue::Plain);
      });
      batch();
    }
    return lowered;
  }

  const Program& program_;
  const EagerRun& run_;
};

/// The blocking batches of a lowered program can all complete, whatever anything costs.
class BatchRun {
 public:
  explicit BatchRun(const Program& lowered)
      : lowered_(lowered),
        position_(lowered.ranks.size(), 0),
        open_(lowered.ranks.size(), 0),
        arrived_(lowered, 0) {}

  bool completes() {
    for (std::size_t rank = 0; rank < lowered_.ranks.size(); ++rank) work_.push_back(rank);
    while (!work_.empty()) {
      const std::size_t rank = work_.back();
      work_.pop_back();
      advance(rank);
    }
    for (std::size_t rank = 0; rank < lowered_.ranks.size(); ++rank)
      if (position_[rank] < lowered_.ranks[rank].size()) return false;
    return true;
  }

 private:
  /// Computes need no look: a receive before them has completed when the rank gets there.
  void advance(std::size_t rank) {
    const std::vector<Op>& ops = lowered_.ranks[rank];
    while (open_[rank] == 0 && position_[rank] < ops.size()) {
      const std::size_t size = cell_size(ops, position_[rank]);
      const std::span<const Op> cell(ops.data() + position_[rank], size);
      position_[rank] += size;
      if (cell.front().issue == Issue::Post) post(rank, cell);
    }
  }

  void post(std::size_t rank, std::span<const Op> batch) {
    open_[rank] = batch.size();
    for (const Op& op : batch) {
      const TransferKey key = transfer_key(op);
      if (++arrived_[key] < 2) continue;
      for (const std::size_t end : {sender_of(lowered_, key), receiver_of(lowered_, key)})
        if (--open_[end] == 0 && end != rank) work_.push_back(end);
    }
  }

  const Program& lowered_;
  std::vector<std::size_t> position_;
  std::vector<std::size_t> open_;  // [rank] transfers of its batch that are not complete
  PerTransfer<char> arrived_;
  std::vector<std::size_t> work_;
};

}  // namespace

Result<Program> lower_batched(const Program& program) {
  const Program bare = without_communication(program);
  EagerRun run = eager_run(bare, {});
  if (!run.complete)
    return fail(infeasible("sends and receives cannot be placed: the schedule can never finish"));
  std::stable_sort(run.messages.begin(), run.messages.end(),
                   [](const EagerMessage& a, const EagerMessage& b) {
                     return std::pair(a.moment, a.sender) < std::pair(b.moment, b.sender);
                   });
  const BatchPlacer placer(bare, run);
  Program lazy = placer.place(ReceivePlace::BeforeConsumer);
  if (BatchRun(lazy).completes() && order_mismatches(lazy).empty()) return lazy;
  return placer.place(ReceivePlace::WhenSent);
}

}  // namespace pipecast
