#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "sim/graph/transfers.hpp"
#include "sim/graph/transfers_key.hpp"

namespace pipecast {
namespace {

constexpr bool is_transfer_kind(OpKind kind) { return is_send(kind) || is_receive(kind); }

/// How far a message has got on the two lists.
struct Progress {
  bool produced = false;
  bool consumed = false;
  bool sent = false;
  bool received = false;
  bool send_waited = false;
  bool receive_waited = false;
};

class TransferChecker {
 public:
  explicit TransferChecker(const Program& program)
      : program_(program), progress_(program, Progress{}) {}

  Diagnostics run() {
    for (std::size_t rank = 0; rank < program_.ranks.size(); ++rank)
      for (const Op& op : program_.ranks[rank]) visit(rank, op);
    const bool backward = has_backward(program_);
    for (int stage = 0; stage < program_.placement.stages; ++stage)
      for (int microbatch = 0; microbatch < program_.shape.microbatches; ++microbatch) {
        if (stage + 1 < program_.placement.stages) complete({false, stage, microbatch});
        if (stage > 0 && backward) complete({true, stage, microbatch});
      }
    if (hidden_ > 0)
      faults_.push_back(infeasible("and " + std::to_string(hidden_) + " more violations"));
    return std::move(faults_);
  }

 private:
  void report(std::string message) {
    if (faults_.size() < kMaxReported)
      faults_.push_back(infeasible(std::move(message)));
    else
      ++hidden_;
  }

  void visit(std::size_t rank, const Op& op) {
    if (is_compute(op.kind))
      visit_compute(op);
    else if (is_transfer_kind(op.kind))
      visit_transfer(rank, op);
  }

  void visit_compute(const Op& op) {
    const int stages = program_.placement.stages;
    if (const Handover made = output_of(op, stages); made.exists)
      progress_[made.key].produced = true;
    if (const Handover used = input_of(op, stages); used.exists)
      progress_[used.key].consumed = true;
  }

  void visit_transfer(std::size_t rank, const Op& op) {
    const std::string where = "rank " + std::to_string(rank) + ": " + op_text(op);
    const TransferKey key = transfer_key(op);
    if (std::min(key.stage, key.receiving_stage()) < 0 ||
        std::max(key.stage, key.receiving_stage()) >= program_.placement.stages)
      return report(where + " has no stage at its other end");
    if (key.microbatch < 0 || key.microbatch >= program_.shape.microbatches)
      return report(where + " names a microbatch that does not exist");
    if (!crosses_ranks(program_, key))
      return report(where + " stays on its rank, no message is needed");
    const std::size_t home =
        is_send(op.kind) ? sender_of(program_, key) : receiver_of(program_, key);
    if (home != rank) return report(where + " belongs to rank " + std::to_string(home));
    if (op.issue == Issue::Wait)
      visit_wait(where, op, progress_[key]);
    else
      visit_post(where, op, progress_[key]);
  }

  void visit_post(const std::string& where, const Op& op, Progress& progress) {
    bool& posted = is_send(op.kind) ? progress.sent : progress.received;
    if (posted)
      report(where + " is there twice");
    else if (is_send(op.kind) && !progress.produced)
      report(where + " stands before what it sends is computed");
    else if (is_receive(op.kind) && progress.consumed)
      report(where + " stands after what needs it");
    posted = true;
  }

  void visit_wait(const std::string& where, const Op& op, Progress& progress) {
    const bool posted = is_send(op.kind) ? progress.sent : progress.received;
    bool& waited = is_send(op.kind) ? progress.send_waited : progress.receive_waited;
    if (!posted)
      report(where + " is waited for before it is posted");
    else if (waited)
      report(where + " is waited for twice");
    waited = true;
  }

  void complete(const TransferKey& key) {
    if (!crosses_ranks(program_, key)) return;
    const Progress& progress = progress_[key];
    const Op send = send_op(key);
    const Op receive = receive_op(key);
    if (!progress.sent)
      report("rank " + std::to_string(sender_of(program_, key)) + ": " + op_text(send) +
             " is missing");
    if (!progress.received)
      report("rank " + std::to_string(receiver_of(program_, key)) + ": " + op_text(receive) +
             " is missing");
  }

  const Program& program_;
  PerTransfer<Progress> progress_;
  Diagnostics faults_;
  std::size_t hidden_ = 0;
};

}  // namespace

bool has_transfers(const Program& program) {
  return std::any_of(program.ranks.begin(), program.ranks.end(), [](const std::vector<Op>& ops) {
    return std::any_of(ops.begin(), ops.end(),
                       [](const Op& op) { return is_transfer_kind(op.kind); });
  });
}

Program without_communication(const Program& program) {
  Program bare = program;
  for (std::vector<Op>& ops : bare.ranks)
    std::erase_if(ops, [](const Op& op) { return !is_compute(op.kind); });
  return bare;
}

Diagnostics check_transfers(const Program& program) { return TransferChecker(program).run(); }

std::vector<OrderMismatch> order_mismatches(const Program& program) {
  struct Lists {
    std::vector<Op> sends;
    std::vector<Op> receives;
  };
  std::map<std::pair<std::size_t, std::size_t>, Lists> pairs;  // (sender, receiver)
  for (const std::vector<Op>& ops : program.ranks)
    for (const Op& op : ops) {
      if (!is_transfer_kind(op.kind) || op.issue == Issue::Wait) continue;
      const TransferKey key = transfer_key(op);
      Lists& lists = pairs[{sender_of(program, key), receiver_of(program, key)}];
      (is_send(op.kind) ? lists.sends : lists.receives).push_back(op);
    }
  std::vector<OrderMismatch> mismatches;
  for (const auto& [pair, lists] : pairs)
    for (std::size_t i = 0; i < std::min(lists.sends.size(), lists.receives.size()); ++i) {
      const Op expected = receive_op(transfer_key(lists.sends[i]));
      const Op& met = lists.receives[i];
      if (met.kind == expected.kind && met.stage == expected.stage &&
          met.microbatch == expected.microbatch)
        continue;
      mismatches.push_back({{static_cast<std::int32_t>(pair.first)},
                            {static_cast<std::int32_t>(pair.second)},
                            lists.sends[i],
                            met});
      break;
    }
  return mismatches;
}

}  // namespace pipecast
