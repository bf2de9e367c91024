#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>

#include "sim/read/framework_run.hpp"
#include "sim/read/framework_split.hpp"

namespace pipecast {
namespace {

/// Other names of what is written here; the last three where a model is written.
constexpr std::array<std::string_view, 6> kSaidOtherwise{
    "num-layers-per-virtual-pipeline-stage", "recompute-activations", "use-torch-fsdp2",
    "use-rotary-position-embeddings",        "no-position-embedding", "vocab-size"};

/// The lines of a command, each but the last ended by a backslash. Where Megatron's argument was
/// read, it stands as it was given.
class ArgumentLines {
 public:
  ArgumentLines(std::string first, const FrameworkRun& run) {
    lines_.push_back(std::move(first));
    const auto last = run.model ? kSaidOtherwise.end() : kSaidOtherwise.begin() + 3;
    for (const std::string& line : run.arguments) {
      const std::string name = line.substr(2, line.find(' ') - 2);
      if (std::find(kSaidOtherwise.begin(), last, name) == last) given_[name] = line;
    }
  }

  void flag(std::string_view name, bool set = true) {
    if (set && !give(name)) lines_.push_back(fmt::format("--{}", name));
  }
  template <class Value>
  void value(std::string_view name, const Value& value) {
    if (!give(name)) lines_.push_back(fmt::format("--{} {}", name, value));
  }
  bool has(std::string_view name) const { return given_.contains(name); }

  std::string text() {
    for (const auto& [name, line] : given_) lines_.push_back(line);
    given_.clear();
    return fmt::format("{}\n", fmt::join(lines_, " \\\n    "));
  }

 private:
  bool give(std::string_view name) {
    const auto found = given_.find(name);
    if (found == given_.end()) return false;
    lines_.push_back(found->second);
    given_.erase(found);
    return true;
  }

