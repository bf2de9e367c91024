#include <algorithm>
#include <array>
#include <deque>

#include "sim/graph/transfers.hpp"
#include "sim/graph/transfers_writer.hpp"

namespace pipecast {
namespace {

constexpr std::string_view kName = "dualpipe";

/// DualPipe's step and DualPipeV's are one loop: `half` ranks deep, `own` ranks from the end where
/// phase 0 enters, `microbatches` per phase, and the middle rank turns phase 0 into phase 1.
struct Depth {
  int half = 1;
  int own = 0;
  int microbatches = 1;
  bool middle = false;
};

class DualPipeRank {
 public:
  DualPipeRank(const Program& bare, int rank, std::vector<Op>& ops)
      : bare_(bare), rank_(rank), ranks_(bare.shape.ranks), writer_(ops) {
    both_ways_ = bare.placement.directions() == 2;
    const int mirrored = ranks_ - 1 - rank;
    if (both_ways_)
      depth_ = {ranks_ / 2, std::min(rank, mirrored), bare.shape.microbatches / 2, false};
    else
      depth_ = {ranks_, rank, bare.shape.microbatches, false};
    depth_.middle = depth_.own + 1 == depth_.half;
  }

  void run() {
    const int warmup = depth_.half - depth_.own - 1;
    for (int i = 0; i < 2 * warmup; ++i) forward_chunk(0);
    fill();
    for (int i = 0; i < warmup; ++i) {  // backward 1, weight 1, forward 1
      backward_chunk(1, true);
      receive_forward(1);
      weight_chunk();
      forward_chunk(1, {.receive = false});
    }
    steady();
    for (int i = 0; i < warmup; ++i) {
      backward_chunk(1, false);
      overlapped_chunk(1, 0);
    }
    drain();
    for (int i = 0; i < warmup; ++i) {
      weight_chunk();
      backward_chunk(0, true);
    }
    while (!weights_.empty()) weight_chunk();
    commit();
  }

 private:
  struct With {
    bool receive = true;
    bool send = true;
  };

  /// Forwards of both phases in turn until the first gradient can come.
  void fill() {
    receive_forward(0);
    for (int i = 0; i <= depth_.own; ++i) {
      forward_chunk(0, {.receive = false, .send = depth_.middle});
      receive_forward(0);
      forward_chunk(1, {.send = !depth_.middle || i < depth_.own});
      if (!depth_.middle) send_forward(0);
    }
  }

  /// The middle ranks issue their first pair one after the other: the bubble is smaller so.
  void steady() {
    const int pairs = depth_.microbatches - 2 * depth_.half + depth_.own + 1;
    for (int i = 0; i < pairs; ++i) {
      if (i == 0 && depth_.middle) {
        forward_chunk(0, {.receive = false, .send = false});
        send_forward(1);
        backward_chunk(1, false, {.send = false});
        send_forward(0);
        send_backward(1);
      } else {
        overlapped_chunk(0, 1, i > 0);
      }
      overlapped_chunk(1, 0);
    }
  }

  /// Backwards of both phases; halfway through, weight gradients begin to be put off.
  void drain() {
    bool split = false;
    for (int i = 0; i <= depth_.own; ++i) {
      const bool half_way = i == (depth_.own + 1) / 2;
      split |= half_way && depth_.own % 2 == 1;
      backward_chunk(1, split);
      split |= half_way && depth_.own % 2 == 0;
      backward_chunk(0, split);
    }
  }

  void forward_chunk(int phase) { forward_chunk(phase, With{}); }
  void forward_chunk(int phase, With with) {
    if (with.receive) receive_forward(phase);
    commit();
    writer_.compute(next(OpKind::Forward, phase, forwards_));
    if (with.send) send_forward(phase);
  }

  void backward_chunk(int phase, bool split) { backward_chunk(phase, split, With{}); }
  void backward_chunk(int phase, bool split, With with) {
    if (with.receive) receive_backward(phase);
    commit();
    Op op = next(split ? OpKind::BackwardInput : OpKind::BackwardFull, phase, backwards_);
    writer_.compute(op);
    op.kind = OpKind::BackwardWeight;
    if (split) weights_.push_back(op);
    if (with.send) send_backward(phase);
  }

