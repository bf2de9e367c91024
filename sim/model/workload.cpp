#include "sim/model/workload.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "sim/model/pass_parts.hpp"

namespace pipecast {
namespace {

bool valid(double number) { return std::isfinite(number) && number >= 0; }

bool valid(const StageCost& cost) {
  return valid(cost.forward.value) && valid(cost.backward_input.value) &&
         valid(cost.backward_weight.value);
}

bool valid(const StageBytes& bytes) {
  return valid(bytes.held_by_forward.value) && valid(bytes.released_by_backward_input.value) &&
         valid(bytes.message_forward.value) && valid(bytes.message_backward.value) &&
         valid(bytes.parameters.value) && valid(bytes.gradients.value) &&
         valid(bytes.optimizer.value);
}

bool valid(const StageSync& sync) {
  return valid(sync.gradients.value) && valid(sync.parameters.value) &&
         valid(sync.expert_gradients.value) && valid(sync.expert_parameters.value) &&
         valid(sync.optimizer.value) && sync.expert_gradients <= sync.gradients &&
         sync.expert_parameters <= sync.parameters;
}

Diagnostics check_mixed(const Workload& workload) {
  const auto stages = static_cast<std::size_t>(workload.stages);
  const auto wrong = [&](const std::vector<Seconds>& seconds) {
    return seconds.size() != stages ||
           !std::all_of(seconds.begin(), seconds.end(), [](Seconds s) { return valid(s.value); });
  };
  if (!workload.stage_operation.empty() && wrong(workload.stage_operation))
    return {input_error("an operation's overhead is not given for every stage, or not valid")};
  for (const CostsOn& own : workload.on)
    if (own.costs.size() != workload.costs.size() || wrong(own.optimizer) ||
        !valid(own.operation.value) ||
        !std::all_of(own.costs.begin(), own.costs.end(),
                     [](const StageCost& cost) { return valid(cost); }))
      return {input_error("costs on " + own.accelerator +
                          " are not those of every stage, or are "
                          "not valid")};
  return {};
}

Diagnostics check_sync(const Workload& workload) {
  if (workload.sync.empty()) return {};
  const auto stages = static_cast<std::size_t>(workload.stages);
  if (workload.sync.size() != stages)
    return {input_error("what is exchanged with the replicas is given for " +
                        std::to_string(workload.sync.size()) + " of " + std::to_string(stages) +
                        " stages")};
  for (std::size_t stage = 0; stage < stages; ++stage)
    if (!valid(workload.sync[stage]))
      return {input_error("stage " + std::to_string(stage) +
                          ": what is exchanged with the replicas is negative, not finite, or less "
                          "than the part of the experts")};
  return {};
}

}  // namespace

namespace {

/// Seconds of one stage on devices of an accelerator.
void take(Workload& workload, std::size_t stage, const CostsOn& own) {
  const std::size_t columns =
      workload.varies_by_microbatch() ? static_cast<std::size_t>(workload.microbatches) : 1;
  for (std::size_t at = stage * columns; at < (stage + 1) * columns; ++at)
    workload.costs[at] = own.costs[at];
  workload.stage_operation.resize(static_cast<std::size_t>(workload.stages));
  workload.stage_operation[stage] = own.operation;
  if (stage < workload.sync.size()) workload.sync[stage].optimizer = own.optimizer[stage];
}

const CostsOn* costs_on(const Workload& workload, std::string_view accelerator) {
  for (const CostsOn& own : workload.on)
    if (own.accelerator == accelerator) return &own;
  return nullptr;
}

}  // namespace

Workload on_accelerator(const Workload& workload, std::string_view accelerator) {
  Workload result = workload;
  if (const CostsOn* own = costs_on(workload, accelerator); own != nullptr)
    for (std::size_t stage = 0; stage < static_cast<std::size_t>(workload.stages); ++stage)
      take(result, stage, *own);
  return result;
}

Workload settled(const Workload& workload, const Placement& placement,
                 std::span<const std::string> accelerators) {
  Workload result = workload;
  for (std::size_t stage = 0; stage < static_cast<std::size_t>(workload.stages); ++stage)
    if (const CostsOn* own = costs_on(workload, accelerators[placement.rank_of[stage].at()]);
        own != nullptr)
      take(result, stage, *own);
  return result;
}

Workload uniform_workload(const Shape& shape, StageCost cost) {
  Workload workload;
  workload.stages = shape.stages();
  workload.microbatches = shape.microbatches;
  workload.costs.assign(static_cast<std::size_t>(workload.stages), cost);
  workload.bytes.assign(static_cast<std::size_t>(workload.stages), StageBytes{});
  return workload;
}

Diagnostics check(const Workload& workload) {
  const auto stages = static_cast<std::size_t>(workload.stages);
  const auto cells = stages * static_cast<std::size_t>(workload.microbatches);
  if (workload.costs.size() != stages && workload.costs.size() != cells)
    return {input_error("costs are given for " + std::to_string(workload.costs.size()) +
                        " entries; there are " + std::to_string(stages) + " stages and " +
                        std::to_string(cells) + " pairs of stage and microbatch")};
  if (workload.bytes.size() != stages)
    return {input_error("bytes are given for " + std::to_string(workload.bytes.size()) + " of " +
                        std::to_string(stages) + " stages")};
  Diagnostics faults = check_sync(workload);
  if (Diagnostics inside = check_group_exchanges(workload); !inside.empty())
    faults.insert(faults.end(), inside.begin(), inside.end());
  if (Diagnostics mixed = check_mixed(workload); !mixed.empty())
    faults.insert(faults.end(), mixed.begin(), mixed.end());
  for (std::size_t i = 0; i < workload.costs.size(); ++i)
    if (!valid(workload.costs[i]))
      faults.push_back(
          input_error("cost entry " + std::to_string(i) + " is negative or not finite"));
  for (std::size_t stage = 0; stage < stages; ++stage) {
    const StageBytes& bytes = workload.bytes[stage];
    const std::string where = "stage " + std::to_string(stage);
    if (!valid(bytes)) faults.push_back(input_error(where + ": bytes are negative or not finite"));
    if (bytes.released_by_backward_input > bytes.held_by_forward)
      faults.push_back(input_error(where + ": the input gradient releases " +
                                   format(bytes.released_by_backward_input) +
                                   ", the forward holds only " + format(bytes.held_by_forward)));
  }
  if (!valid(workload.overheads.operation.value) || !valid(workload.overheads.gap.value) ||
      !valid(workload.overheads.message.value))
    faults.push_back(input_error("an overhead is negative or not finite"));
  return faults;
}

Diagnostics check(const Workload& workload, const Program& program) {
  if (Diagnostics faults = check(workload); !faults.empty()) return faults;
  Diagnostics faults;
  if (workload.stages != program.placement.stages)
    faults.push_back(input_error("costs are for " + std::to_string(workload.stages) +
                                 " stages, the schedule has " +
                                 std::to_string(program.placement.stages)));
  const int per_step = program.shape.microbatches / (program.cuts.count() * program.steps);
  if (workload.varies_by_microbatch() && workload.microbatches != per_step)
    faults.push_back(input_error("costs are for " + std::to_string(workload.microbatches) +
                                 " microbatches, the schedule has " + std::to_string(per_step)));
  if (workload.cuts != program.cuts)
    faults.push_back(input_error("the costs are not cut along the sequence as the schedule is"));
  if (!workload.backward_is_split && has_split_backward(program))
    faults.push_back(
        input_error("the schedule splits the backward, the costs give only the whole of it",
                    "give backward_input and backward_weight instead of backward"));
  return faults;
}

Workload fitted(const Workload& workload, const Program& program) {
  Workload result = workload;
  result.cuts = program.cuts;
  return result;
}

namespace {

/// Of the whole microbatch.
Seconds whole_duration(const Workload& workload, const Op& op) {
  const StageCost& cost = workload.cost(op.stage, op.microbatch);
  return pass_of(workload, op, cost.forward, cost.backward_input, cost.backward_weight);
}

}  // namespace

Seconds duration(const Workload& workload, const Op& op) {
  const Seconds whole = whole_duration(workload, op);
  return workload.cuts.seconds.empty() ? whole : whole * workload.seconds_share(op.microbatch);
}

Seconds cell_duration(const Workload& workload, std::span<const Op> cell) {
  Seconds total;
  for (const Op& op : cell) total += duration(workload, op);
  if (cell.size() > 1) {
    switch (workload.overlap.rule) {
      case OverlapCost::Rule::Sum:
        break;
      case OverlapCost::Rule::Ratio:
        total = total * workload.overlap.value;
        break;
      case OverlapCost::Rule::Given:
        total = Seconds{workload.overlap.value};
        break;
    }
  }
  if (!workload.stage_operation.empty()) total += workload.stage_operation[cell.front().stage.at()];
  return total + workload.overheads.operation;
}

}  // namespace pipecast
