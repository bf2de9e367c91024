#include "sim/model/program_check.hpp"

#include <algorithm>
#include <string>

#include "sim/model/exchanges.hpp"
#include "sim/model/program.hpp"
#include "sim/model/weights.hpp"

namespace pipecast {
namespace {

/// What has been met of one (stage, microbatch), as bits.
enum Seen : std::uint8_t {
  kForward = 1,
  kInput = 2,
  kWeight = 4,
  kSentForward = 8,
  kReceivedForward = 16,
  kSentBackward = 32,
  kReceivedBackward = 64,
  kWhole = 128,  ///< the backward was one operation
};

std::uint8_t transfer_bit(OpKind kind) {
  switch (kind) {
    case OpKind::SendForward:
      return kSentForward;
    case OpKind::ReceiveForward:
      return kReceivedForward;
    case OpKind::SendBackward:
      return kSentBackward;
    case OpKind::ReceiveBackward:
      return kReceivedBackward;
    case OpKind::Forward:
    case OpKind::BackwardFull:
    case OpKind::BackwardInput:
    case OpKind::BackwardWeight:
    case OpKind::Unshard:
    case OpKind::Reshard:
    case OpKind::ReduceGrad:
    case OpKind::Optimizer:
    case OpKind::EvictActivation:
    case OpKind::RestoreActivation:
    case OpKind::Gap:
      return 0;
  }
  return 0;
}

class ProgramChecker {
 public:
  ProgramChecker(const Program& program, FirstUnread first_unread)
      : program_(program),
        first_unread_(std::move(first_unread)),
        stages_(program.placement.stages),
        microbatches_(program.shape.microbatches),
        backward_(has_backward(program)),
        seen_(static_cast<std::size_t>(stages_) * static_cast<std::size_t>(microbatches_)) {}

  std::vector<Violation> run() {
    if (!first_unread_.empty()) find_present();
    for (std::size_t rank = 0; rank < program_.ranks.size(); ++rank)
      for (std::size_t i = 0; i < program_.ranks[rank].size(); ++i) {
        rank_ = {static_cast<std::int32_t>(rank)};
        position_ = static_cast<std::int32_t>(i);
        visit(program_.ranks[rank][i]);
      }
    position_ = -1;
    for (int stage = 0; stage < stages_; ++stage)
      for (int microbatch = 0; microbatch < microbatches_; ++microbatch)
        complete(Stage{stage}, Microbatch{microbatch});
    if (hidden_ > 0)
      found_.push_back({"and " + std::to_string(hidden_) + " more violations", Rank{-1}, -1});
    return std::move(found_);
  }

 private:
  void report(std::string message) {
    if (found_.size() < kMaxReported)
      found_.push_back({std::move(message), rank_, position_});
    else
      ++hidden_;
  }
  void report(const Op& op, const std::string& message) {
    if (found_.size() < kMaxReported)
      report("rank " + std::to_string(rank_.value) + ": " + op_text(op) + " " + message);
    else
      ++hidden_;
  }

  /// Whether an unread operation before this one may be what it needs: one that was read is not.
  bool may_be_unread(const Op& op, int needed) const {
    if (first_unread_.empty() || first_unread_[rank_.at()] > position_) return false;
    return (present_[cell(op.stage, op.microbatch)] & needed) == 0;
  }
  bool has_unread(Rank rank) const {
    return !first_unread_.empty() &&
           first_unread_[rank.at()] <= static_cast<std::int32_t>(program_.ranks[rank.at()].size());
  }

  void find_present() {
    present_.resize(seen_.size());
    for (const std::vector<Op>& ops : program_.ranks)
      for (const Op& op : ops)
        if (is_compute(op.kind) && op.stage.value >= 0 && op.stage.value < stages_ &&
            op.microbatch.value >= 0 && op.microbatch.value < microbatches_) {
          std::uint8_t& bits = present_[cell(op.stage, op.microbatch)];
          bits = static_cast<std::uint8_t>(bits | compute_bits(op.kind));
        }
  }

  std::size_t cell(Stage stage, Microbatch microbatch) const {
    return stage.at() * static_cast<std::size_t>(microbatches_) + microbatch.at();
  }
  std::uint8_t& seen(Stage stage, Microbatch microbatch) { return seen_[cell(stage, microbatch)]; }