  std::vector<std::string> lines_;
  std::map<std::string, std::string, std::less<>> given_;
};

/// torchrun gives Megatron its world size.
std::string launcher_line(int devices) {
  constexpr int kPerNode = 8;
  const int per_node = std::gcd(devices, kPerNode);
  return fmt::format("torchrun --nnodes {} --nproc-per-node {} pretrain_gpt.py", devices / per_node,
                     per_node);
}

/// `tttttt` as `t*6`.
std::string shortened(const std::string& layout) {
  std::string text;
  for (std::size_t begin = 0; begin < layout.size();) {
    const std::size_t end = std::min(layout.find_first_not_of(layout[begin], begin), layout.size());
    const std::size_t count = end - begin;
    const bool repeats = count > 3 && layout[begin] != '|' && layout.find('*') == std::string::npos;
    text += repeats ? fmt::format("{}*{}", layout[begin], count) : layout.substr(begin, count);
    begin = end;
  }
  return text;
}

/// Megatron's `tp-cp-ep-pp-dp`.
constexpr DimensionOrder kPipelineBeforeData{ParallelDimension::Tensor, ParallelDimension::Context,
                                             ParallelDimension::Expert, ParallelDimension::Pipeline,
                                             ParallelDimension::Data};

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
    lines.value("pipeline-model-parallel-layout", "\"" + shortened(run.layout_string) + "\"");
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
  lines.value("micro-batch-size", layout.microbatch_size);
  lines.value("global-batch-size", layout.global_batch);
  lines.value("seq-length", layout.sequence);
  lines.flag("use-distributed-optimizer", layout.zero == 1);
  lines.flag("use-tp-pp-dp-mapping", layout.order == kPipelineBeforeData);
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
      lines.value("recompute-num-layers", run.layout.recompute_layers < 0
                                              ? run.memory.layers_per_checkpoint
                                              : run.layout.recompute_layers);
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
  lines.flag(lines.has("quick-geglu") ? "quick-geglu" : "swiglu", model.gated);
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

void write_precision(const FrameworkRun& run, ArgumentLines& lines) {
  if (run.precision != "fp32") lines.flag(run.precision == "fp16" ? "fp16" : "bf16");
  const std::string& word = run.precision;
  if (word == "fp8" || word == "mxfp8") lines.value("fp8-format", "hybrid");
  if (word == "fp8-blockwise") lines.value("fp8-format", "e4m3");
  if (word == "fp8") lines.value("fp8-recipe", "tensorwise");
  if (word == "mxfp8") lines.value("fp8-recipe", "mxfp8");
  if (word == "fp8-blockwise") lines.value("fp8-recipe", "blockwise");
  if (word == "nvfp4") lines.value("fp4-format", "e2m1");
  lines.flag("grad-reduce-in-bf16", run.memory.gradient_bytes == 2);
  // Megatron's own defaults are 0.1.
  lines.value("hidden-dropout", run.hidden_dropout);
  lines.value("attention-dropout", run.attention_dropout);
  if (!run.kernels.fused_attention) lines.value("attention-backend", "unfused");
  if (run.memory.loss == LossKernel::InPlace) {
    lines.flag("cross-entropy-loss-fusion");
    lines.value("cross-entropy-fusion-impl", "te");
  }
}

void write_overlaps(const FrameworkRun& run, ArgumentLines& lines) {
  lines.flag("overlap-grad-reduce", run.overlap_gradients);
  lines.flag("overlap-param-gather", run.overlap_parameters);
  lines.flag("no-overlap-p2p-communication", !run.overlap_messages);
  lines.flag("tp-comm-overlap", run.overlap_tensor);
  if (run.context_exchange == ContextExchange::Ulysses) lines.value("cp-comm-type", "a2a");
  if (run.context_exchange == ContextExchange::Gather) lines.value("cp-comm-type", "allgather");
}

/// What Megatron has no argument for, and stages that do not fit the model.
Diagnostics unsayable(const FrameworkRun& run) {
  Diagnostics faults;
  if (const Result<int> count = microbatches(run.layout); !count) faults = count.error();
  if (!run.model) return faults;
  const TransformerModel& model = *run.model;
  const std::pair<bool, const char*> parts[] = {
      {model.has_encoder(), "an encoder"},
      {model.position == Position::Alibi, "ALiBi positions"},
      {model.embedding_norm, "a norm of the embedding"},
      {model.attention_output_bias && !model.linear_bias, "a bias of attention's output alone"},
      {model.has_experts() && model.experts.offset > 0, "experts that begin at a later layer"}};
  for (const auto& [present, what] : parts)
    if (present)
      faults.push_back(infeasible(fmt::format("Megatron's arguments cannot say {}", what)));
  if (const auto stages = stages_of(run); !stages && faults.empty()) faults = stages.error();
  return faults;
}

/// A method of DeepSpeed's that comes to the stages of the run; nothing when none does.
std::optional<std::string> partition_of(const FrameworkRun& run) {
  if (!run.model || run.layout.pipeline == 1) return "best";
  const auto stages = stages_of(run);
  for (const char* method : {"best", "type:transformer", "uniform"})
    if (const auto theirs = deepspeed_stages(*run.model, run.layout.pipeline, method);
        stages && theirs && *theirs == *stages)
      return method;
  return std::nullopt;
}

/// What DeepSpeed's file or its pipeline engine cannot say or do.
Diagnostics not_of_deepspeed(const FrameworkRun& run) {
  const ParallelLayout& layout = run.layout;
  const bool precise =
      run.precision == "bf16" || run.precision == "fp16" || run.precision == "fp32";
  const std::pair<bool, std::string> parts[] = {
      {layout.pipeline > 1 && layout.zero > 1,
       fmt::format("pipeline engine takes ZeRO 0 or 1, not {}", layout.zero)},
      {layout.chunks > 1,
       fmt::format("pipeline engine has one chunk per rank, not {}", layout.chunks)},
      {run.schedule != "1f1b", "pipeline engine runs 1f1b, not " + run.schedule},
      {layout.context > 1, "pipeline engine does not cut sequences over devices"},
      {layout.expert > 1, "file does not say how experts are spread"},
      {!precise, "file has bf16, fp16 or neither, not " + run.precision}};
  Diagnostics faults;
  for (const auto& [present, what] : parts)
    if (present) faults.push_back(infeasible("DeepSpeed's " + what));
  return faults;
}

}  // namespace

Result<std::string> write_megatron_arguments(const FrameworkRun& run) {
  if (Diagnostics faults = unsayable(run); !faults.empty()) return fail(std::move(faults));
  ArgumentLines lines(launcher_line(run.layout.devices()), run);
  write_layout(run, lines);
  write_recompute(run, lines);
  if (run.model) write_model(*run.model, lines);
  write_precision(run, lines);
  write_overlaps(run, lines);
  return lines.text();
}

Result<std::string> write_deepspeed_config(const FrameworkRun& run) {
  const ParallelLayout& layout = run.layout;
  Diagnostics faults = not_of_deepspeed(run);
  const Result<int> count = microbatches(layout);
  if (!count) faults.insert(faults.end(), count.error().begin(), count.error().end());
  if (!faults.empty()) return fail(std::move(faults));
  if (run.model)
    if (const auto stages = stages_of(run); !stages) return fail(stages.error());
  const std::optional<std::string> partition = partition_of(run);
  if (!partition) return fail(infeasible("none of DeepSpeed's partitions comes to these stages"));
  std::string text = "{\n";
  text += fmt::format("  \"train_batch_size\": {},\n", layout.global_batch);
  text += fmt::format("  \"train_micro_batch_size_per_gpu\": {},\n", layout.microbatch_size);
  text += fmt::format("  \"gradient_accumulation_steps\": {},\n", *count);
  if (run.precision != "fp32")
    text += fmt::format("  \"{}\": {{\"enabled\": true}},\n", run.precision);
  if (layout.tensor > 1) text += fmt::format("  \"tensor_parallel_size\": {},\n", layout.tensor);
  text += fmt::format("  \"zero_optimization\": {{\"stage\": {}, \"overlap_comm\": {}}},\n",
                      layout.zero, run.overlap_gradients ? "true" : "false");
  text += fmt::format(
      "  \"pipeline\": {{\"stages\": {}, \"partition\": \"{}\", "
      "\"activation_checkpoint_interval\": {}}}\n}}\n",
      layout.pipeline, *partition,
      layout.recompute == Recompute::Full ? run.memory.layers_per_checkpoint : 0);
  return text;
}

}  // namespace pipecast
