#include "schedules/passes.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "schedules/building.hpp"

namespace pipecast {
namespace {

bool stands_alone(const std::vector<Op>& ops, std::size_t position) {
  const bool ends_a_cell = position > 0 && ops[position - 1].joined;
  return !ops[position].joined && !ends_a_cell && ops[position].issue == Issue::Plain;
}

bool is_own_weight(const Op& input, const Op& weight) {
  return input.kind == OpKind::BackwardInput && weight.kind == OpKind::BackwardWeight &&
         input.stage == weight.stage && input.microbatch == weight.microbatch;
}

/// What a rank holds, and what operations change.
class Holding {
 public:
  Holding(const Workload& workload, ActivationLimit limit) : workload_(workload), limit_(limit) {}

  bool takes(const Op& forward) const {
    // A part in a million, so that sums of equal parts meet a limit that is their exact multiple.
    return held_ + change(forward) <= limit_.amount * (1 + 1e-6);
  }
  void apply(const Op& op) { held_ += change(op); }

 private:
  double change(const Op& op) const {
    const bool bytes = limit_.unit == ActivationLimit::Unit::HeldBytes;
    const StageBytes& stage = workload_.bytes[op.stage.at()];
    const double share = workload_.bytes_share(op.microbatch);
    const double whole = bytes ? stage.held_by_forward.value * share : 1;
    const double at_input = bytes ? stage.released_by_backward_input.value * share : 0;
    if (is_forward(op.kind)) return whole;
    if (op.kind == OpKind::BackwardFull) return -whole;
    if (op.kind == OpKind::BackwardInput) return -at_input;
    return op.kind == OpKind::BackwardWeight ? at_input - whole : 0;
  }

  const Workload& workload_;
  ActivationLimit limit_;
  double held_ = 0;
};

/// Runs all ranks in time, each through its list without the weight gradients, which it places
/// itself. A rank stops where it waits for an operation that has not run yet and is taken up again
/// when that has.
class WeightDelayer {
 public:
  /// Keep runs the list as it is: only its time is of interest.
  enum class Weights : std::uint8_t { Delay, Keep };

  WeightDelayer(const Program& program, const Workload& workload, Seconds delay,
                ActivationLimit limit, Weights weights = Weights::Delay)
      : weights_(weights),
        program_(program),
        workload_(workload),
        delay_s_(delay.value),
        result_(program),
        ranks_(program.ranks.size(), RankState{Holding(workload, limit)}),
        microbatches_(static_cast<std::size_t>(program.shape.microbatches)),
        ends_(2 * static_cast<std::size_t>(program.placement.stages) * microbatches_, kNotYet) {
    for (std::vector<Op>& ops : result_.ranks) ops.clear();
  }