  bool in_range(const Op& op) {
    if (op.stage.value < 0 || op.stage.value >= stages_) {
      report(op, "names stage " + std::to_string(op.stage.value) + ", the last stage is " +
                     std::to_string(stages_ - 1));
      return false;
    }
    const bool per_microbatch = is_compute(op.kind) || is_send(op.kind) || is_receive(op.kind);
    if (!per_microbatch) return true;
    if (op.microbatch.value >= 0 && op.microbatch.value < microbatches_) return true;
    report(op, "names microbatch " + std::to_string(op.microbatch.value) + ", the last one is " +
                   std::to_string(microbatches_ - 1));
    return false;
  }

  bool at_home(const Op& op) {
    if (op.microbatch.value < 0) {
      const auto stages = static_cast<std::size_t>(stages_);
      const std::vector<Rank>& ranks = program_.placement.rank_of;
      for (std::size_t i = op.stage.at(); i < ranks.size(); i += stages)
        if (ranks[i] == rank_) return true;
      report(op, "is about a stage that this rank does not hold");
      return false;
    }
    const Rank home = program_.placement.rank(op.stage, op.microbatch);
    if (home == rank_) return true;
    report(op, "belongs to rank " + std::to_string(home.value));
    return false;
  }

  void visit(const Op& op) {
    if (!in_range(op) || op.kind == OpKind::Optimizer) return;
    const bool home = at_home(op);
    if (is_compute(op.kind))
      visit_compute(op, home);
    else if (home && transfer_bit(op.kind) != 0 && op.issue != Issue::Wait)
      visit_transfer(op);
  }

  static int compute_bits(OpKind kind) {
    if (kind == OpKind::Forward) return kForward;
    if (kind == OpKind::BackwardInput) return kInput;
    if (kind == OpKind::BackwardWeight) return kWeight;
    return kInput | kWeight;
  }

  /// An operation on the wrong rank is met all the same: it is not missing as well.
  void visit_compute(const Op& op, bool home) {
    std::uint8_t& state = seen(op.stage, op.microbatch);
    const int bits = compute_bits(op.kind);
    const bool whole = op.kind == OpKind::BackwardFull;
    if (home && (state & bits) != 0)
      report(op, op.kind == OpKind::Forward || whole == ((state & kWhole) != 0)
                     ? "is there twice"
                     : "stands beside its other form: a backward is whole or in two halves");
    else if (home && (bits & kInput) != 0 && (state & kForward) == 0 &&
             !may_be_unread(op, kForward))
      report(op, "stands before its forward");
    else if (home && op.kind == OpKind::BackwardWeight && (state & kInput) == 0 &&
             !may_be_unread(op, kInput))
      report(op, "stands before its input gradient");
    state = static_cast<std::uint8_t>(state | bits | (whole ? kWhole : 0));
  }

  void visit_transfer(const Op& op) {
    transfers_ = true;
    std::uint8_t& state = seen(op.stage, op.microbatch);
    const std::uint8_t bit = transfer_bit(op.kind);
    const bool up = op.kind == OpKind::SendForward || op.kind == OpKind::ReceiveBackward;
    const std::uint8_t partner =
        op.kind == OpKind::SendForward || op.kind == OpKind::ReceiveForward ? kForward : kInput;
    if (op.stage.value == (up ? stages_ - 1 : 0))
      report(op, up ? "has no next stage" : "has no stage before it");
    else if ((state & bit) != 0)
      report(op, "is there twice");
    else if (is_send(op.kind) && (state & partner) == 0 && !may_be_unread(op, partner))
      report(op, partner == kForward ? "stands before its forward" : "stands before its backward");
    else if (is_receive(op.kind) && (state & partner) != 0)
      report(op, partner == kForward ? "stands after its forward" : "stands after its backward");
    state = static_cast<std::uint8_t>(state | bit);
  }

  void complete(Stage stage, Microbatch microbatch) {
    const std::uint8_t state = seen(stage, microbatch);
    rank_ = program_.placement.rank(stage, microbatch);
    const char* missing = nullptr;
    if ((state & kForward) == 0)
      missing = "the forward is missing";
    else if (backward_ && (state & kInput) == 0)
      missing = "the backward is missing";
    else if (backward_ && (state & kWeight) == 0)
      missing = "the weight gradient is missing";
    if (missing != nullptr && has_unread(rank_)) return;
    if (missing != nullptr)
      report("stage " + std::to_string(stage.value) + ", microbatch " +
             std::to_string(microbatch.value) + ": " + missing);
    else if (transfers_ && stage.value + 1 < stages_)
      complete_transfers(stage, microbatch);
  }

