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

/// What has been met of one (stage, microbatch) so far.
struct Seen {
  bool forward = false;
  bool input = false;
  bool weight = false;
};

class ProgramChecker {
 public:
  explicit ProgramChecker(const Program& program)
      : program_(program),
        backward_(has_backward(program)),
        seen_(static_cast<std::size_t>(program.placement.stages) *
              static_cast<std::size_t>(program.shape.microbatches)) {}

  Diagnostics run() {
    for (std::size_t rank = 0; rank < program_.ranks.size(); ++rank)
      for (const Op& op : program_.ranks[rank]) visit(Rank{static_cast<std::int32_t>(rank)}, op);
    for (int stage = 0; stage < program_.placement.stages; ++stage)
      for (int microbatch = 0; microbatch < program_.shape.microbatches; ++microbatch)
        complete(Stage{stage}, Microbatch{microbatch});
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

  Seen& seen(Stage stage, Microbatch microbatch) {
    return seen_[stage.at() * static_cast<std::size_t>(program_.shape.microbatches) +
                 microbatch.at()];
  }

  bool in_range(Rank rank, const Op& op) {
    const std::string where = "rank " + std::to_string(rank.value) + ": " + op_text(op);
    if (op.stage.value < 0 || op.stage.value >= program_.placement.stages) {
      report(where + " names stage " + std::to_string(op.stage.value) + ", the last stage is " +
             std::to_string(program_.placement.stages - 1));
      return false;
    }
    if (is_compute(op.kind) &&
        (op.microbatch.value < 0 || op.microbatch.value >= program_.shape.microbatches)) {
      report(where + " names microbatch " + std::to_string(op.microbatch.value) +
             ", the last one is " + std::to_string(program_.shape.microbatches - 1));
      return false;
    }
    return true;
  }

  void visit(Rank rank, const Op& op) {
    if (!in_range(rank, op) || !is_compute(op.kind)) return;
    const std::string where = "rank " + std::to_string(rank.value) + ": " + op_text(op);
    const Rank home = program_.placement.rank(op.stage, op.microbatch);
    if (home != rank) {
      report(where + " belongs to rank " + std::to_string(home.value));
      return;
    }
    Seen& state = seen(op.stage, op.microbatch);
    const bool input = produces_input_gradient(op.kind);
    const bool weight = op.kind == OpKind::BackwardFull || op.kind == OpKind::BackwardWeight;
    if ((op.kind == OpKind::Forward && state.forward) || (input && state.input) ||
        (weight && state.weight))
      report(where + " is there twice");
    else if (input && !state.forward)
      report(where + " stands before its forward");
    else if (op.kind == OpKind::BackwardWeight && !state.input)
      report(where + " stands before its input gradient");
    state.forward |= op.kind == OpKind::Forward;
    state.input |= input;
    state.weight |= weight;
  }

  void complete(Stage stage, Microbatch microbatch) {
    const Seen& state = seen(stage, microbatch);
    const std::string what =
        "stage " + std::to_string(stage.value) + ", microbatch " + std::to_string(microbatch.value);
    if (!state.forward)
      report(what + ": the forward is missing");
    else if (backward_ && !state.input)
      report(what + ": the backward is missing");
    else if (backward_ && !state.weight)
      report(what + ": the weight gradient is missing");
  }

  const Program& program_;
  bool backward_;
  std::vector<Seen> seen_;
  Diagnostics faults_;
  std::size_t hidden_ = 0;
};

template <class Predicate>
bool any_op(const Program& program, Predicate matches) {
  return std::any_of(program.ranks.begin(), program.ranks.end(), [&](const std::vector<Op>& ops) {
    return std::any_of(ops.begin(), ops.end(), [&](const Op& op) { return matches(op.kind); });
  });
}

Diagnostics check_frame(const Program& program) {
  const Placement& placement = program.placement;
  const std::size_t stages = static_cast<std::size_t>(std::max(placement.stages, 0));
  if (program.ranks.size() != static_cast<std::size_t>(program.shape.ranks))
    return {infeasible("the program has " + std::to_string(program.ranks.size()) +
                       " ranks, its shape has " + std::to_string(program.shape.ranks))};
  if (stages == 0 || placement.rank_of.empty() || placement.rank_of.size() % stages != 0)
    return {infeasible("the placement does not give every stage a rank")};
  for (const Rank rank : placement.rank_of)
    if (rank.value < 0 || rank.value >= program.shape.ranks)
      return {infeasible("the placement names rank " + std::to_string(rank.value) + " of " +
                         std::to_string(program.shape.ranks))};
  const bool directed = placement.directions() > 1;
  if (directed &&
      placement.direction_of.size() != static_cast<std::size_t>(program.shape.microbatches))
    return {infeasible("the placement does not say which way each microbatch goes")};
  return {};
}

}  // namespace

Diagnostics check(const Shape& shape) {
  Diagnostics faults;
  add_bound(faults, "ranks", shape.ranks, kMaxRanks);
  add_bound(faults, "chunks", shape.chunks, kMaxChunks);
  add_bound(faults, "microbatches", shape.microbatches, kMaxMicrobatches);
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

Diagnostics check(const Program& program) {
  if (Diagnostics faults = check(program.shape); !faults.empty()) return faults;
  if (Diagnostics faults = check_frame(program); !faults.empty()) return faults;
  return ProgramChecker(program).run();
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
