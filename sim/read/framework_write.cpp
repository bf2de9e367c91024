#include <fmt/format.h>

#include <algorithm>

#include "sim/read/framework_run.hpp"

namespace pipecast {
namespace {

/// Arguments, one per line, each line but the last ended by a backslash.
class ArgumentLines {
 public:
  void flag(std::string_view name, bool given = true) {
    if (given) lines_.push_back(fmt::format("--{}", name));
  }
  template <class Value>
  void value(std::string_view name, const Value& value) {
    lines_.push_back(fmt::format("--{} {}", name, value));
  }
  std::string text() const { return fmt::format("{}\n", fmt::join(lines_, " \\\n")); }

 private:
  std::vector<std::string> lines_;
};

void write_layout(const FrameworkRun& run, ArgumentLines& lines) {
  const ParallelLayout& layout = run.layout;
  lines.value("tensor-model-parallel-size", layout.tensor);
  lines.flag("sequence-parallel", layout.sequence_parallel);
  lines.value("pipeline-model-parallel-size", layout.pipeline);
  lines.value("context-parallel-size", layout.context);
  lines.value("expert-model-parallel-size", layout.expert);
  if (run.model && run.model->has_experts())
    lines.value("expert-tensor-parallel-size", layout.expert_tensor);
  if (!run.layout_string.empty())
    lines.value("pipeline-model-parallel-layout", "\"" + run.layout_string + "\"");
  else if (layout.chunks > 1)
    lines.value("num-virtual-stages-per-pipeline-rank", layout.chunks);
  if (run.group_size > 0)
    lines.value("microbatch-group-size-per-virtual-pipeline-stage", run.group_size);
  if (run.split.first_stage_layers)
    lines.value("decoder-first-pipeline-num-layers", *run.split.first_stage_layers);
  if (run.split.last_stage_layers)
    lines.value("decoder-last-pipeline-num-layers", *run.split.last_stage_layers);
  lines.flag("account-for-embedding-in-pipeline-split", run.split.count_embedding);
  lines.flag("account-for-loss-in-pipeline-split", run.split.count_head);
  lines.value("world-size", layout.devices());
  lines.value("micro-batch-size", layout.microbatch_size);
  lines.value("global-batch-size", layout.global_batch);
  lines.value("seq-length", layout.sequence);
  lines.flag("use-distributed-optimizer", layout.zero == 1);
  if (layout.zero == 2) lines.value("data-parallel-sharding-strategy", "optim_grads");
  if (layout.zero == 3) lines.value("data-parallel-sharding-strategy", "optim_grads_params");
}

void write_recompute(const FrameworkRun& run, ArgumentLines& lines) {
  switch (run.layout.recompute) {
    case Recompute::None:
      return;
    case Recompute::Alternate:  // the nearest that Megatron has
    case Recompute::Selective:
      return lines.value("recompute-granularity", "selective");
    case Recompute::Full:
      lines.value("recompute-granularity", "full");
      lines.value("recompute-method", run.layout.recompute_layers < 0 ? "uniform" : "block");
      lines.value("recompute-num-layers", std::max(1, run.layout.recompute_layers));
  }
}

void write_experts(const Experts& experts, int layers, ArgumentLines& lines) {
  lines.value("num-experts", experts.count);
  lines.value("moe-router-topk", experts.active);
  lines.value("moe-ffn-hidden-size", experts.width);
  if (experts.shared > 0)
    lines.value("moe-shared-expert-intermediate-size", experts.shared * experts.width);
  lines.flag("moe-shared-expert-gate", experts.shared_gate);
  lines.flag("moe-router-enable-expert-bias", experts.router_bias);
  if (experts.every > 1)
    lines.value("moe-layer-freq", experts.every);
  else if (experts.dense_layers_first > 0)
    lines.value("moe-layer-freq", fmt::format("\"([0]*{}+[1]*{})\"", experts.dense_layers_first,
                                              layers - experts.dense_layers_first));
  if (experts.capacity_factor > 0)
    lines.value("moe-expert-capacity-factor", experts.capacity_factor);
}

void write_latent(const LatentAttention& latent, ArgumentLines& lines) {
  lines.flag("multi-latent-attention");
  if (latent.query_rank > 0) lines.value("q-lora-rank", latent.query_rank);
  lines.value("kv-lora-rank", latent.key_value_rank);
  lines.value("qk-head-dim", latent.nope_head_width);
  lines.value("qk-pos-emb-head-dim", latent.rope_head_width);
  lines.value("v-head-dim", latent.value_head_width);
}

void write_model(const TransformerModel& model, ArgumentLines& lines) {
  lines.value("num-layers", model.layers);
  lines.value("hidden-size", model.hidden);
  lines.value("ffn-hidden-size", model.feed_forward);
  lines.value("num-attention-heads", model.heads);
  lines.value("kv-channels", model.head_width);
  if (model.key_value_heads != model.heads && !model.has_latent_attention()) {
    lines.flag("group-query-attention");
    lines.value("num-query-groups", model.key_value_heads);
  }
  lines.value("max-position-embeddings", model.max_position);
  lines.value("padded-vocab-size", model.vocabulary);
  lines.flag("swiglu", model.gated);
  lines.flag("disable-bias-linear", !model.linear_bias);
  lines.flag("add-qkv-bias", model.qkv_bias);
  lines.flag("qk-layernorm", model.query_key_norm);
  lines.flag("untie-embeddings-and-output-weights", !model.tied_embeddings);
  if (model.norm == Norm::RmsNorm) lines.value("normalization", "RMSNorm");
  if (model.position != Position::Learned) lines.value("position-embedding-type", "rope");
  if (model.mtp_layers > 0) lines.value("mtp-num-layers", model.mtp_layers);
  if (model.has_latent_attention()) write_latent(model.latent, lines);
  if (model.has_experts()) write_experts(model.experts, model.layers, lines);
}

}  // namespace

Result<std::string> write_megatron_arguments(const FrameworkRun& run) {
  if (const Result<int> count = microbatches(run.layout); !count) return fail(count.error());
  if (run.model && run.model->has_encoder())
    return fail(infeasible("Megatron's arguments cannot say an encoder"));
  ArgumentLines lines;
  write_layout(run, lines);
  write_recompute(run, lines);
  if (run.model) write_model(*run.model, lines);
  lines.flag(run.precision == "fp16" ? "fp16" : "bf16");
  if (run.precision == "fp8") lines.value("fp8-format", "hybrid");
  lines.flag("grad-reduce-in-bf16", run.gradient_bytes == 2);
  lines.flag("overlap-grad-reduce", run.overlap_gradients);
  lines.flag("overlap-param-gather", run.overlap_parameters);
  lines.flag("no-overlap-p2p-communication", !run.overlap_messages);
  return lines.text();
}

Result<std::string> write_deepspeed_config(const FrameworkRun& run) {
  Diagnostics faults;
  const ParallelLayout& layout = run.layout;
  if (layout.pipeline > 1 && layout.zero > 1)
    faults.push_back(infeasible("DeepSpeed's pipeline engine takes ZeRO 0 or 1, not " +
                                std::to_string(layout.zero)));
  if (layout.chunks > 1)
    faults.push_back(infeasible("DeepSpeed's pipeline engine has one chunk per rank, not " +
                                std::to_string(layout.chunks)));
  if (run.schedule != "1f1b")
    faults.push_back(infeasible("DeepSpeed's pipeline engine runs 1f1b, not " + run.schedule));
  const Result<int> count = microbatches(layout);
  if (!count) faults.insert(faults.end(), count.error().begin(), count.error().end());
  if (!faults.empty()) return fail(std::move(faults));
  std::string text = "{\n";
  text += fmt::format("  \"train_batch_size\": {},\n", layout.global_batch);
  text += fmt::format("  \"train_micro_batch_size_per_gpu\": {},\n", layout.microbatch_size);
  text += fmt::format("  \"gradient_accumulation_steps\": {},\n", *count);
  text +=
      fmt::format("  \"{}\": {{\"enabled\": true}},\n", run.precision == "fp16" ? "fp16" : "bf16");
  if (layout.tensor > 1) text += fmt::format("  \"tensor_parallel_size\": {},\n", layout.tensor);
  text += fmt::format("  \"zero_optimization\": {{\"stage\": {}, \"overlap_comm\": {}}},\n",
                      layout.zero, run.overlap_gradients ? "true" : "false");
  text += fmt::format(
      "  \"pipeline\": {{\"stages\": {}, \"partition\": \"best\", "
      "\"activation_checkpoint_interval\": {}}}\n}}\n",
      layout.pipeline, layout.recompute == Recompute::Full ? 1 : 0);
  return text;
}

}  // namespace pipecast