  Result<Program> run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
        while (faults_.empty() && advance(rank)) moved = true;
      if (!faults_.empty()) return fail(std::move(faults_));
    }
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      if (ranks_[rank].position < program_.ranks[rank].size())
        return fail(infeasible("rank " + std::to_string(rank) + " can never run " +
                               cell_text(program_.ranks[rank], ranks_[rank].position)));
      while (has_pending(ranks_[rank])) put_weight(rank);
    }
    return std::move(result_);
  }

  /// When the last rank ends; after run().
  double makespan_s() const {
    double latest_s = 0;
    for (const RankState& state : ranks_) latest_s = std::max(latest_s, state.free_at_s);
    return latest_s;
  }

 private:
  static constexpr double kNotYet = std::numeric_limits<double>::infinity();

  struct RankState {
    Holding holding;
    std::size_t position = 0;  ///< in the old list
    double free_at_s = 0;
    std::vector<Op> weights{};  ///< pending from `first_weight` on, oldest first
    std::size_t first_weight = 0;
  };

  static bool has_pending(const RankState& state) {
    return state.first_weight < state.weights.size();
  }

  double& end_of(OpKind kind, Stage stage, Microbatch microbatch) {
    const std::size_t gradient = is_forward(kind) ? 0 : 1;
    return ends_[2 * (stage.at() * microbatches_ + microbatch.at()) + gradient];
  }

  /// When the data of an operation is there; `cell` holds what it is computed together with.
  double ready_at(const Op& op, std::span<const Op> cell) {
    const bool ahead = is_forward(op.kind);
    if (!ahead && !produces_input_gradient(op.kind)) return 0;
    const Stage from{op.stage.value + (ahead ? -1 : 1)};
    if (from.value < 0 || from.value >= program_.placement.stages) return 0;
    for (const Op& other : cell)
      if (other.stage == from && other.microbatch == op.microbatch &&
          is_forward(other.kind) == ahead)
        return 0;
    const bool apart = program_.placement.rank(from, op.microbatch) !=
                       program_.placement.rank(op.stage, op.microbatch);
    return end_of(op.kind, from, op.microbatch) + (apart ? delay_s_ : 0);
  }

  void put_weight(std::size_t rank) {
    RankState& state = ranks_[rank];
    const Op weight = state.weights[state.first_weight++];
    result_.ranks[rank].push_back(weight);
    state.free_at_s += cell_duration(workload_, std::span<const Op>(&weight, 1)).value;
    state.holding.apply(weight);
  }

  bool fits_before(const RankState& state, double start_s) const {
    const Op& weight = state.weights[state.first_weight];
    return state.free_at_s + cell_duration(workload_, std::span<const Op>(&weight, 1)).value <=
           start_s;
  }

  /// Weight gradients out of the way of a cell: those that fit into the wait for its data, then
  /// those whose memory it needs.
  bool make_room(std::size_t rank, std::span<const Op> cell, double ready_s) {
    RankState& state = ranks_[rank];
    while (has_pending(state) && fits_before(state, ready_s)) put_weight(rank);
    for (const Op& op : cell) {
      if (!is_forward(op.kind)) continue;
      while (!state.holding.takes(op) && has_pending(state)) put_weight(rank);
      if (state.holding.takes(op)) continue;
      faults_.push_back(infeasible(
          "rank " + std::to_string(rank) + " cannot hold " + op_text(op) + " within the limit",
          "raise the limit"));
      return false;
    }
    return true;
  }

  /// One cell of a rank; false when it is done, or waits for another rank.
  bool advance(std::size_t rank) {
    RankState& state = ranks_[rank];
    const std::vector<Op>& ops = program_.ranks[rank];
    if (state.position >= ops.size()) return false;
    const std::size_t size = cell_size(ops, state.position);
    const std::span<const Op> cell(ops.data() + state.position, size);
    const bool delays = weights_ == Weights::Delay;
    if (delays && size == 1 && cell[0].kind == OpKind::BackwardWeight) {
      ++state.position;
      return true;
    }
    double ready_s = 0;
    for (const Op& op : cell) ready_s = std::max(ready_s, ready_at(op, cell));
    if (ready_s == kNotYet) return false;
    if (delays && !make_room(rank, cell, ready_s)) return false;
    state.free_at_s = std::max(state.free_at_s, ready_s) + cell_duration(workload_, cell).value;
    for (const Op& op : cell) {
      result_.ranks[rank].push_back(op);
      state.holding.apply(op);
      if (is_forward(op.kind) || produces_input_gradient(op.kind))
        end_of(op.kind, op.stage, op.microbatch) = state.free_at_s;
      if (delays && op.kind == OpKind::BackwardInput)
        state.weights.push_back(
            make_op(OpKind::BackwardWeight, op.stage.value, op.microbatch.value));
    }
    state.position += size;
    return true;
  }

  Weights weights_;
  const Program& program_;
  const Workload& workload_;
  double delay_s_;
  Program result_;
  std::vector<RankState> ranks_;
  std::size_t microbatches_;
  std::vector<double> ends_;  ///< [stage · microbatches + microbatch][forward, gradient]
  Diagnostics faults_;
};

}  // namespace

Program merge_backward(const Program& program) {
  Program result = program;
  for (std::vector<Op>& ops : result.ranks) {
    const std::vector<Op> old = std::move(ops);
    ops.clear();
    for (std::size_t i = 0; i < old.size(); ++i) {
      ops.push_back(old[i]);
      if (i + 1 == old.size() || !is_own_weight(old[i], old[i + 1]) || !stands_alone(old, i) ||
          !stands_alone(old, i + 1))
        continue;
      ops.back().kind = OpKind::BackwardFull;
      ++i;
    }
  }
  return result;
}

Program split_backward(const Program& program) {
  Program result = program;
  for (std::vector<Op>& ops : result.ranks) {
    const std::vector<Op> old = std::move(ops);
    ops.clear();
    for (std::size_t i = 0; i < old.size(); ++i) {
      ops.push_back(old[i]);
      if (old[i].kind != OpKind::BackwardFull || !stands_alone(old, i)) continue;
      ops.back().kind = OpKind::BackwardInput;
      ops.push_back(old[i]);
      ops.back().kind = OpKind::BackwardWeight;
    }
  }
  return result;
}

Result<Program> delay_weight_gradient(const Program& program, const Workload& workload,
                                      Seconds delay, ActivationLimit limit) {
  if (has_communication(program))
    return fail(infeasible("weight gradients are delayed in a program of computations only",
                           "delay them before sends and receives are put in"));
  const Workload units = fitted(workload, program);
  if (Diagnostics faults = check(units, program); !faults.empty()) return fail(std::move(faults));
  WeightDelayer delayer(program, units, delay, limit);
  Result<Program> delayed = delayer.run();
  if (!delayed) return delayed;
  // The oldest gradient first is a rule of thumb: where it costs time, the given order stays.
  WeightDelayer given(program, units, delay, limit, WeightDelayer::Weights::Keep);
  if (const Result<Program> same = given.run(); !same) return same;
  return delayer.makespan_s() <= given.makespan_s() ? delayed : program;
}

}  // namespace pipecast
