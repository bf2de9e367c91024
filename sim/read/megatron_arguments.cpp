#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "sim/base/quantity.hpp"
#include "sim/read/framework_run.hpp"
#include "sim/read/megatron_words.hpp"

namespace pipecast {
namespace {

using Arguments = MegatronArguments;

constexpr int kMostSequences = 1 << 24;  ///< of a global batch

void read_degrees(Arguments& given, ParallelLayout& layout) {
  layout.tensor = given.integer("tensor-model-parallel-size", 1);
  layout.pipeline = given.integer("pipeline-model-parallel-size", 1);
  layout.context = given.integer("context-parallel-size", 1);
  layout.expert = given.integer("expert-model-parallel-size", 1);
  layout.expert_tensor = given.integer("expert-tensor-parallel-size", layout.tensor);
  layout.sequence_parallel = given.flag("sequence-parallel") && layout.tensor > 1;
  layout.sequence = given.integer("seq-length", 1024);
  layout.microbatch_size = given.integer("micro-batch-size", 1);
  if (given.flag("use-distributed-optimizer")) layout.zero = 1;
  const std::string sharding = given.text("data-parallel-sharding-strategy", "no_shard");
  if (sharding == "optim") layout.zero = 1;
  if (sharding == "optim_grads") layout.zero = 2;
  if (sharding == "optim_grads_params") layout.zero = 3;
  if (given.flag("use-torch-fsdp2")) layout.zero = 3;
}

void read_recompute(Arguments& given, FrameworkRun& run) {
  const std::string granularity =
      given.flag("recompute-activations") ? "selective" : given.text("recompute-granularity");
  const std::string method = given.text("recompute-method", "uniform");
  const int layers = given.integer("recompute-num-layers", -1);
  const std::string modules = given.text("recompute-modules", "core_attn");
  if (granularity.empty()) return;
  if (granularity == "full") {
    run.layout.recompute = Recompute::Full;
    if (method == "block") run.layout.recompute_layers = layers;
  } else if (granularity == "selective") {
    run.layout.recompute = Recompute::Selective;
    if (modules != "core_attn")
      run.notes.push_back("--recompute-modules " + modules + ": only core_attn is modelled");
  } else {
    given.fault("recompute-granularity", "--recompute-granularity is full or selective");
  }
}

void read_experts(Arguments& given, TransformerModel& model) {
  const int count = given.integer("num-experts", 0, 0);
  Experts& experts = model.experts;
  const int width = given.integer("moe-ffn-hidden-size", model.feed_forward);
  const int active = given.integer("moe-router-topk", 2);
  const int shared = given.integer("moe-shared-expert-intermediate-size", 0, 0);
  const std::string frequency = given.text("moe-layer-freq", "1");
  const std::string capacity = given.text("moe-expert-capacity-factor");
  if (count == 0) return;
  experts.count = count;
  experts.active = active;
  experts.width = width;
  experts.shared_gate = given.flag("moe-shared-expert-gate");
  experts.router_bias = given.flag("moe-router-enable-expert-bias");
  if (const auto factor = parse_number(capacity); factor && !capacity.empty())
    experts.capacity_factor = std::max(0.0, *factor);
  if (width > 0 && shared % width != 0)
    given.fault("moe-shared-expert-intermediate-size",
                "a shared expert must be a multiple of an expert's width");
  else if (width > 0)
    experts.shared = shared / width;
  if (const auto every = parse_integer(frequency); every && *every >= 1 && *every <= 4096)
    experts.every = static_cast<int>(*every);
  else if (int dense = 0; std::sscanf(frequency.c_str(), "([0]*%d", &dense) == 1 && dense >= 0 &&
                          dense <= model.layers)
    experts.dense_layers_first = dense;
  else
    given.fault("moe-layer-freq",
                fmt::format("--moe-layer-freq '{}' is not understood", shown(frequency)),
                "a number, or ([0]*dense+[1]*experts)");
}

void read_latent(Arguments& given, TransformerModel& model) {
  LatentAttention latent;
  latent.query_rank = given.integer("q-lora-rank", 0, 0);
  latent.key_value_rank = given.integer("kv-lora-rank", 32);
  latent.nope_head_width = given.integer("qk-head-dim", 128);
  latent.rope_head_width = given.integer("qk-pos-emb-head-dim", 64);
  latent.value_head_width = given.integer("v-head-dim", 128);
  if (given.flag("multi-latent-attention")) model.latent = latent;
}

int padded(int vocabulary, int multiple, int tensor) {
  const int step = std::max(1, multiple * tensor);
  return (vocabulary + step - 1) / step * step;
}

int read_vocabulary(Arguments& given, const FrameworkHints& hints, int tensor) {
  const int multiple = given.integer("make-vocab-size-divisible-by", 128);
  if (given.has("padded-vocab-size")) return given.integer("padded-vocab-size", 0);
  const int words = given.integer("vocab-size", hints.vocabulary.value_or(0), 1, 1 << 26);
  return words > 0 ? padded(words, std::min(multiple, 1 << 16), tensor) : 0;
}

void read_flags(Arguments& given, TransformerModel& model) {
  model.gated = given.flag("swiglu");
  model.linear_bias = !given.flag("disable-bias-linear");
  model.qkv_bias = given.flag("add-qkv-bias") && !model.linear_bias;
  model.query_key_norm = given.flag("qk-layernorm");
  model.tied_embeddings = !given.flag("untie-embeddings-and-output-weights");
  model.norm =
      given.text("normalization", "LayerNorm") == "RMSNorm" ? Norm::RmsNorm : Norm::LayerNorm;
  const std::string position = given.text("position-embedding-type", "learned_absolute");
  const bool learned = position == "learned_absolute" &&
                       !given.flag("use-rotary-position-embeddings") &&
                       !given.flag("no-position-embedding");
  model.position = learned ? Position::Learned : Position::Rope;
}

void read_model(Arguments& given, const FrameworkHints& hints, FrameworkRun& run) {
  TransformerModel model;
  model.name = "megatron arguments";
  const bool has_shape =
      given.has("num-layers") && given.has("hidden-size") && given.has("num-attention-heads");
  model.layers = given.integer("num-layers", 1, 1, 4096);
  model.hidden = given.integer("hidden-size", 1, 1, 1 << 20);
  model.heads = given.integer("num-attention-heads", 1, 1, 1 << 16);
  model.key_value_heads = given.integer("num-query-groups", 1, 1, 1 << 16);
  if (!given.flag("group-query-attention")) model.key_value_heads = model.heads;
  model.head_width =
      given.integer("kv-channels", std::max(1, model.hidden / model.heads), 1, 1 << 16);
  read_flags(given, model);
  const int usual = model.gated ? model.hidden * 8 / 3 / 64 * 64 : 4 * model.hidden;
  model.feed_forward = given.integer("ffn-hidden-size", std::max(usual, 1), 1, 1 << 24);
  model.max_position = given.integer("max-position-embeddings", run.layout.sequence);
  model.mtp_layers = given.integer("mtp-num-layers", 0, 0, 64);
  read_latent(given, model);
  read_experts(given, model);
  model.vocabulary = read_vocabulary(given, hints, run.layout.tensor);
  if (!has_shape) {
    run.model = hints.model;
    if (!run.model) run.notes.push_back("the arguments do not give a model");
    return;
  }
  if (model.vocabulary == 0)
    run.notes.push_back("the tokenizer decides the vocabulary: give it to know the model");
  else
    run.model = model;
}

void read_virtual_stages(Arguments& given, FrameworkRun& run, int model_layers) {
  const int per_rank = given.integer("num-virtual-stages-per-pipeline-rank", 0, 1, 4096);
  const int layers = given.integer("num-layers-per-virtual-pipeline-stage", 0, 1, 4096);
  ParallelLayout& layout = run.layout;
  run.layout_string = given.text("pipeline-model-parallel-layout");
  if (per_rank > 0 && layers > 0)
    given.fault("num-layers-per-virtual-pipeline-stage",
                "--num-layers-per-virtual-pipeline-stage and "
                "--num-virtual-stages-per-pipeline-rank say the same",
                "give one of them");
  if (per_rank > 0) layout.chunks = per_rank;
  if (layers > 0 && per_rank == 0) {
    if (model_layers % bounded_product({layout.pipeline, layers}) != 0)
      given.fault("num-layers-per-virtual-pipeline-stage",
                  fmt::format("{} layers do not divide by {} stages × {} layers per virtual stage",
                              model_layers, layout.pipeline, layers));
    else
      layout.chunks = model_layers / bounded_product({layout.pipeline, layers});
  }
  if (run.layout_string.empty()) return;
  const auto stages = parse_layout_string(run.layout_string);
  if (!stages) {
    for (const Diagnostic& fault : stages.error())
      given.fault("pipeline-model-parallel-layout", fault.message, fault.hint);
    return;
  }
  const int count = static_cast<int>(stages->size());
  if (count % layout.pipeline != 0)
    given.fault("pipeline-model-parallel-layout",
                fmt::format("the layout has {} stages, which do not divide by {} pipeline ranks",
                            count, layout.pipeline));
  else
    layout.chunks = count / layout.pipeline;
}

void read_split(Arguments& given, FrameworkRun& run) {
  const auto layers = [&](const char* name) -> std::optional<int> {
    const int count = given.integer(name, -1, 0, 4096);
    return count < 0 ? std::nullopt : std::optional(count);
  };
  run.split.first_stage_layers = layers("decoder-first-pipeline-num-layers");
  run.split.last_stage_layers = layers("decoder-last-pipeline-num-layers");
  run.split.count_embedding = given.flag("account-for-embedding-in-pipeline-split");
  run.split.count_head = given.flag("account-for-loss-in-pipeline-split");
  run.group_size = given.integer("microbatch-group-size-per-virtual-pipeline-stage", 0);
}

void read_overlaps(Arguments& given, FrameworkRun& run) {
  run.overlap_gradients = given.flag("overlap-grad-reduce");
  run.overlap_parameters = given.flag("overlap-param-gather");
  run.overlap_messages = !given.flag("no-overlap-p2p-communication");
  run.precision = given.flag("fp16")                            ? "fp16"
                  : given.has("fp8-format") || given.has("fp8") ? "fp8"
                                                                : "bf16";
  run.gradient_bytes = given.flag("grad-reduce-in-bf16") ? 2 : 4;
  given.has("bf16");
  given.text("fp8-format");
  if (given.flag("overlap-moe-expert-parallel-comm"))
    run.notes.push_back("--overlap-moe-expert-parallel-comm: choose the schedule combined-1f1b");
  if (given.flag("delay-wgrad-compute"))
    run.notes.push_back("--delay-wgrad-compute: choose a schedule that splits the backward");
}

/// data = world ÷ (tensor × pipeline × context); m = global ÷ (micro × data).
void read_batch(Arguments& given, const FrameworkHints& hints, FrameworkRun& run) {
  const int nodes = given.integer("nnodes", 1, 1, 1 << 14);
  const int per_node = given.integer("nproc-per-node", 0, 0, 1 << 16);
  const int launched = given.integer("world-size", nodes * per_node, 0);
  const int devices = hints.devices.value_or(launched);
  ParallelLayout& layout = run.layout;
  if (devices > 0) {
    const Result<int> data = data_degree(layout, devices);
    if (data)
      layout.data = *data;
    else
      given.faults().add(data.error());
  } else {
    run.notes.push_back("the number of devices is not given: data parallel degree 1");
  }
  const std::int64_t per_step = std::int64_t{layout.microbatch_size} * layout.data;
  layout.global_batch = given.integer("global-batch-size", 0);
  if (layout.global_batch == 0 && per_step <= kMostSequences)
    layout.global_batch = static_cast<int>(per_step);
  if (layout.global_batch == 0)
    given.fault("micro-batch-size",
                fmt::format("a batch of {} × {} sequences; allowed are {}", layout.microbatch_size,
                            layout.data, kMostSequences),
                {});
  else if (const Result<int> count = microbatches(layout))
    run.microbatches = *count;
  else
    given.faults().add(count.error());
  const int group = run.group_size > 0 ? run.group_size : layout.pipeline;
  if (layout.chunks > 1 && run.microbatches % group != 0)
    given.faults().add(infeasible(
        fmt::format("{} microbatches do not divide into groups of {} of an interleaved schedule",
                    run.microbatches, group),
        fmt::format("nearest: {} or {}", run.microbatches / group * group,
                    (run.microbatches / group + 1) * group)));
}

void note_unread(const Arguments& given, FrameworkRun& run) {
  constexpr std::string_view kWords[] = {"parallel", "pipeline", "virtual", "moe",
                                         "expert",   "mtp",      "window",  "hybrid"};
  for (const std::string& name : given.unread())
    if (std::any_of(std::begin(kWords), std::end(kWords),
                    [&](std::string_view word) { return name.find(word) != std::string::npos; }))
      run.notes.push_back("--" + name + " is not understood and has no effect here");
}

}  // namespace

Result<FrameworkRun> read_megatron_arguments(std::string_view text, const std::string& file,
                                             const FrameworkHints& hints) {
  auto words = megatron_words(text, file);
  if (!words) return fail(words.error());
  Arguments given(std::move(*words));
  FrameworkRun run;
  run.framework = "megatron";
  read_degrees(given, run.layout);
  read_recompute(given, run);
  read_model(given, hints, run);
  read_virtual_stages(given, run, given.integer("num-layers", 1, 1, 4096));
  read_split(given, run);
  read_overlaps(given, run);
  read_batch(given, hints, run);
  // Without experts the expert-tensor degree has no meaning; Megatron sets it to the tensor degree.
  if (!given.has("num-experts")) run.layout.expert_tensor = 1;
  run.schedule = run.layout.chunks > 1 ? "interleaved-1f1b" : "1f1b";
  note_unread(given, run);
  SourceSpan whole;
  whole.file = file;
  if (!given.faults().empty()) return fail(located(given.faults().take(file), whole));
  return run;
}

}  // namespace pipecast