  void overlapped_chunk(int forward_phase, int backward_phase, bool receives_forward = true) {
    if (receives_forward) receive_forward(forward_phase);
    receive_backward(backward_phase);
    commit();
    const Op forward = next(OpKind::Forward, forward_phase, forwards_);
    writer_.compute_pair(forward, next(OpKind::BackwardFull, backward_phase, backwards_));
    send_forward(forward_phase);
    send_backward(backward_phase);
  }

  void weight_chunk() {
    commit();
    if (weights_.empty()) return;
    writer_.compute(weights_.front());
    weights_.pop_front();
  }

  void commit() {
    writer_.post_and_wait(batch_);
    batch_.clear();
  }

  using Counters = std::array<int, 2>;

  /// The phase's stage on this rank and the microbatch that `counters` has come to.
  Op next(OpKind kind, int phase, Counters& counters) const {
    Op op;
    op.kind = kind;
    int microbatch = counters[static_cast<std::size_t>(phase)]++;
    if (both_ways_) {
      const int direction = rank_ < ranks_ / 2 ? phase : 1 - phase;
      microbatch += direction * depth_.microbatches;
      op.stage = {direction == 0 ? rank_ : ranks_ - 1 - rank_};
    } else {
      op.stage = {phase == 0 ? rank_ : 2 * ranks_ - 1 - rank_};
    }
    op.microbatch = {microbatch};
    return op;
  }

  void send_forward(int phase) { send(next(OpKind::Forward, phase, forwards_sent_)); }
  void send_backward(int phase) { send(next(OpKind::BackwardFull, phase, backwards_sent_)); }
  void receive_forward(int phase) { receive(next(OpKind::Forward, phase, forwards_received_)); }
  void receive_backward(int phase) {
    receive(next(OpKind::BackwardFull, phase, backwards_received_));
  }
  void send(const Op& op) {
    const Handover made = output_of(op, bare_.placement.stages);
    if (leaves_rank(op, made)) batch_.push_back(send_op(made.key));
  }
  void receive(const Op& op) {
    const Handover need = input_of(op, bare_.placement.stages);
    if (leaves_rank(op, need)) batch_.push_back(receive_op(need.key));
  }
  /// An order that is not this loop's may count further than there are microbatches.
  bool leaves_rank(const Op& op, const Handover& message) const {
    return op.microbatch.value < bare_.shape.microbatches && message.exists &&
           crosses_ranks(bare_, message.key);
  }

  const Program& bare_;
  int rank_;
  int ranks_;
  bool both_ways_ = false;
  Depth depth_;
  RankWriter writer_;
  RankWriter::Batch batch_;
  std::deque<Op> weights_;  // put off, oldest first
  Counters forwards_{}, backwards_{}, forwards_sent_{}, backwards_sent_{}, forwards_received_{},
      backwards_received_{};
};

/// Stage s of the first half of the microbatches on rank s, of the second half on rank P−1−s.
Placement mirrored_placement(const Shape& shape) {
  Placement placement;
  placement.stages = shape.ranks;
  for (int stage = 0; stage < shape.ranks; ++stage) placement.rank_of.push_back({stage});
  for (int stage = 0; stage < shape.ranks; ++stage)
    placement.rank_of.push_back({shape.ranks - 1 - stage});
  for (int b = 0; b < shape.microbatches; ++b)
    placement.direction_of.push_back(b < shape.microbatches / 2 ? 0 : 1);
  return placement;
}

}  // namespace

Result<Program> lower_dualpipe(const Program& program) {
  const Program bare = without_communication(program);
  const Shape& shape = bare.shape;
  const bool mirrored = shape.chunks == 1 && shape.ranks % 2 == 0 && shape.microbatches % 2 == 0 &&
                        bare.placement == mirrored_placement(shape);
  const bool folded = shape.chunks == 2 && bare.placement == zigzag_placement(shape);
  if ((!mirrored && !folded) || shape.microbatches < 2 * shape.ranks)
    return fail(not_lowered(
        kName, "its loops run two directions, or a V of two chunks, with m of at least 2 P"));
  Program lowered = emptied(bare);
  for (int rank = 0; rank < shape.ranks; ++rank)
    DualPipeRank(bare, rank, lowered.ranks[static_cast<std::size_t>(rank)]).run();
  return if_same_order(std::move(lowered), bare, kName, "dualpipe and dualpipe-v");
}

}  // namespace pipecast
