#include "sim/study/measured_lags.hpp"

#include <algorithm>

namespace pipecast {

MeasuredIndex::MeasuredIndex(const MeasuredStep& step) : step_(step) {
  for (std::size_t rank = 0; rank < step.ranks.size(); ++rank)
    for (std::size_t i = 0; i < step.ranks[rank].ops.size(); ++i) {
      const MeasuredOp& op = step.ranks[rank].ops[i];
      places_[{op.kind, op.stage.value, op.microbatch.value}] = {rank, i};
      stages_ = std::max(stages_, op.stage.value + 1);
    }
}

const MeasuredIndex::Place* MeasuredIndex::producer(const MeasuredOp& op) const {
  const auto find = [&](OpKind kind, int stage) -> const Place* {
    const auto found = places_.find({kind, stage, op.microbatch.value});
    return found == places_.end() ? nullptr : &found->second;
  };
  if (is_forward(op.kind))
    return op.stage.value == 0 ? nullptr : find(OpKind::Forward, op.stage.value - 1);
  if (!produces_input_gradient(op.kind) || op.stage.value + 1 == stages_) return nullptr;
  const Place* whole = find(OpKind::BackwardFull, op.stage.value + 1);
  return whole != nullptr ? whole : find(OpKind::BackwardInput, op.stage.value + 1);
}

MeasuredLag MeasuredIndex::lag(std::size_t rank, std::size_t index) const {
  const std::vector<MeasuredOp>& ops = step_.ranks[rank].ops;
  const double begin = ops[index].begin_s;
  MeasuredLag lag{MeasuredLag::Cause::Start, begin, rank, index};
  double latest = 0;
  if (index > 0) {
    latest = ops[index - 1].end_s;
    lag = {MeasuredLag::Cause::SameRank, begin - latest, rank, index - 1};
  }
  for (std::size_t i = index; i == index || (i < ops.size() && ops[i - 1].joined); ++i) {
    const Place* place = producer(ops[i]);
    if (place == nullptr || place->first == rank) continue;
    double end = step_.ranks[place->first].ops[place->second].end_s;
    std::size_t last = place->second;
    while (step_.ranks[place->first].ops[last].joined) ++last;  // results leave after the pair
    end = step_.ranks[place->first].ops[last].end_s;
    if (end <= latest) continue;
    latest = end;
    lag = {MeasuredLag::Cause::Message, begin - end, place->first, last};
  }
  return lag;
}

}  // namespace pipecast
