#include "sim/cost/transformer.hpp"

namespace pipecast {
namespace {

double norm_parameters(const TransformerModel& model, double width) {
  return model.norm == Norm::LayerNorm ? 2 * width : width;
}

double bias(bool present, double width) { return present ? width : 0; }

double grouped_attention(const TransformerModel& model) {
  const double hidden = model.hidden;
  const double query = model.query_width();
  const double key_value = 2.0 * model.key_value_heads * model.head_width;
  const bool qkv = model.linear_bias || model.qkv_bias;
  const double norms = model.query_key_norm ? 2.0 * norm_parameters(model, model.head_width) : 0;
  return hidden * (query + key_value) + bias(qkv, query + key_value) + query * hidden +
         bias(model.linear_bias || model.attention_output_bias, hidden) + norms;
}

double latent_attention(const TransformerModel& model) {
  const double hidden = model.hidden;
  const LatentAttention& latent = model.latent;
  const double query_width = model.query_width();
  const double query = latent.query_rank > 0 ? hidden * latent.query_rank +
                                                   norm_parameters(model, latent.query_rank) +
                                                   latent.query_rank * query_width
                                             : hidden * query_width;
  const double down = hidden * (latent.key_value_rank + latent.rope_head_width) +
                      norm_parameters(model, latent.key_value_rank);
  const double up = double{1} * latent.key_value_rank * model.heads *
                    (latent.nope_head_width + latent.value_head_width);
  return query + down + up + hidden * model.value_width();
}

double feed_forward(const TransformerModel& model, double width) {
  const double ups = model.gated ? 2 : 1;
  return (ups + 1) * model.hidden * width + bias(model.linear_bias, ups * width + model.hidden);
}

double router(const TransformerModel& model) {
  if (!model.has_experts()) return 0;
  return double{1} * model.hidden * model.experts.count +
         bias(model.experts.router_bias, model.experts.count);
}

double learned_positions(const TransformerModel& model) {
  return model.position == Position::Learned ? double{1} * model.max_position * model.hidden : 0;
}

double dense_layers(const TransformerModel& model) { return model.layers - expert_layers(model); }

/// Feed-forward parameters of an expert layer when each token passes `experts` of them.
double expert_layer(const TransformerModel& model, const ParameterCounts& counts, int experts) {
  return model.has_experts()
             ? counts.router_per_layer + counts.expert * experts + counts.shared_experts_per_layer
             : 0;
}

double encoder_tokens(const Encoder& encoder) {
  const double width = encoder.hidden;
  return width * encoder.token_values + width + width * encoder.tokens;
}

double encoder_connector(const TransformerModel& model) {
  const double width = model.encoder.hidden;
  const double into = width * model.encoder.merge * model.hidden + model.hidden;
  const double onto = double{1} * model.hidden * model.hidden + model.hidden;
  return 2 * width + into + onto;
}

double encoder_layer(const TransformerModel& model) {
  const TransformerModel encoder = encoder_model(model);
  return grouped_attention(encoder) + 2 * norm_parameters(encoder, encoder.hidden) +
         feed_forward(encoder, encoder.feed_forward);
}

/// Forward and backward of the encoder for one sequence, without embedding and norms.
double encoder_flops(const TransformerModel& model) {
  const Encoder& encoder = model.encoder;
  const TransformerModel inner = encoder_model(model);
  const double matrices =
      encoder.layers * (grouped_attention(inner) + feed_forward(inner, inner.feed_forward)) +
      double{1} * encoder.hidden * encoder.token_values;
  const double attention = 12.0 * encoder.layers * encoder.tokens * encoder.hidden;
  const double connector =
      double{1} * model.hidden * (encoder.hidden * encoder.merge + model.hidden);
  return encoder.tokens * (6 * matrices + attention + 6 * connector / encoder.merge);
}

void require(Diagnostics& faults, bool holds, const char* sentence) {
  if (!holds) faults.push_back(input_error(sentence));
}

void check_encoder(Diagnostics& faults, const Encoder& encoder) {
  require(faults, encoder.layers > 0 && encoder.layers <= 4096,
          "encoder layers must be from 1 to 4096");
  require(faults, encoder.hidden > 0 && encoder.heads > 0 && encoder.feed_forward > 0,
          "hidden, heads and feed_forward of the encoder must be greater than 0");
  require(faults, encoder.heads > 0 && encoder.hidden % encoder.heads == 0,
          "the encoder's hidden must be a multiple of its heads");
  require(faults, encoder.tokens > 0 && encoder.token_values > 0 && encoder.merge > 0,
          "tokens, token_values and merge of the encoder must be greater than 0");
}

}  // namespace

Diagnostics check(const TransformerModel& model) {
  Diagnostics faults;
  require(faults, model.layers > 0 && model.layers <= 4096, "layers must be from 1 to 4096");
  require(faults,
          model.hidden > 0 && model.heads > 0 && model.head_width > 0 && model.feed_forward > 0,
          "hidden, heads, head_width and feed_forward must be greater than 0");
  require(faults, model.vocabulary > 0 && model.max_position > 0,
          "vocabulary and max_position must be greater than 0");
  if (model.has_latent_attention())
    require(faults, model.latent.nope_head_width > 0 && model.latent.value_head_width > 0,
            "latent attention needs its head widths");
  else
    require(faults, model.key_value_heads > 0 && model.heads % model.key_value_heads == 0,
            "heads must be a multiple of key_value_heads");
  require(faults, model.mtp_layers >= 0, "mtp_layers cannot be negative");
  if (model.encoder != Encoder{}) check_encoder(faults, model.encoder);
  if (!model.has_experts()) return faults;
  require(faults, model.experts.active > 0 && model.experts.active <= model.experts.count,
          "active experts must be from 1 to the number of experts");
  require(faults, model.experts.width > 0, "experts need a width");
  require(faults,
          model.experts.dense_layers_first >= 0 && model.experts.dense_layers_first <= model.layers,
          "dense_layers_first must be from 0 to the number of layers");
  require(faults,
          model.experts.every > 0 && model.experts.offset >= 0 &&
              model.experts.offset < model.experts.every,
          "experts: every must be at least 1 and offset from 0 to every − 1");
  return faults;
}

ParameterCounts parameter_counts(const TransformerModel& model) {
  const double hidden = model.hidden;
  ParameterCounts counts;
  counts.embedding = hidden * model.vocabulary + learned_positions(model) +
                     (model.embedding_norm ? norm_parameters(model, hidden) : 0);
  counts.attention_per_layer =
      model.has_latent_attention() ? latent_attention(model) : grouped_attention(model);
  counts.norms_per_layer = 2 * norm_parameters(model, hidden);
  counts.dense_feed_forward_per_layer = feed_forward(model, model.feed_forward);
  counts.router_per_layer = router(model);
  counts.expert = model.has_experts() ? feed_forward(model, model.experts.width) : 0;
  if (model.experts.shared > 0)
    counts.shared_experts_per_layer =
        feed_forward(model, double{1} * model.experts.width * model.experts.shared) +
        (model.experts.shared_gate ? hidden : 0);
  counts.final_norm = norm_parameters(model, hidden);
  counts.head = model.tied_embeddings ? 0 : hidden * model.vocabulary;
  const double last_feed_forward = model.has_experts()
                                       ? expert_layer(model, counts, model.experts.count)
                                       : counts.dense_feed_forward_per_layer;
  if (model.has_encoder()) {
    counts.encoder_per_layer = encoder_layer(model);
    counts.encoder_tokens = encoder_tokens(model.encoder);
    counts.encoder_connector = encoder_connector(model);
  }
  counts.mtp_per_module = counts.attention_per_layer + counts.norms_per_layer + last_feed_forward +
                          2 * hidden * hidden + 3 * norm_parameters(model, hidden);
  return counts;
}

bool is_expert_layer(const TransformerModel& model, int layer) {
  const Experts& experts = model.experts;
  return model.has_experts() && layer >= experts.dense_layers_first &&
         layer % experts.every == experts.offset;
}

int expert_layers(const TransformerModel& model) {
  if (!model.has_experts()) return 0;
  if (model.experts.every == 1) return model.layers - model.experts.dense_layers_first;
  int count = 0;
  for (int layer = 0; layer < model.layers; ++layer) count += is_expert_layer(model, layer) ? 1 : 0;
  return count;
}

TransformerModel encoder_model(const TransformerModel& model) {
  TransformerModel inner;
  inner.name = model.name + " encoder";
  inner.layers = model.encoder.layers;
  inner.hidden = model.encoder.hidden;
  inner.heads = inner.key_value_heads = model.encoder.heads;
  inner.head_width = model.encoder.hidden / model.encoder.heads;
  inner.feed_forward = model.encoder.feed_forward;
  inner.max_position = model.encoder.tokens;
  inner.norm = Norm::LayerNorm;
  inner.position = Position::Learned;
  inner.gated = model.encoder.gated;
  inner.linear_bias = true;
  inner.causal = false;
  return inner;
}

double total_parameters(const TransformerModel& model) {
  const ParameterCounts counts = parameter_counts(model);
  return counts.embedding + counts.head + counts.final_norm +
         model.layers * (counts.attention_per_layer + counts.norms_per_layer) +
         dense_layers(model) * counts.dense_feed_forward_per_layer +
         expert_layers(model) * expert_layer(model, counts, model.experts.count) +
         model.encoder.layers * counts.encoder_per_layer + counts.encoder_tokens +
         counts.encoder_connector;
}

double active_parameters(const TransformerModel& model) {
  const double idle_experts = model.experts.count - model.experts.active;
  return total_parameters(model) -
         expert_layers(model) * idle_experts * parameter_counts(model).expert;
}

double model_flops_per_token(const TransformerModel& model, int sequence, CausalCredit credit) {
  const ParameterCounts counts = parameter_counts(model);
  const double matrices = model.layers * counts.attention_per_layer +
                          dense_layers(model) * counts.dense_feed_forward_per_layer +
                          expert_layers(model) * expert_layer(model, counts, model.experts.active) +
                          double{1} * model.hidden * model.vocabulary;
  const double attention =
      6.0 * model.layers * sequence * (model.query_width() + model.value_width());
  const double decoder = 6 * matrices + (credit == CausalCredit::Half ? attention / 2 : attention);
  return model.has_encoder() ? decoder + encoder_flops(model) / sequence : decoder;
}

}  // namespace pipecast
