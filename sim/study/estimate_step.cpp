#include "sim/study/estimate_step.hpp"

#include <algorithm>

namespace pipecast {
namespace {

/// All passes of a microbatch over all stages, recomputation apart.
struct WorkSeconds {
  PassSeconds once;
  PassSeconds again;
};

WorkSeconds work_of(const ModelRun& model) {
  WorkSeconds work;
  for (const StageDerivation& stage : model.derivation.stages) {
    work.once += stage.seconds.forward + stage.seconds.input + stage.seconds.weight;
    work.again += stage.seconds.recompute;
  }
  return work;
}

/// Without what lies before the first and after the last operation. Where the update does not
/// wait for all ranks, each rank's next step follows its last operation; of several steps the
/// program shows how they follow each other.
double pipeline_seconds(const ModelRun& model, const Summary& summary, const StepEnds& ends) {
  if (model.planned.plan.update_barrier || summary.steps > 1) return summary.step_s - ends.total();
  double longest = 0;
  for (const RankSummary& rank : summary.ranks)
    longest = std::max(longest, rank.span_s + rank.exposed_collectives_s + rank.optimizer_s);
  return longest - ends.total();
}

double mean_busy(const Summary& summary) {
  double busy = 0;
  for (const RankSummary& rank : summary.ranks) busy += rank.busy_s;
  return summary.ranks.empty() ? 0 : busy / static_cast<double>(summary.ranks.size());
}

/// Work of the derived model, per rank and step; `left` is the busy time it does not explain.
void add_work(const ModelRun& model, double per_rank, double busy, double ideal,
              std::vector<WaterfallPart>& parts) {
  double explained = ideal;
  const auto add = [&](const char* key, double seconds, const char* meaning) {
    parts.push_back({key, seconds, meaning});
    explained += seconds;
  };
  if (!model.measured_costs) {
    const auto [once, again] = work_of(model);
    add("matmul", per_rank * (once.matmul_s + once.attention_s) - ideal,
        "matrix products and attention beyond the ideal");
    add("recompute", per_rank * again.total(), "activations computed again");
    add("memory_bound", per_rank * once.memory_s, "norms, activation functions, casts, softmax");
    add("launch", per_rank * once.launch_s, "gaps between kernels");
    add("tensor_communication", per_rank * once.tensor_s, "exposed, inside tensor groups");
    add("context_communication", per_rank * once.context_s, "exposed, inside context groups");
    add("expert_communication", per_rank * once.expert_s, "exposed, inside expert groups");
    add("shard_communication", per_rank * once.shard_s, "exposed, of sharded weights");
  }
  parts.push_back({model.measured_costs ? "work" : "overheads", busy - explained,
                   model.measured_costs ? "measured work beyond the ideal"
                                        : "runtime overheads, slow devices, overlapped pairs"});
}

}  // namespace

StepEstimate estimate_step(const ModelRun& model, const Program& program, const Summary& summary,
                           const StepEnds& ends) {
  const Derivation& derivation = model.derivation;
  StepEstimate estimate;
  estimate.devices = model.planned.plan.layout.devices();
  const double machine = derivation.peak_flops;
  const double ideal = derivation.model_flops / machine;
  const double steps = std::max(1, summary.steps);
  const double busy = mean_busy(summary) / steps;
  const double busiest = summary.ideal_s / steps;
  auto& parts = estimate.waterfall;
  parts.push_back({"ideal", ideal, "the model's FLOPs at the 16-bit peak of all devices"});
  const double per_rank = double{1} * program.shape.microbatches / program.shape.ranks;
  add_work(model, per_rank, busy, ideal, parts);
  parts.push_back({"imbalance", busiest - busy, "what the busiest rank has above the mean"});
  parts.push_back({"bubble", pipeline_seconds(model, summary, ends) - busiest,
                   "waiting: bubble and pipeline transfers"});
  parts.push_back({"gradients", ends.reduction_s, "gradient reduction not hidden"});
  parts.push_back({"optimizer", ends.update_s, "update of the weights"});
  parts.push_back({"parameters", ends.first_gather_s + ends.last_gather_s,
                   "gathering updated weights, not hidden"});
  for (const WaterfallPart& part : parts) estimate.step_s += part.seconds;
  estimate.tokens_per_s = derivation.tokens / estimate.step_s;
  estimate.tokens_per_s_per_device = estimate.tokens_per_s / estimate.devices;
  estimate.model_flops_utilization = derivation.model_flops / machine / estimate.step_s;
  estimate.hardware_flops_utilization = derivation.hardware_flops / machine / estimate.step_s;
  estimate.tflops_per_device = derivation.model_flops / estimate.step_s / estimate.devices / 1e12;
  return estimate;
}

}  // namespace pipecast
