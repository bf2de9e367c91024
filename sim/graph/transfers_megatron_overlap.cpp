#include <algorithm>
#include <string>

#include "sim/graph/transfers_megatron.hpp"

namespace pipecast {

void MegatronRank::keep(const RankWriter::Batch& posted, std::deque<Op>& receives,
                        RankWriter::Batch& send) {
  writer_.wait(send);
  send.clear();
  for (const Op& op : posted)
    if (is_send(op.kind))
      send.push_back(op);
    else
      receives.push_back(op);
}

void MegatronRank::post_forward(const Wants& wants) {
  const RankWriter::Batch posted = batch(wants);
  writer_.post(posted);
  keep(posted, activations_, activation_sent_);
}

void MegatronRank::post_backward(const Wants& wants) {
  const RankWriter::Batch posted = batch(wants);
  writer_.post(posted);
  keep(posted, gradients_, gradient_sent_);
}

void MegatronRank::wait_for_receive(std::deque<Op>& receives) {
  if (receives.empty()) return;
  writer_.wait({receives.front()});
  receives.pop_front();
}

void MegatronRank::interleaved_overlap(bool flush) {
  block({.receive_previous = !is_first()});
  overlap_warmup(flush);
  const int steady = total_ - warmup_;
  for (int k = 0; k < steady; ++k) overlap_pair(k, steady);
  if (!shape_.forward_only) overlap_cooldown(flush);
}

void MegatronRank::overlap_warmup(bool flush) {
  for (int k = 0; k < warmup_; ++k) {
    const bool receives = receives_after(k, true);
    if (flush && forward(k).stage.value != 0 && k != 0) wait_for_receive(activations_);
    if (flush && !is_first()) {  // one receive ahead
      const RankWriter::Batch ahead = batch({.receive_previous = receives});
      writer_.post(ahead);
      activations_.insert(activations_.end(), ahead.begin(), ahead.end());
    }
    writer_.compute(forward(k));
    if (flush)
      post_forward({.receive_previous = receives && is_first(), .send_next = &forward(k)});
    else
      block({.receive_previous = receives, .send_next = &forward(k)});
  }
  if (warmup_ > 0 && warmup_ < total_) post_backward({.receive_next = !is_last()});
}

void MegatronRank::overlap_pair(int k, int steady) {
  const Op& ahead = forward(warmup_ + k);
  const Op& behind = backward(k);
  const bool last_stage = behind.stage.value + 1 == shape_.stages();
  if (ahead.stage.value != 0) wait_for_receive(activations_);
  if (shape_.combined) {
    if (!last_stage) wait_for_receive(gradients_);
    writer_.compute_pair(ahead, behind);
  } else {
    writer_.compute(ahead);
  }
  post_forward({.receive_previous = k + 1 < steady && receives_after(warmup_ + k, true),
                .send_next = &ahead});
  if (!shape_.combined) {
    if (!last_stage) wait_for_receive(gradients_);
    writer_.compute(behind);
  }
  post_backward({.send_previous = &behind, .receive_next = receives_after(k, false)});
}

void MegatronRank::overlap_cooldown(bool flush) {
  if (warmup_ >= total_) block({.receive_next = !is_last()});
  for (int k = total_ - warmup_; k < total_; ++k) {
    const Op& behind = backward(k);
    const bool receives = receives_after(k, false);
    if (behind.stage.value + 1 != shape_.stages() && k != 0) wait_for_receive(gradients_);
    if (flush && !is_last()) {
      const RankWriter::Batch ahead = batch({.receive_next = receives});
      writer_.post(ahead);
      gradients_.insert(gradients_.end(), ahead.begin(), ahead.end());
    }
    writer_.compute(behind);
    if (flush)
      post_backward({.send_previous = &behind, .receive_next = receives && is_last()});
    else
      block({.send_previous = &behind, .receive_next = receives});
  }
  writer_.wait(gradient_sent_);
}

namespace {

constexpr std::string_view mode_name(MegatronMode mode) {
  switch (mode) {
    case MegatronMode::Sync:
      return "megatron-sync";
    case MegatronMode::Overlap:
      return "megatron-overlap";
    case MegatronMode::OverlapFlush:
      return "megatron-overlap-flush";
  }
  return "?";
}

int leading_forwards(const std::vector<Op>& ops) {
  return static_cast<int>(
      std::find_if(ops.begin(), ops.end(), [](const Op& op) { return !is_forward(op.kind); }) -
      ops.begin());
}

/// One chunk runs through the loop without interleaving, unless some rank warms up longer than
/// that loop does.
bool is_interleaved(const Program& bare) {
  if (bare.shape.chunks > 1) return true;
  for (int rank = 0; rank < bare.shape.ranks; ++rank) {
    const int warmup = std::min(bare.shape.microbatches, bare.shape.ranks - rank);
    if (has_backward(bare) && leading_forwards(bare.ranks[static_cast<std::size_t>(rank)]) > warmup)
      return true;
  }
  return false;
}

MegatronShape shape_of(const Program& bare) {
  MegatronShape shape;
  shape.ranks = bare.shape.ranks;
  shape.chunks = bare.shape.chunks;
  shape.interleaved = is_interleaved(bare);
  shape.combined = has_pairs(bare);
  shape.forward_only = !has_backward(bare);
  const std::vector<Op>& first = bare.ranks.front();
  const auto group =
      std::find_if(first.begin(), first.end(), [](const Op& op) { return op.stage.value != 0; }) -
      first.begin();
  shape.group = std::max(1, static_cast<int>(group));
  return shape;
}

/// What Megatron itself refuses: the first rank takes the output of the last one P − 1 passes
/// later, so no group may be smaller than P.
std::string_view refusal(const MegatronShape& shape, MegatronMode mode, int microbatches) {
  if (mode != MegatronMode::Sync && !shape.interleaved)
    return "Megatron refuses it without interleaving";
  if (mode == MegatronMode::Sync && shape.combined)
    return "forward/backward pairs need megatron-overlap";
  const int rest = microbatches % shape.group;
  if (shape.chunks > 1 && (shape.group < shape.ranks || (rest != 0 && rest < shape.ranks)))
    return "Megatron refuses groups of fewer than P microbatches";
  return {};
}

}  // namespace

Result<Program> lower_megatron(const Program& program, MegatronMode mode) {
  const Program bare = without_communication(program);
  const std::string_view name = mode_name(mode);
  if (!is_loop_placed(bare) || has_split_backward(bare))
    return fail(not_lowered(name, "its loops have stage s on rank s mod P and whole backwards"));
  if (bare.shape.ranks == 1) return bare;  // nothing is sent
  const MegatronShape shape = shape_of(bare);
  if (const std::string_view reason = refusal(shape, mode, bare.shape.microbatches);
      !reason.empty())
    return fail(not_lowered(name, reason));
  Program lowered = emptied(bare);
  for (int rank = 0; rank < shape.ranks; ++rank) {
    MegatronRank loop(shape, bare, rank, lowered.ranks[static_cast<std::size_t>(rank)]);
    if (!shape.interleaved)
      loop.without_interleaving();
    else if (mode == MegatronMode::Sync)
      loop.interleaved_sync();
    else
      loop.interleaved_overlap(mode == MegatronMode::OverlapFlush);
  }
  return if_same_order(std::move(lowered), bare, name,
                       "1f1b, interleaved-1f1b, combined-1f1b and forward-only");
}

}  // namespace pipecast
