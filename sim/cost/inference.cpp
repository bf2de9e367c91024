#include "sim/cost/inference.hpp"

#include <algorithm>
#include <cmath>
#include <string>

namespace pipecast {
namespace {

ServingStage stage_of(const ServingPlan& plan, int first_layer, int layers, bool first, bool last) {
  const TransformerModel& model = plan.model;
  const ParameterCounts counts = parameter_counts(model);
  const double tensor = plan.layout.tensor;
  ServingStage stage;
  for (int layer = first_layer; layer < first_layer + layers; ++layer) {
    const bool experts = is_expert_layer(model, layer);
    stage.weights += (counts.attention_per_layer +
                      (experts ? counts.router_per_layer + counts.shared_experts_per_layer
                               : counts.dense_feed_forward_per_layer)) /
                     tensor;
    if (experts) stage.expert_weights += counts.expert / tensor;
  }
  stage.experts = model.experts.count;
  stage.active_experts = model.experts.active;
  stage.active_weights = stage.weights + stage.expert_weights * stage.active_experts;
  stage.attention_width = layers * double{1} * (model.query_width() + model.value_width()) / tensor;
  const double shared =
      model.has_latent_attention() ? 1.0 : std::min<double>(tensor, model.key_value_heads);
  const double per_layer = model.has_latent_attention()
                               ? model.latent.key_value_rank + model.latent.rope_head_width
                               : 2.0 * model.key_value_heads * model.head_width;
  stage.cache_per_token = layers * per_layer * plan.cache_bytes / shared;
  stage.all_reduces = 2.0 * layers;
  const double table = double{1} * model.hidden * model.vocabulary / tensor;
  if (first) stage.embedding_weights = table;
  if (last) stage.head_weights = first && model.tied_embeddings ? 0 : table;
  return stage;
}

double weight_bytes(const ServingPlan& plan, const ServingStage& stage) {
  return plan.weight_bytes * stage.kept_elements();
}

/// Experts of a layer that at least one of `tokens` is sent to, balanced and independent.
double experts_touched(const ServingStage& stage, double tokens) {
  if (stage.experts == 0) return 0;
  const double missed = 1 - double{1} * stage.active_experts / stage.experts;
  return stage.experts * (1 - std::pow(missed, tokens));
}

}  // namespace

PassLoad& PassLoad::operator+=(const PassLoad& other) {
  prefill_tokens += other.prefill_tokens;
  prefill_pairs += other.prefill_pairs;
  prompts += other.prompts;
  decoding += other.decoding;
  context_tokens += other.context_tokens;
  return *this;
}

PassLoad prefill_load(int prompt_tokens) {
  const double tokens = prompt_tokens;
  return {tokens, tokens * (tokens + 1) / 2, 1, 0, 0};
}

PassLoad decode_load(int context_tokens) {
  return {0, 0, 0, 1, static_cast<double>(context_tokens)};
}

Result<ServingPlan> serving_plan(const TransformerModel& model, const ParallelLayout& layout,
                                 const ServingDevice& device, double weight_bytes_each,
                                 double cache_bytes) {
  if (Diagnostics faults = check(model); !faults.empty()) return fail(std::move(faults));
  if (Diagnostics faults = check(layout, model); !faults.empty()) return fail(std::move(faults));
  if (layout.pipeline > model.layers)
    return fail(infeasible(std::to_string(layout.pipeline) + " stages are more than the model's " +
                           std::to_string(model.layers) + " layers"));
  ServingPlan plan{model, layout, {}, device, weight_bytes_each, cache_bytes};
  int first_layer = 0;
  for (int stage = 0; stage < layout.pipeline; ++stage) {
    const int layers =
        model.layers / layout.pipeline + (stage < model.layers % layout.pipeline ? 1 : 0);
    plan.stages.push_back(
        stage_of(plan, first_layer, layers, stage == 0, stage + 1 == layout.pipeline));
    first_layer += layers;
    const Bytes kept{weight_bytes(plan, plan.stages.back())};
    if (device.memory.value > 0 && kept.value + device.workspace.value > device.memory.value)
      return fail(infeasible("stage " + std::to_string(stage) + " needs " + format(kept) +
                                 " for its weights and " + format(device.workspace) +
                                 " of workspace, a device has " + format(device.memory),
                             "more stages, a larger tensor group, or fewer bytes per weight"));
  }
  return plan;
}

Seconds pass_seconds(const ServingPlan& plan, std::size_t stage_index, const PassLoad& load) {
  const ServingStage& stage = plan.stages[stage_index];
  const ServingDevice& device = plan.device;
  const double tokens = load.tokens();
  if (tokens <= 0) return {};
  const double sampled = load.prompts + load.decoding;
  const double pairs = load.prefill_pairs + load.context_tokens;
  const double flops = 2 * stage.active_weights * tokens + 2 * stage.head_weights * sampled +
                       2 * stage.attention_width * pairs;
  const double elements = stage.weights + stage.expert_weights * experts_touched(stage, tokens) +
                          (sampled > 0 ? stage.head_weights : 0);
  const double bytes = plan.weight_bytes * elements + stage.cache_per_token * load.context_tokens;
  double seconds = std::max(flops / device.compute.value, bytes / device.memory_bandwidth.value);
  const double tensor = plan.layout.tensor;
  if (tensor > 1) {
    const double reduced = plan.weight_bytes > 0 ? 2 * tokens * plan.model.hidden : 0;
    seconds += stage.all_reduces * device.tensor_latency.value;
    if (device.tensor_bandwidth.value > 0)
      seconds +=
          stage.all_reduces * 2 * (tensor - 1) / tensor * reduced / device.tensor_bandwidth.value;
  }
  return {seconds + device.stage_overhead.value};
}

Seconds hop_seconds(const ServingPlan& plan, double tokens) {
  const ServingDevice& device = plan.device;
  const double bytes = 2 * tokens * plan.model.hidden / plan.layout.tensor;
  const double wire = device.stage_bandwidth.value > 0 ? bytes / device.stage_bandwidth.value : 0.0;
  return {device.stage_latency.value + wire};
}

double cache_capacity_tokens(const ServingPlan& plan) {
  if (plan.device.memory.value <= 0) return 0;
  double tokens = INFINITY;
  for (const ServingStage& stage : plan.stages) {
    const double room =
        plan.device.memory.value - plan.device.workspace.value - weight_bytes(plan, stage);
    if (stage.cache_per_token > 0) tokens = std::min(tokens, room / stage.cache_per_token);
  }
  return std::isfinite(tokens) ? std::floor(std::max(0.0, tokens)) : 0;
}

DecodePoint decode_point(const ServingPlan& plan, int batch, int groups, int context) {
  DecodePoint point{batch, groups};
  PassLoad load;
  load.decoding = batch;
  load.context_tokens = double{1} * batch * context;
  double round_s = 0;
  double slowest_s = 0;
  double most_flops = 0;
  double cache_per_token = 0;
  for (std::size_t stage = 0; stage < plan.stages.size(); ++stage) {
    const double pass = pass_seconds(plan, stage, load).value;
    const bool last = stage + 1 == plan.stages.size();
    round_s += pass + hop_seconds(plan, last ? 0 : batch).value;
    slowest_s = std::max(slowest_s, pass);
    const ServingStage& each = plan.stages[stage];
    most_flops += 2 * (each.active_weights + each.head_weights) * batch +
                  2 * each.attention_width * load.context_tokens;
    cache_per_token = std::max(cache_per_token, each.cache_per_token);
  }
  point.step_s = std::max(groups * slowest_s, round_s);
  point.tokens_per_s = double{1} * groups * batch / point.step_s;
  point.utilization = groups * slowest_s / point.step_s;
  point.model_flops_share =
      groups * most_flops /
      (point.step_s * static_cast<double>(plan.stages.size()) * plan.device.compute.value);
  point.cache_bytes = cache_per_token * double{1} * groups * batch * context;
  const int limit = largest_batch(plan, groups, context);
  point.fits = limit < 0 || batch <= limit;
  return point;
}

int largest_batch(const ServingPlan& plan, int groups, int context) {
  if (plan.device.memory.value <= 0) return -1;
  const double sequences =
      cache_capacity_tokens(plan) / (double{1} * std::max(1, groups) * std::max(1, context));
  return static_cast<int>(std::min(sequences, 1e9));
}

}  // namespace pipecast
