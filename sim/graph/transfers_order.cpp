#include "sim/graph/transfers_order.hpp"

#include <limits>
#include <span>

#include "sim/graph/transfers_key.hpp"

namespace pipecast {
namespace {

using Edge = std::pair<std::uint32_t, std::uint32_t>;
using Front = std::vector<std::uint32_t>;
constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
constexpr std::size_t kWidestFront = 8;

class TransferOrder {
 public:
  TransferOrder(const Program& lowered, TransferPolicy policy, std::vector<Task>& tasks,
                std::vector<Edge>& edges)
      : lowered_(lowered),
        queued_(policy == TransferPolicy::Fifo || policy == TransferPolicy::Blocking),
        hosted_(policy == TransferPolicy::Blocking || policy == TransferPolicy::Posted),
        plain_blocks_(policy == TransferPolicy::Blocking),
        tasks_(tasks),
        edges_(edges),
        transfer_(lowered, kNone) {
    for (std::uint32_t id = 0; id < tasks_.size(); ++id)
      if (is_transfer(tasks_[id])) transfer_[key_of(tasks_[id])] = id;
  }

  void run() {
    for (std::size_t rank = 0; rank < lowered_.ranks.size(); ++rank) {
      rank_ = static_cast<std::int32_t>(rank);
      now_.clear();
      queue_.clear();
      for_each_cell(lowered_.ranks[rank], [&](std::span<const Op> cell) { visit(cell); });
    }
  }

 private:
  static TransferKey key_of(const Task& task) {
    return {task.kind == OpKind::SendBackward, task.stage, task.microbatch};
  }

  void visit(std::span<const Op> cell) {
    const Op& first = cell.front();
    if (is_compute(first.kind)) return compute();
    if (!is_send(first.kind) && !is_receive(first.kind)) return;
    if (first.issue != Issue::Wait) post(cell);
    const bool waits = first.issue == Issue::Wait || (first.issue == Issue::Plain && plain_blocks_);
    if (hosted_ && waits)
      for (const Op& op : cell) now_.push_back(transfer_[transfer_key(op)]);
  }

  void compute() {
    while (!is_work(tasks_[next_compute_])) ++next_compute_;
    const std::uint32_t task = next_compute_++;
    if (!hosted_) return;
    connect(now_, task);
    now_.assign(1, task);
  }

  void post(std::span<const Op> cell) {
    if (hosted_ && now_.size() * cell.size() > kWidestFront) join(now_);
    if (queued_ && queue_.size() * cell.size() > kWidestFront) join(queue_);
    Front batch;
    for (const Op& op : cell) {
      const std::uint32_t transfer = transfer_[transfer_key(op)];
      if (hosted_) connect(now_, transfer);
      if (queued_) connect(queue_, transfer);
      batch.push_back(transfer);
    }
    queue_ = std::move(batch);
  }

  void connect(const Front& before, std::uint32_t after) {
    for (const std::uint32_t task : before) edges_.emplace_back(task, after);
  }

  void join(Front& front) {
    if (front.size() < 2) return;
    Task meeting;
    meeting.kind = OpKind::Gap;
    meeting.rank = rank_;
    meeting.stage = -1;
    meeting.microbatch = -1;
    const auto id = static_cast<std::uint32_t>(tasks_.size());
    tasks_.push_back(meeting);
    connect(front, id);
    front.assign(1, id);
  }

  const Program& lowered_;
  const bool queued_;        // batches of a rank one after another
  const bool hosted_;        // a batch is posted when the rank gets there, and waits are obeyed
  const bool plain_blocks_;  // a plain cell is waited for where it stands
  std::vector<Task>& tasks_;
  std::vector<Edge>& edges_;
  PerTransfer<std::uint32_t> transfer_;
  std::int32_t rank_ = 0;
  std::uint32_t next_compute_ = 0;
  Front now_;    // what the rank's host has waited for
  Front queue_;  // the rank's last batch
};

}  // namespace

void order_transfers(const Program& lowered, TransferPolicy policy, std::vector<Task>& tasks,
                     std::vector<Edge>& edges) {
  if (policy != TransferPolicy::Overlapped) TransferOrder(lowered, policy, tasks, edges).run();
}

}  // namespace pipecast
