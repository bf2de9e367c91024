#include "sim/study/model_report.hpp"

#include <fmt/format.h>

#include <ostream>

#include "sim/cost/activation.hpp"
#include "sim/report/text_sink.hpp"

namespace pipecast {
namespace {

LayerGroup decoder_layer(const TransformerModel& model, const ParameterCounts& counts, int layer) {
  LayerGroup group;
  const bool experts = is_expert_layer(model, layer);
  group.kind = experts ? "experts" : "dense";
  group.first = layer;
  group.count = 1;
  group.attention = counts.attention_per_layer;
  group.norms = counts.norms_per_layer;
  group.feed_forward = experts ? counts.router_per_layer + counts.shared_experts_per_layer
                               : counts.dense_feed_forward_per_layer;
  group.experts = experts ? counts.expert * model.experts.count : 0;
  return group;
}

LayerGroup encoder_group(const TransformerModel& model) {
  const ParameterCounts inner = parameter_counts(encoder_model(model));
  LayerGroup group;
  group.kind = "encoder";
  group.count = model.encoder.layers;
  group.attention = inner.attention_per_layer;
  group.norms = inner.norms_per_layer;
  group.feed_forward = inner.dense_feed_forward_per_layer;
  return group;
}

std::string count_text(double parameters) {
  for (const auto& [unit, word] : {std::pair{1e12, "T"}, {1e9, "B"}, {1e6, "M"}, {1e3, "k"}})
    if (parameters >= unit) return fmt::format("{:.4g}{}", parameters / unit, word);
  return fmt::format("{:.0f}", parameters);
}

std::string line_of(const char* what, double parameters) {
  return fmt::format("  {:<22}{:>18.0f}  {}\n", what, parameters, count_text(parameters));
}

std::string layer_range(const LayerGroup& group) {
  return group.count == 1 ? fmt::format("{}", group.first)
                          : fmt::format("{}–{}", group.first, group.first + group.count - 1);
}

std::string attention_text(const TransformerModel& model) {
  if (model.has_latent_attention())
    return fmt::format("latent attention, {} heads, {} cached values per token and layer",
                       model.heads, model.latent.key_value_rank + model.latent.rope_head_width);
  const char* kind = model.key_value_heads == model.heads ? "multi-head"
                     : model.key_value_heads == 1         ? "multi-query"
                                                          : "grouped-query";
  return fmt::format("{} attention, {} heads of {}, {} key/value heads", kind, model.heads,
                     model.head_width, model.key_value_heads);
}

std::string feed_forward_text(const TransformerModel& model) {
  std::string text =
      fmt::format("{}feed-forward {}", model.gated ? "gated " : "", model.feed_forward);
  if (!model.has_experts()) return text;
  const Experts& experts = model.experts;
  return text + fmt::format("; {} experts of {} in {} layers, {} active, {} shared", experts.count,
                            experts.width, expert_layers(model), experts.active, experts.shared);
}

void write_totals(const TransformerModel& model, std::ostream& out) {
  const ParameterCounts counts = parameter_counts(model);
  out << "\nparameters\n" << line_of("total", total_parameters(model));
  if (model.has_experts()) out << line_of("active per token", active_parameters(model));
  out << line_of("embedding", counts.embedding);
  if (model.tied_embeddings)
    out << "  head                    is the embedding\n";
  else
    out << line_of("head", counts.head);
  out << line_of("final norm", counts.final_norm);
  if (model.has_encoder())
    out << line_of("encoder's ends", counts.encoder_tokens + counts.encoder_connector);
  if (model.mtp_layers > 0)
    out << line_of("a prediction module", counts.mtp_per_module)
        << "  (prediction modules are not in the total)\n";
}

void list(TextSink& sink, std::string_view key, const std::vector<std::string>& texts) {
  sink.text(",\n  \"").text(key).text("\": [");
  for (std::size_t i = 0; i < texts.size(); ++i) sink.text(i > 0 ? ", " : "").quoted(texts[i]);
  sink.text("]");
}

void number(TextSink& sink, std::string_view separator, std::string_view key, double value) {
  sink.text(separator).text("\"").text(key).text("\": ").number(value);
}

void write_shape(TextSink& sink, const TransformerModel& model) {
  const std::pair<const char*, int> values[] = {
      {"layers", model.layers},
      {"hidden", model.hidden},
      {"heads", model.heads},
      {"key_value_heads", model.key_value_heads},
      {"head_width", model.head_width},
      {"feed_forward", model.feed_forward},
      {"vocabulary", model.vocabulary},
      {"max_position", model.max_position},
      {"expert_layers", expert_layers(model)},
      {"experts", model.experts.count},
      {"active_experts", model.experts.active},
      {"shared_experts", model.experts.shared},
      {"mtp_layers", model.mtp_layers},
      {"encoder_layers", model.encoder.layers},
  };
  sink.text(",\n  \"shape\": {");
  const char* separator = "";
  for (const auto& [key, value] : values) {
    number(sink, separator, key, value);
    separator = ", ";
  }
  sink.text(", \"tied_embeddings\": ").text(model.tied_embeddings ? "true" : "false").text("}");
}

void write_group(TextSink& sink, const LayerGroup& group) {
  sink.text("{\"kind\": ").quoted(group.kind);
  number(sink, ", ", "first", group.first);
  number(sink, ", ", "count", group.count);
  number(sink, ", ", "parameters", group.parameters());
  number(sink, ", ", "attention", group.attention);
  number(sink, ", ", "feed_forward", group.feed_forward);
  number(sink, ", ", "experts", group.experts);
  number(sink, ", ", "norms", group.norms);
  number(sink, ", ", "other", group.other);
  sink.text("}");
}

}  // namespace

std::vector<LayerGroup> layer_groups(const TransformerModel& model) {
  const ParameterCounts counts = parameter_counts(model);
  std::vector<LayerGroup> groups;
  if (model.has_encoder()) groups.push_back(encoder_group(model));
  for (int layer = 0; layer < model.layers; ++layer) {
    const LayerGroup next = decoder_layer(model, counts, layer);
    if (!groups.empty() && groups.back().kind == next.kind)
      ++groups.back().count;
    else
      groups.push_back(next);
  }
  if (model.mtp_layers == 0) return groups;
  LayerGroup module = decoder_layer(model, counts, model.layers - 1);
  module.kind = "multi-token prediction";
  module.first = 0;
  module.count = model.mtp_layers;
  module.other = counts.mtp_per_module - module.parameters();
  groups.push_back(module);
  return groups;
}

void write_model_text(const ModelShape& shape, std::ostream& out) {
  const TransformerModel& model = shape.model;
  out << model.name << " (" << shape.origin << ")\n"
      << fmt::format("  {} layers, hidden {}, vocabulary {}\n", model.layers, model.hidden,
                     model.vocabulary)
      << "  " << attention_text(model) << "\n  " << feed_forward_text(model) << "\n";
  if (model.has_encoder())
    out << fmt::format("  encoder: {} layers, hidden {}, {} heads, {} tokens per sequence\n",
                       model.encoder.layers, model.encoder.hidden, model.encoder.heads,
                       model.encoder.tokens);
  if (!shape.dtype.empty()) out << "  stored as " << shape.dtype << "\n";
  write_totals(model, out);
  out << fmt::format("\n{:<24}{:>8}{:>16}{:>14}{:>14}{:>16}\n", "layers", "", "parameters",
                     "attention", "feed-forward", "experts");
  for (const LayerGroup& group : layer_groups(model))
    out << fmt::format("{:<24}{:>8}{:>16.0f}{:>14.0f}{:>14.0f}{:>16.0f}\n", group.kind,
                       layer_range(group), group.parameters(), group.attention, group.feed_forward,
                       group.experts);
  out << "\nkey/value cache, 16-bit: " << format(key_value_bytes_per_token(model, 2))
      << " per token\n";
  if (!shape.unverified.empty())
    out << fmt::format("not confirmed by a source: {}\n", fmt::join(shape.unverified, ", "));
  for (const std::string& note : shape.notes) out << "note: " << note << "\n";
}

void write_model_json(const ModelShape& shape, std::ostream& out) {
  const TransformerModel& model = shape.model;
  const ParameterCounts counts = parameter_counts(model);
  TextSink sink(out);
  sink.text("{\n  \"format\": \"pipecast.model/1\",\n  \"name\": ").quoted(model.name);
  sink.text(",\n  \"origin\": ").quoted(shape.origin).text(",\n  \"dtype\": ").quoted(shape.dtype);
  write_shape(sink, model);
  sink.text(",\n  \"parameters\": {");
  number(sink, "", "total", total_parameters(model));
  number(sink, ", ", "active", active_parameters(model));
  number(sink, ", ", "embedding", counts.embedding);
  number(sink, ", ", "head", counts.head);
  number(sink, ", ", "final_norm", counts.final_norm);
  number(sink, ", ", "encoder_ends", counts.encoder_tokens + counts.encoder_connector);
  number(sink, ", ", "mtp_per_module", counts.mtp_per_module);
  sink.text("},\n  \"layer_groups\": [");
  const char* separator = "\n    ";
  for (const LayerGroup& group : layer_groups(model)) {
    write_group(sink.text(separator), group);
    separator = ",\n    ";
  }
  sink.text("\n  ]");
  number(sink, ",\n  ", "key_value_bytes_per_token", key_value_bytes_per_token(model, 2).value);
  list(sink, "sources", shape.sources);
  list(sink, "unverified", shape.unverified);
  list(sink, "notes", shape.notes);
  sink.text("\n}\n");
}

}  // namespace pipecast
