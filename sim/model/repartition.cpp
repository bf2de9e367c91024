#include "sim/model/repartition.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace pipecast {
namespace {

/// Old stage `stage` gives `share` of itself to a new stage.
struct Piece {
  std::size_t stage;
  double share;
};

/// Boundaries are compared as integers in units of 1 ÷ (old · new), so equal cuts stay exact.
std::vector<Piece> pieces_of(std::int64_t part, std::int64_t parts, std::int64_t old_parts) {
  const std::int64_t begin = part * old_parts;
  const std::int64_t end = begin + old_parts;
  std::vector<Piece> pieces;
  for (std::int64_t stage = begin / parts; stage * parts < end; ++stage) {
    const std::int64_t overlap =
        std::min(end, (stage + 1) * parts) - std::max(begin, stage * parts);
    pieces.push_back({static_cast<std::size_t>(stage),
                      static_cast<double>(overlap) / static_cast<double>(parts)});
  }
  return pieces;
}

void add(StageCost& to, const StageCost& from, double share) {
  to.forward += from.forward * share;
  to.backward_input += from.backward_input * share;
  to.backward_weight += from.backward_weight * share;
}

void add(StageBytes& to, const StageBytes& from, double share) {
  to.held_by_forward += from.held_by_forward * share;
  to.released_by_backward_input += from.released_by_backward_input * share;
  to.parameters += from.parameters * share;
  to.gradients += from.gradients * share;
  to.optimizer += from.optimizer * share;
}

/// Whole bytes, so that what is allocated and freed cancels exactly.
void round_bytes(StageBytes& bytes) {
  for (Bytes* amount : {&bytes.held_by_forward, &bytes.released_by_backward_input,
                        &bytes.parameters, &bytes.gradients, &bytes.optimizer})
    amount->value = std::round(amount->value);
  bytes.released_by_backward_input =
      std::min(bytes.released_by_backward_input, bytes.held_by_forward);
}

std::vector<StageCost> cut_anew(const std::vector<StageCost>& costs, std::size_t columns,
                                int stages, int before) {
  std::vector<StageCost> result(static_cast<std::size_t>(stages) * columns);
  for (int stage = 0; stage < stages; ++stage)
    for (const Piece& piece : pieces_of(stage, stages, before))
      for (std::size_t column = 0; column < columns; ++column)
        add(result[static_cast<std::size_t>(stage) * columns + column],
            costs[piece.stage * columns + column], piece.share);
  return result;
}

std::vector<Seconds> cut_anew(const std::vector<Seconds>& seconds, int stages, int before) {
  std::vector<Seconds> result(static_cast<std::size_t>(stages));
  for (int stage = 0; stage < stages; ++stage)
    for (const Piece& piece : pieces_of(stage, stages, before))
      result[static_cast<std::size_t>(stage)] += seconds[piece.stage] * piece.share;
  return result;
}

}  // namespace

Workload repartition(const Workload& workload, int stages) {
  if (stages == workload.stages) return workload;
  Workload result = workload;
  result.stages = stages;
  const std::size_t columns =
      workload.varies_by_microbatch() ? static_cast<std::size_t>(workload.microbatches) : 1;
  result.costs = cut_anew(workload.costs, columns, stages, workload.stages);
  for (CostsOn& own : result.on) {
    own.costs = cut_anew(own.costs, columns, stages, workload.stages);
    own.optimizer = cut_anew(own.optimizer, stages, workload.stages);
  }
  if (!workload.stage_operation.empty())
    for (int stage = 0; stage < stages; ++stage) {
      const std::size_t first = pieces_of(stage, stages, workload.stages).front().stage;
      result.stage_operation.resize(static_cast<std::size_t>(stages));
      result.stage_operation[static_cast<std::size_t>(stage)] = workload.stage_operation[first];
    }
  result.bytes.assign(static_cast<std::size_t>(stages), {});
  for (int stage = 0; stage < stages; ++stage) {
    const auto target = static_cast<std::size_t>(stage);
    const std::vector<Piece> pieces = pieces_of(stage, stages, workload.stages);
    for (const Piece& piece : pieces)
      add(result.bytes[target], workload.bytes[piece.stage], piece.share);
    round_bytes(result.bytes[target]);
    result.bytes[target].message_forward = workload.bytes[pieces.back().stage].message_forward;
    result.bytes[target].message_backward = workload.bytes[pieces.front().stage].message_backward;
  }
  return result;
}

}  // namespace pipecast
