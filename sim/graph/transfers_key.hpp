#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "sim/model/program.hpp"

namespace pipecast {

/// A message between stages: the activation or gradient that `stage` sends for a microbatch.
struct TransferKey {
  bool gradient = false;
  int stage = 0;  ///< the sender's
  int microbatch = 0;

  constexpr int receiving_stage() const { return gradient ? stage - 1 : stage + 1; }
  bool operator==(const TransferKey&) const = default;
};

/// Whose message a send or receive is about.
constexpr TransferKey transfer_key(const Op& op) {
  const bool gradient = op.kind == OpKind::SendBackward || op.kind == OpKind::ReceiveBackward;
  const int step = is_send(op.kind) ? 0 : gradient ? 1 : -1;
  return {gradient, op.stage.value + step, op.microbatch.value};
}

constexpr Op send_op(const TransferKey& key) {
  Op op;
  op.kind = key.gradient ? OpKind::SendBackward : OpKind::SendForward;
  op.stage = {key.stage};
  op.microbatch = {key.microbatch};
  return op;
}

constexpr Op receive_op(const TransferKey& key) {
  Op op;
  op.kind = key.gradient ? OpKind::ReceiveBackward : OpKind::ReceiveForward;
  op.stage = {key.receiving_stage()};
  op.microbatch = {key.microbatch};
  return op;
}

/// What a compute operation hands to a neighbour stage: F to the next, B or I to the previous.
struct Handover {
  bool exists = false;
  TransferKey key;
};

inline Handover output_of(const Op& op, int stages) {
  if (is_forward(op.kind) && op.stage.value + 1 < stages)
    return {true, {false, op.stage.value, op.microbatch.value}};
  if (produces_input_gradient(op.kind) && op.stage.value > 0)
    return {true, {true, op.stage.value, op.microbatch.value}};
  return {};
}

inline Handover input_of(const Op& op, int stages) {
  if (is_forward(op.kind) && op.stage.value > 0)
    return {true, {false, op.stage.value - 1, op.microbatch.value}};
  if (produces_input_gradient(op.kind) && op.stage.value + 1 < stages)
    return {true, {true, op.stage.value + 1, op.microbatch.value}};
  return {};
}

inline std::size_t rank_of_stage(const Program& program, int stage, int microbatch) {
  return program.placement.rank(Stage{stage}, Microbatch{microbatch}).at();
}
inline std::size_t sender_of(const Program& program, const TransferKey& key) {
  return rank_of_stage(program, key.stage, key.microbatch);
}
inline std::size_t receiver_of(const Program& program, const TransferKey& key) {
  return rank_of_stage(program, key.receiving_stage(), key.microbatch);
}
/// Two stages on one rank hand over without a message.
inline bool crosses_ranks(const Program& program, const TransferKey& key) {
  return sender_of(program, key) != receiver_of(program, key);
}

/// A value per possible message of a program.
template <class Value>
class PerTransfer {
 public:
  PerTransfer(const Program& program, const Value& initial)
      : microbatches_(static_cast<std::size_t>(program.shape.microbatches)),
        values_(2 * static_cast<std::size_t>(program.placement.stages) * microbatches_, initial) {}

  Value& operator[](const TransferKey& key) { return values_[index(key)]; }
  const Value& operator[](const TransferKey& key) const { return values_[index(key)]; }

 private:
  std::size_t index(const TransferKey& key) const {
    return 2 * (static_cast<std::size_t>(key.stage) * microbatches_ +
                static_cast<std::size_t>(key.microbatch)) +
           (key.gradient ? 1 : 0);
  }
  std::size_t microbatches_;
  std::vector<Value> values_;
};

/// Calls `visit(cell)` with a span of ops for each cell of a list.
template <class Visit>
void for_each_cell(const std::vector<Op>& ops, Visit visit) {
  for (std::size_t at = 0; at < ops.size();) {
    const std::size_t size = cell_size(ops, at);
    visit(std::span<const Op>(ops.data() + at, size));
    at += size;
  }
}

/// Appends `cell` as one cell of `issue`.
inline void append_cell(std::vector<Op>& ops, std::span<const Op> cell, Issue issue) {
  for (std::size_t i = 0; i < cell.size(); ++i) {
    Op op = cell[i];
    op.issue = issue;
    op.joined = i + 1 < cell.size();
    ops.push_back(op);
  }
}

}  // namespace pipecast
