#include <algorithm>
#include <array>
#include <numeric>

#include "sim/graph/transfers.hpp"
#include "sim/graph/transfers_key.hpp"

namespace pipecast {
namespace {

int eager_length(std::span<const Op> cell) {
  return std::accumulate(cell.begin(), cell.end(), 0, [](int sum, const Op& op) {
    return sum + (op.kind == OpKind::BackwardFull ? 2 : 1);
  });
}

/// One message, with the moment its producer ends in the eager run.
struct Message {
  std::int64_t moment = 0;
  TransferKey key;
  std::size_t sender = 0;
  std::size_t receiver = 0;
  std::size_t consumer = 0;  ///< cell of the receiver that needs it
};

/// Cells of every rank with their start and end in a run where messages take no time.
class EagerRun {
 public:
  explicit EagerRun(const Program& program)
      : program_(program), starts(program.ranks.size()), ready_(program, -1) {
    for (std::size_t rank = 0; rank < program.ranks.size(); ++rank)
      for_each_cell(program.ranks[rank], [&](std::span<const Op>) { ++cells_; });
    position_.resize(program.ranks.size(), 0);
    now_.resize(program.ranks.size(), 0);
    run();
  }

  bool complete() const { return done_ == cells_; }

 private:
  const Program& program_;

 public:
  std::vector<std::vector<std::int64_t>> starts;  ///< [rank][cell]
  std::vector<Message> messages;                  ///< in order of production on each rank

 private:
  void run() {
    std::vector<std::size_t> work(program_.ranks.size());
    std::iota(work.rbegin(), work.rend(), std::size_t{0});
    while (!work.empty()) {
      const std::size_t rank = work.back();
      work.pop_back();
      while (step(rank, work)) {
      }
    }
  }

  bool step(std::size_t rank, std::vector<std::size_t>& work) {
    const std::vector<Op>& ops = program_.ranks[rank];
    const std::size_t at = position_[rank];
    if (at >= ops.size()) return false;
    const std::span<const Op> cell(ops.data() + at, cell_size(ops, at));
    std::int64_t start = now_[rank];
    for (const Op& op : cell) {
      const Handover need = input_of(op, program_.placement.stages);
      if (!need.exists || made_by(cell, need.key)) continue;
      if (ready_[need.key] < 0) return false;
      start = std::max(start, ready_[need.key]);
    }
    starts[rank].push_back(start);
    now_[rank] = start + eager_length(cell);
    position_[rank] += cell.size();
    ++done_;
    for (const Op& op : cell) publish(op, now_[rank], work);
    return true;
  }

  bool made_by(std::span<const Op> cell, const TransferKey& key) const {
    return std::any_of(cell.begin(), cell.end(), [&](const Op& op) {
      const Handover made = output_of(op, program_.placement.stages);
      return made.exists && made.key == key;
    });
  }

  void publish(const Op& op, std::int64_t moment, std::vector<std::size_t>& work) {
    const Handover made = output_of(op, program_.placement.stages);
    if (!made.exists) return;
    ready_[made.key] = moment;
    if (!crosses_ranks(program_, made.key)) return;
    const std::size_t receiver = receiver_of(program_, made.key);
    messages.push_back({moment, made.key, sender_of(program_, made.key), receiver, 0});
    work.push_back(receiver);
  }

  std::vector<std::size_t> position_;
  std::vector<std::int64_t> now_;
  PerTransfer<std::int64_t> ready_;
  std::size_t cells_ = 0;
  std::size_t done_ = 0;
};

/// Where receives stand.
enum class ReceivePlace : std::uint8_t { BeforeConsumer, WhenSent };

class BatchPlacer {
 public:
  BatchPlacer(const Program& program, const EagerRun& run, std::vector<Message> messages)
      : program_(program), run_(run), messages_(std::move(messages)) {}

  /// Messages must be in one global order: both ends of a pair then list them alike.
  Program place(ReceivePlace receives) const {
    std::vector<std::vector<std::vector<Op>>> before(program_.ranks.size());  // [rank][cell]
    for (std::size_t rank = 0; rank < before.size(); ++rank)
      before[rank].resize(run_.starts[rank].size() + 1);
    for (const Message& message : messages_) {
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
  std::vector<Message> messages_;
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

void find_consumers(const Program& program, std::vector<Message>& messages) {
  PerTransfer<std::size_t> consumer(program, 0);
  for (const std::vector<Op>& ops : program.ranks) {
    std::size_t index = 0;
    for_each_cell(ops, [&](std::span<const Op> cell) {
      for (const Op& op : cell)
        if (const Handover need = input_of(op, program.placement.stages); need.exists)
          consumer[need.key] = index;
      ++index;
    });
  }
  for (Message& message : messages) message.consumer = consumer[message.key];
}

}  // namespace

Result<Program> lower_batched(const Program& program) {
  const Program bare = without_communication(program);
  const EagerRun run(bare);
  if (!run.complete())
    return fail(infeasible("sends and receives cannot be placed: the schedule can never finish"));
  std::vector<Message> messages = run.messages;
  find_consumers(bare, messages);
  std::stable_sort(messages.begin(), messages.end(), [](const Message& a, const Message& b) {
    return std::array{a.moment, std::int64_t(a.sender)} <
           std::array{b.moment, std::int64_t(b.sender)};
  });
  const BatchPlacer placer(bare, run, std::move(messages));
  Program lazy = placer.place(ReceivePlace::BeforeConsumer);
  if (BatchRun(lazy).completes() && order_mismatches(lazy).empty()) return lazy;
  return placer.place(ReceivePlace::WhenSent);
}

}  // namespace pipecast