  /// Messages over the boundary between `stage` and the next one.
  void complete_transfers(Stage stage, Microbatch microbatch) {
    const Stage next{stage.value + 1};
    const Rank here = program_.placement.rank(stage, microbatch);
    const Rank there = program_.placement.rank(next, microbatch);
    const auto require = [&](bool wanted, OpKind kind, Stage at, Rank rank) {
      if (!wanted || (seen(at, microbatch) & transfer_bit(kind)) != 0 || has_unread(rank)) return;
      Op op;
      op.kind = kind;
      op.stage = at;
      op.microbatch = microbatch;
      rank_ = rank;
      report(op, "is missing");
    };
    const bool apart = here != there;
    const auto sent_or_received = [&](OpKind send, Stage from, OpKind receive, Stage to) {
      return (seen(from, microbatch) & transfer_bit(send)) != 0 ||
             (seen(to, microbatch) & transfer_bit(receive)) != 0;
    };
    const bool up =
        apart || sent_or_received(OpKind::SendForward, stage, OpKind::ReceiveForward, next);
    const bool down = (apart && backward_) ||
                      sent_or_received(OpKind::SendBackward, next, OpKind::ReceiveBackward, stage);
    require(up, OpKind::SendForward, stage, here);
    require(up, OpKind::ReceiveForward, next, there);
    require(down, OpKind::SendBackward, next, there);
    require(down, OpKind::ReceiveBackward, stage, here);
  }

  const Program& program_;
  FirstUnread first_unread_;  ///< empty: everything was read
  int stages_;
  int microbatches_;
  bool backward_;
  bool transfers_ = false;
  std::vector<std::uint8_t> seen_;
  std::vector<std::uint8_t> present_;  ///< computations anywhere in the program
  std::vector<Violation> found_;
  std::size_t hidden_ = 0;
  Rank rank_{-1};
  std::int32_t position_ = -1;
};

std::vector<Violation> as_violations(const Diagnostics& faults) {
  std::vector<Violation> found;
  for (const Diagnostic& fault : faults) found.push_back({fault.message, Rank{-1}, -1});
  return found;
}

std::string frame_fault(const Program& program) {
  const Placement& placement = program.placement;
  const std::size_t stages = static_cast<std::size_t>(std::max(placement.stages, 0));
  if (program.ranks.size() != static_cast<std::size_t>(program.shape.ranks))
    return "the program has " + std::to_string(program.ranks.size()) + " ranks, its shape has " +
           std::to_string(program.shape.ranks);
  if (stages == 0 || placement.rank_of.empty() || placement.rank_of.size() % stages != 0)
    return "the placement does not give every stage a rank";
  for (const Rank rank : placement.rank_of)
    if (rank.value < 0 || rank.value >= program.shape.ranks)
      return "the placement names rank " + std::to_string(rank.value) + " of " +
             std::to_string(program.shape.ranks);
  const std::size_t directions = static_cast<std::size_t>(placement.directions());
  const bool directed = directions > 1 || !placement.direction_of.empty();
  if (directed &&
      (placement.direction_of.size() != static_cast<std::size_t>(program.shape.microbatches) ||
       std::any_of(placement.direction_of.begin(), placement.direction_of.end(),
                   [&](std::uint8_t direction) { return direction >= directions; })))
    return "the placement does not say which way each microbatch goes";
  return {};
}

}  // namespace

std::vector<Violation> violations(const Program& program) {
  if (const Diagnostics faults = check(program.shape); !faults.empty())
    return as_violations(faults);
  if (std::string fault = frame_fault(program); !fault.empty())
    return {{std::move(fault), Rank{-1}, -1}};
  if (std::vector<Violation> found = as_violations(check_units(program)); !found.empty())
    return found;
  if (std::vector<Violation> found = ProgramChecker(program, {}).run(); !found.empty())
    return found;
  if (std::vector<Violation> found = as_violations(check_weights(program)); !found.empty())
    return found;
  return as_violations(check_exchanges(program));
}

std::vector<Violation> certain_violations(const Program& program, FirstUnread first_unread) {
  if (!check(program.shape).empty() || !frame_fault(program).empty()) return {};
  return ProgramChecker(program, std::move(first_unread)).run();
}

Diagnostics check(const Program& program) {
  if (Diagnostics faults = check(program.shape); !faults.empty()) return faults;
  Diagnostics faults;
  for (Violation& violation : violations(program))
    faults.push_back(infeasible(std::move(violation.message)));
  return faults;
}

}  // namespace pipecast
