#pragma once
#include <deque>
#include <vector>

#include "sim/graph/transfers_writer.hpp"

namespace pipecast {

/// What Megatron-Core's two pipelining functions are called with.
struct MegatronShape {
  int ranks = 1;
  int chunks = 1;
  int group = 1;  ///< microbatches per chunk before the next chunk takes its turn
  bool interleaved = false;
  bool combined = false;  ///< forward and backward of a pair are one unit, with one more warm-up
  bool forward_only = false;

  int stages() const { return ranks * chunks; }
  /// Forwards before the first pair; not capped at what there is.
  int warmup(int rank) const {
    if (!interleaved) return ranks - 1 - rank;
    return 2 * (ranks - 1 - rank) + (chunks - 1) * group + (combined ? 1 : 0);
  }
};

/// One rank of Megatron-Core's loops. Which microbatch a receive brings is the order of the
/// sender's list. Batches are in the order send previous, receive previous, send next, receive
/// next.
class MegatronRank {
 public:
  MegatronRank(const MegatronShape& shape, const Program& bare, int rank, std::vector<Op>& ops);

  /// One send or receive pair per batch, each waited for.
  void without_interleaving();
  /// `overlap_p2p_comm` off: one batch after every forward, pair or backward, waited for.
  void interleaved_sync();
  /// `overlap_p2p_comm` on: in the steady state receives are waited for before their consumer and
  /// sends after the next one is posted; with `flush` (`overlap_p2p_comm_warmup_flush`) in warm-up
  /// and cool-down too.
  void interleaved_overlap(bool flush);

 private:
  /// Which of the four operations a batch has. A null send, or one whose result stays, is left out.
  struct Wants {
    const Op* send_previous = nullptr;
    bool receive_previous = false;
    const Op* send_next = nullptr;
    bool receive_next = false;
  };

  bool is_first() const { return rank_ == 0; }
  bool is_last() const { return rank_ + 1 == shape_.ranks; }
  const Op& forward(int k) const { return forwards_[static_cast<std::size_t>(k)]; }
  const Op& backward(int k) const { return backwards_[static_cast<std::size_t>(k)]; }
  /// A neighbour is about to send after the k-th pass. The rank that leads is P−1 passes ahead of
  /// the one whose output it takes, and takes nothing of the last chunk.
  bool receives_after(int k, bool forward_pass) const;

  RankWriter::Batch batch(const Wants& wants);
  void add_send(RankWriter::Batch& ops, const Op& op) const;
  void block(const Wants& wants) { writer_.post_and_wait(batch(wants)); }

  void overlap_warmup(bool flush);
  void overlap_pair(int k, int steady);
  void overlap_cooldown(bool flush);
  /// Posts, then waits for the send of the same direction that was posted before.
  void post_forward(const Wants& wants);
  void post_backward(const Wants& wants);
  void keep(const RankWriter::Batch& posted, std::deque<Op>& receives, RankWriter::Batch& send);
  void wait_for_receive(std::deque<Op>& receives);

  const MegatronShape& shape_;
  int rank_;
  int total_ = 0;
  int warmup_ = 0;
  RankWriter writer_;
  std::vector<Op> forwards_;
  std::vector<Op> backwards_;
  std::vector<TransferKey> from_previous_;
  std::vector<TransferKey> from_next_;
  std::size_t next_from_previous_ = 0;
  std::size_t next_from_next_ = 0;
  std::deque<Op> activations_;  // posted receives, oldest first
  std::deque<Op> gradients_;
  RankWriter::Batch activation_sent_;  // posted, not waited for
  RankWriter::Batch gradient_sent_;
};

}  // namespace pipecast
