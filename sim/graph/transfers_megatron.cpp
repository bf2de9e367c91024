#include "sim/graph/transfers_megatron.hpp"

#include <algorithm>

#include "sim/graph/transfers.hpp"

namespace pipecast {

MegatronRank::MegatronRank(const MegatronShape& shape, const Program& bare, int rank,
                           std::vector<Op>& ops)
    : shape_(shape), rank_(rank), writer_(ops) {
  const int ranks = shape.ranks;
  const auto list = [&](int of) -> const std::vector<Op>& {
    return bare.ranks[static_cast<std::size_t>(of)];
  };
  for (const Op& op : list(rank)) (is_forward(op.kind) ? forwards_ : backwards_).push_back(op);
  for (const Op& op : list((rank + ranks - 1) % ranks))
    if (const Handover made = output_of(op, shape.stages()); made.exists && !made.key.gradient)
      from_previous_.push_back(made.key);
  for (const Op& op : list((rank + 1) % ranks))
    if (const Handover made = output_of(op, shape.stages()); made.exists && made.key.gradient)
      from_next_.push_back(made.key);
  const int total = static_cast<int>(forwards_.size());
  warmup_ = shape.forward_only ? total : std::min(total, shape.warmup(rank));
  total_ = total;
}

RankWriter::Batch MegatronRank::batch(const Wants& wants) {
  RankWriter::Batch ops;
  if (wants.send_previous != nullptr) add_send(ops, *wants.send_previous);
  if (wants.receive_previous && next_from_previous_ < from_previous_.size())
    ops.push_back(receive_op(from_previous_[next_from_previous_++]));
  if (wants.send_next != nullptr) add_send(ops, *wants.send_next);
  if (wants.receive_next && next_from_next_ < from_next_.size())
    ops.push_back(receive_op(from_next_[next_from_next_++]));
  return ops;
}

void MegatronRank::add_send(RankWriter::Batch& ops, const Op& op) const {
  if (const Handover made = output_of(op, shape_.stages()); made.exists)
    ops.push_back(send_op(made.key));
}

void MegatronRank::without_interleaving() {
  for (int k = 0; k < warmup_; ++k) {
    block({.receive_previous = !is_first()});
    writer_.compute(forward(k));
    block({.send_next = &forward(k)});
  }
  const int steady = total_ - warmup_;
  if (steady > 0) block({.receive_previous = !is_first()});
  for (int k = 0; k < steady; ++k) {
    writer_.compute(forward(warmup_ + k));
    block({.send_next = &forward(warmup_ + k), .receive_next = !is_last()});
    writer_.compute(backward(k));
    block({.send_previous = &backward(k), .receive_previous = !is_first() && k + 1 < steady});
  }
  for (int k = steady; k < static_cast<int>(backwards_.size()); ++k) {
    block({.receive_next = !is_last()});
    writer_.compute(backward(k));
    block({.send_previous = &backward(k)});
  }
}

bool MegatronRank::receives_after(int k, bool forward_pass) const {
  if (k + 1 >= total_) return false;
  const bool leads = forward_pass ? is_first() : is_last();
  if (!leads) return true;
  const int aligned = k - (shape_.ranks - 1);  // what the rank at the other end is doing
  if (aligned < 0) return false;
  const Op& op = forward_pass ? forward(aligned) : backward(aligned);
  const int chunk = op.stage.value / shape_.ranks;
  return chunk != (forward_pass ? shape_.chunks - 1 : 0);
}

void MegatronRank::interleaved_sync() {
  const bool all_warm = warmup_ >= total_;
  block({.receive_previous = !is_first()});
  for (int k = 0; k < warmup_; ++k) {
    writer_.compute(forward(k));
    const bool joins_gradient = k + 1 == warmup_ && !all_warm;
    block({.receive_previous = receives_after(k, true),
           .send_next = &forward(k),
           .receive_next = joins_gradient && !is_last()});
  }
  const int steady = total_ - warmup_;
  for (int k = 0; k < steady; ++k) {
    const Op& ahead = forward(warmup_ + k);
    writer_.compute(ahead);
    writer_.compute(backward(k));
    block({.send_previous = &backward(k),
           .receive_previous = k + 1 < steady && receives_after(warmup_ + k, true),
           .send_next = &ahead,
           .receive_next = receives_after(k, false)});
  }
  if (shape_.forward_only) return;
  if (all_warm) block({.receive_next = !is_last()});
  for (int k = steady; k < total_; ++k) {
    writer_.compute(backward(k));
    block({.send_previous = &backward(k), .receive_next = receives_after(k, false)});
  }
}

}  // namespace pipecast
