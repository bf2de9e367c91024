#include "sim/graph/transfers_deepspeed.hpp"

#include "sim/graph/transfers.hpp"
#include "sim/graph/transfers_writer.hpp"

namespace pipecast {
namespace {

constexpr std::string_view kName = "deepspeed";
using Instruction = DeepspeedInstruction;
using Step = std::vector<Instruction>;

Op op_of(OpKind kind, int stage, int microbatch) {
  Op op;
  op.kind = kind;
  op.stage = {stage};
  op.microbatch = {microbatch};
  return op;
}

/// One rank's steps; stage and rank are the same number.
class RankSteps {
 public:
  RankSteps(const Shape& shape, int rank)
      : ranks_(shape.ranks), microbatches_(shape.microbatches), rank_(rank) {}

  std::vector<Step> train() {
    std::vector<Step> steps;
    int previous = -1;
    const int total = 2 * (microbatches_ + ranks_ - 1);
    for (int t = 0; t < total; ++t) {
      const bool forward = t % 2 == rank_ % 2;
      const int current = forward ? forward_of(t) : backward_of(t);
      step_.clear();
      exchange(forward, current, previous);
      if (forward && reads_data()) load(current);
      compute(forward ? OpKind::Forward : OpKind::BackwardFull, current);
      if (t + 1 == total) finish();
      steps.push_back(step_);
      previous = current;
    }
    return steps;
  }

  /// Even ranks send before they receive, odd ones the other way round.
  std::vector<Step> inference() {
    std::vector<Step> steps;
    for (int t = 0; t < microbatches_ + ranks_ - 1; ++t) {
      const int current = t - rank_;
      step_.clear();
      if (reads_data()) load(current);
      if (rank_ % 2 == 0) send(false, current - 1);
      receive(false, current);
      if (rank_ % 2 != 0) send(false, current - 1);
      compute(OpKind::Forward, current);
      steps.push_back(step_);
    }
    return steps;
  }

 private:
  /// The microbatch of a step; out of range when the step is idle.
  int forward_of(int t) const { return t / 2 - rank_ / 2; }
  int backward_of(int t) const {
    return rank_ % 2 != 0 ? t / 2 - ranks_ + (rank_ + 1) / 2 : (t - 1) / 2 - ranks_ + 1 + rank_ / 2;
  }
  bool valid(int microbatch) const { return microbatch >= 0 && microbatch < microbatches_; }
  bool reads_data() const { return rank_ == 0 || rank_ + 1 == ranks_; }

  /// The result of the step before leaves now; blocking, in this order.
  void exchange(bool forward, int current, int previous) {
    if (forward) {
      send(true, previous);
      receive(false, current);
    } else {
      receive(true, current);
      send(false, previous);
    }
  }

  void send(bool gradient, int microbatch) {
    const bool has_peer = gradient ? rank_ > 0 : rank_ + 1 < ranks_;
    if (has_peer && valid(microbatch)) add(send_op({gradient, rank_, microbatch}));
  }
  void receive(bool gradient, int microbatch) {
    const bool has_peer = gradient ? rank_ + 1 < ranks_ : rank_ > 0;
    if (has_peer && valid(microbatch))
      add(receive_op({gradient, gradient ? rank_ + 1 : rank_ - 1, microbatch}));
  }
  void load(int microbatch) {
    if (valid(microbatch))
      step_.push_back(
          {Instruction::Kind::LoadMicrobatch, op_of(OpKind::Forward, rank_, microbatch)});
  }
  void compute(OpKind kind, int microbatch) {
    if (valid(microbatch)) add(op_of(kind, rank_, microbatch));
  }
  void finish() {
    step_.push_back({Instruction::Kind::ReduceTiedGrads, op_of(OpKind::ReduceGrad, rank_, -1)});
    add(op_of(OpKind::ReduceGrad, rank_, -1));
    add(op_of(OpKind::Optimizer, rank_, -1));
  }
  void add(const Op& op) { step_.push_back({Instruction::Kind::Operation, op}); }

  int ranks_;
  int microbatches_;
  int rank_;
  Step step_;
};

Program program_of(const DeepspeedSteps& steps, const Program& bare) {
  Program lowered = emptied(bare);
  for (std::size_t rank = 0; rank < steps.size(); ++rank)
    for (const Step& step : steps[rank])
      for (const Instruction& instruction : step)
        if (instruction.kind == Instruction::Kind::Operation)
          lowered.ranks[rank].push_back(instruction.op);
  return lowered;
}

std::string instruction_text(const Instruction& instruction) {
  const std::string stage = std::to_string(instruction.op.stage.value);
  switch (instruction.kind) {
    case Instruction::Kind::LoadMicrobatch:
      return stage + "LOAD" + std::to_string(instruction.op.microbatch.value);
    case Instruction::Kind::ReduceTiedGrads:
      return stage + "REDUCE_TIED_GRAD";
    case Instruction::Kind::Operation:
      break;
  }
  return instruction.op.kind == OpKind::Optimizer ? stage + "OPT" : op_text(instruction.op);
}

}  // namespace

Result<DeepspeedSteps> deepspeed_steps(const Program& program) {
  const Program bare = without_communication(program);
  if (bare.shape.chunks != 1 || !is_loop_placed(bare))
    return fail(not_lowered(kName, "its schedules have one stage on a rank"));
  DeepspeedSteps steps;
  for (int rank = 0; rank < bare.shape.ranks; ++rank) {
    RankSteps own(bare.shape, rank);
    steps.push_back(has_backward(bare) ? own.train() : own.inference());
  }
  auto same = if_same_order(program_of(steps, bare), bare, kName, "1f1b and forward-only");
  if (!same) return fail(std::move(same.error()));
  return steps;
}

std::string deepspeed_text(const DeepspeedSteps& steps) {
  std::string text;
  for (const std::vector<Step>& rank : steps) {
    for (std::size_t t = 0; t < rank.size(); ++t) {
      if (t > 0) text += ',';
      for (std::size_t i = 0; i < rank[t].size(); ++i)
        text += (i > 0 ? " " : "") + instruction_text(rank[t][i]);
    }
    text += '\n';
  }
  return text;
}

Result<Program> lower_deepspeed(const Program& program) {
  auto steps = deepspeed_steps(program);
  if (!steps) return fail(std::move(steps.error()));
  return program_of(*steps, program);
}

}  // namespace pipecast
