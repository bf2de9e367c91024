#include <algorithm>

#include "sim/graph/transfers.hpp"
#include "sim/graph/transfers_writer.hpp"

namespace pipecast {
namespace {

using Batch = RankWriter::Batch;
constexpr std::string_view kName = "pytorch-class-loop";

/// The step of ScheduleGPipe and Schedule1F1B on one rank; stage and rank are the same number.
class ClassLoop {
 public:
  ClassLoop(const Program& program, int rank, std::vector<Op>& ops)
      : rank_(rank),
        ranks_(program.shape.ranks),
        microbatches_(program.shape.microbatches),
        writer_(ops) {}

  /// Every receive is waited for at once; sends of a phase are waited for at its end.
  void gpipe(bool backward) {
    std::vector<Batch> sent;
    for (int b = 0; b < microbatches_; ++b) {
      writer_.post_and_wait(receive_forward(b));
      forward(b);
      writer_.post(sent.emplace_back(send_forward(b)));
    }
    wait_for(sent);
    for (int b = 0; backward && b < microbatches_; ++b) {
      writer_.post_and_wait(receive_backward(b));
      whole_backward(b);
      writer_.post(sent.emplace_back(send_backward(b)));
    }
    wait_for(sent);
  }

  /// Warm-up sends are waited for one microbatch later. The last of them goes out with the first
  /// gradient receive; then a backward's send goes with the next activation receive and the other
  /// way round, so that every message of the steady state is waited for.
  void one_f_one_b() {
    const int warmup = std::min(microbatches_, ranks_ - rank_);
    for (int b = 0; b < warmup; ++b) warm_up(b, b + 1 < warmup);
    Batch sends = send_forward(warmup - 1);
    int next_forward = warmup;
    int next_backward = 0;
    while (true) {
      writer_.post_and_wait(joined(sends, receive_backward(next_backward)));
      whole_backward(next_backward);
      sends = send_backward(next_backward++);
      if (next_forward == microbatches_) break;
      writer_.post_and_wait(joined(sends, receive_forward(next_forward)));
      forward(next_forward);
      sends = send_forward(next_forward++);
    }
    writer_.post(pending_ = sends);
    for (; next_backward < microbatches_; ++next_backward) cool_down(next_backward);
    writer_.wait(pending_);
  }

 private:
  void warm_up(int microbatch, bool sends) {
    writer_.post_and_wait(receive_forward(microbatch));
    forward(microbatch);
    writer_.wait(pending_);
    pending_.clear();
    if (sends) writer_.post(pending_ = send_forward(microbatch));
  }

  void cool_down(int microbatch) {
    writer_.post_and_wait(receive_backward(microbatch));
    whole_backward(microbatch);
    writer_.wait(pending_);
    writer_.post(pending_ = send_backward(microbatch));
  }

  void wait_for(std::vector<Batch>& sent) {
    for (const Batch& batch : sent) writer_.wait(batch);
    sent.clear();
  }

  void forward(int microbatch) { compute(OpKind::Forward, microbatch); }
  void whole_backward(int microbatch) { compute(OpKind::BackwardFull, microbatch); }
  void compute(OpKind kind, int microbatch) {
    Op op;
    op.kind = kind;
    op.stage = {rank_};
    op.microbatch = {microbatch};
    writer_.compute(op);
  }

  Batch send_forward(int b) const {
    return rank_ + 1 < ranks_ ? Batch{send_op({false, rank_, b})} : Batch{};
  }
  Batch send_backward(int b) const {
    return rank_ > 0 ? Batch{send_op({true, rank_, b})} : Batch{};
  }
  Batch receive_forward(int b) const {
    return rank_ > 0 ? Batch{receive_op({false, rank_ - 1, b})} : Batch{};
  }
  Batch receive_backward(int b) const {
    return rank_ + 1 < ranks_ ? Batch{receive_op({true, rank_ + 1, b})} : Batch{};
  }
  static Batch joined(Batch first, const Batch& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
  }

  int rank_;
  int ranks_;
  int microbatches_;
  RankWriter writer_;
  Batch pending_;  // a send that is not waited for yet
};

/// GPipe's last rank does all forwards first, 1F1B's does not.
bool is_gpipe(const Program& bare) {
  const std::vector<Op>& last = bare.ranks.back();
  const auto forwards =
      std::find_if(last.begin(), last.end(), [](const Op& op) { return !is_forward(op.kind); }) -
      last.begin();
  return forwards > 1 || !has_backward(bare);
}

}  // namespace

Result<Program> lower_pytorch_class_loop(const Program& program) {
  const Program bare = without_communication(program);
  if (bare.shape.chunks != 1 || !is_loop_placed(bare))
    return fail(not_lowered(kName, "the loops of gpipe and 1f1b have one stage on a rank"));
  Program lowered = emptied(bare);
  const bool gpipe = is_gpipe(bare);
  for (int rank = 0; rank < bare.shape.ranks; ++rank) {
    ClassLoop loop(bare, rank, lowered.ranks[static_cast<std::size_t>(rank)]);
    if (gpipe)
      loop.gpipe(has_backward(bare));
    else
      loop.one_f_one_b();
  }
  return if_same_order(std::move(lowered), bare, kName, "gpipe and 1f1b");
}

}  // namespace pipecast
