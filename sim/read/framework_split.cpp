#include "sim/read/framework_split.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace pipecast {
namespace {

/// `units` over `stages`, the first ones one more; what the ends take is subtracted.
std::vector<StageLayers> first_ones_more(const TransformerModel& model, int stages, int first_units,
                                         int last_units) {
  const int units = model.layers + first_units + last_units;
  std::vector<StageLayers> result(static_cast<std::size_t>(stages));
  for (int stage = 0; stage < stages; ++stage)
    result[static_cast<std::size_t>(stage)].layers =
        units / stages + (stage < units % stages ? 1 : 0);
  result.front().layers -= first_units;
  result.back().layers -= last_units;
  result.front().embedding = true;
  result.back().head = true;
  result.back().mtp = model.mtp_layers;
  return result;
}

Diagnostic too_many_stages(const TransformerModel& model, int stages, int units) {
  return infeasible(fmt::format("{} stages are more than the model's {} layers{}", stages,
                                model.layers, units > 0 ? " with embedding and head" : ""));
}

double parameters_of(const TransformerModel& model, const ParameterCounts& counts, int layer) {
  const double attention = counts.attention_per_layer + counts.norms_per_layer;
  if (!is_expert_layer(model, layer)) return attention + counts.dense_feed_forward_per_layer;
  return attention + counts.router_per_layer + counts.shared_experts_per_layer +
         counts.expert * model.experts.count;
}

}  // namespace

Result<std::vector<StageLayers>> torchtitan_stages(const TransformerModel& model, int stages,
                                                   int embedding_units, int head_units) {
  const int units = model.layers + embedding_units + head_units;
  if (stages > units) return fail(too_many_stages(model, stages, embedding_units + head_units));
  const int each = units / stages;
  if (stages > 1 && std::max(embedding_units, head_units) > each)
    return fail(infeasible(
        fmt::format("the ends count as {} and {} layers, a stage has {}", embedding_units,
                    head_units, each),
        "make pipeline_parallel_first_stage_less_layers and …_last_stage_less_layers smaller"));
  return first_ones_more(model, stages, embedding_units, head_units);
}

Result<std::vector<StageLayers>> deepspeed_stages(const TransformerModel& model, int stages,
                                                  std::string_view method) {
  const int ends = method == "uniform" ? 1 : 0;
  if (stages > model.layers + 2 * ends) return fail(too_many_stages(model, stages, 2 * ends));
  if (method == "uniform" || method.starts_with("type:"))
    return first_ones_more(model, stages, ends, ends);
  const ParameterCounts counts = parameter_counts(model);
  std::vector<double> layers;
  for (int layer = 0; layer < model.layers; ++layer)
    layers.push_back(parameters_of(model, counts, layer));
  // A head that is tied to the embedding is a layer with the embedding's weights.
  const double head = double{1} * model.hidden * model.vocabulary + counts.final_norm;
  return balanced_split({std::move(layers), counts.embedding, head}, model.mtp_layers, stages);
}

}  // namespace pipecast
