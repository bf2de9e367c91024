#include "sim/model/program.hpp"

#include <algorithm>
#include <string>

namespace pipecast {
namespace {

void add_bound(Diagnostics& faults, std::string_view name, std::int64_t value,
               std::int64_t maximum) {
  if (value >= 1 && value <= maximum) return;
  faults.push_back(input_error(std::string(name) + " is " + std::to_string(value) +
                               ", allowed is 1 to " + std::to_string(maximum)));
}

template <class Predicate>
bool any_op(const Program& program, Predicate matches) {
  return std::any_of(program.ranks.begin(), program.ranks.end(), [&](const std::vector<Op>& ops) {
    return std::any_of(ops.begin(), ops.end(), [&](const Op& op) { return matches(op.kind); });
  });
}

}  // namespace

Diagnostics check(const Shape& shape) {
  Diagnostics faults;
  add_bound(faults, "ranks", shape.ranks, kMaxRanks);
  add_bound(faults, "chunks", shape.chunks, kMaxChunks);
  add_bound(faults, "microbatches", shape.microbatches, kMaxMicrobatches);
  if (faults.empty())
    add_bound(faults, "ranks × chunks", std::int64_t{shape.ranks} * shape.chunks, kMaxStages);
  if (faults.empty())
    add_bound(faults, "ranks × chunks × microbatches",
              std::int64_t{shape.ranks} * shape.chunks * shape.microbatches, kMaxOps);
  return faults;
}

Placement loop_placement(const Shape& shape) {
  Placement placement;
  placement.stages = shape.stages();
  for (int stage = 0; stage < shape.stages(); ++stage)
    placement.rank_of.push_back({stage % shape.ranks});
  return placement;
}

Placement zigzag_placement(const Shape& shape) {
  Placement placement;
  placement.stages = shape.stages();
  for (int stage = 0; stage < shape.stages(); ++stage) {
    const int step = stage % shape.ranks;
    const bool upward = stage / shape.ranks % 2 == 0;
    placement.rank_of.push_back({upward ? step : shape.ranks - 1 - step});
  }
  return placement;
}

bool has_backward(const Program& program) {
  return any_op(program, [](OpKind kind) { return is_compute(kind) && kind != OpKind::Forward; });
}

bool has_split_backward(const Program& program) {
  return any_op(program, [](OpKind kind) {
    return kind == OpKind::BackwardInput || kind == OpKind::BackwardWeight;
  });
}

bool has_communication(const Program& program) {
  return any_op(program, [](OpKind kind) { return !is_compute(kind); });
}

std::string_view op_word(OpKind kind) {
  switch (kind) {
    case OpKind::Forward:
      return "F";
    case OpKind::BackwardFull:
      return "B";
    case OpKind::BackwardInput:
      return "I";
    case OpKind::BackwardWeight:
      return "W";
    case OpKind::SendForward:
      return "SEND_F";
    case OpKind::ReceiveForward:
      return "RECV_F";
    case OpKind::SendBackward:
      return "SEND_B";
    case OpKind::ReceiveBackward:
      return "RECV_B";
    case OpKind::Unshard:
      return "UNSHARD";
    case OpKind::Reshard:
      return "RESHARD";
    case OpKind::ReduceGrad:
      return "REDUCE_GRAD";
    case OpKind::Optimizer:
      return "OPTIMIZER";
    case OpKind::EvictActivation:
      return "EVICT";
    case OpKind::RestoreActivation:
      return "RESTORE";
    case OpKind::Gap:
      return "GAP";
  }
  return "?";
}

std::string op_text(const Op& op) {
  std::string text = std::to_string(op.stage.value);
  text += op_word(op.kind);
  if (op.microbatch.value >= 0) text += std::to_string(op.microbatch.value);
  return text;
}

std::string microbatches_text(const Program& program) {
  std::string text = std::to_string(program.microbatches_per_step()) + " microbatches";
  if (program.cuts.count() > 1)
    text += " in " + std::to_string(program.cuts.count()) + " cuts each";
  if (program.steps > 1) text += " a step, " + std::to_string(program.steps) + " steps";
  return text;
}

std::size_t cell_size(const std::vector<Op>& ops, std::size_t position) {
  std::size_t size = 1;
  while (ops[position + size - 1].joined && position + size < ops.size()) ++size;
  return size;
}

std::string cell_text(const std::vector<Op>& ops, std::size_t position) {
  const std::size_t size = cell_size(ops, position);
  const Issue issue = ops[position].issue;
  if (size == 1 && issue == Issue::Plain) return op_text(ops[position]);
  std::string text = issue == Issue::Post ? "post(" : issue == Issue::Wait ? "wait(" : "(";
  for (std::size_t i = 0; i < size; ++i) text += (i ? ";" : "") + op_text(ops[position + i]);
  text += issue == Issue::Plain ? ")OVERLAP_F_B" : ")";
  return text;
}

}  // namespace pipecast
