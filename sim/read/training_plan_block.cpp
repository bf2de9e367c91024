#include "sim/read/training_plan_block.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/read/hf_config.hpp"

namespace pipecast {
namespace {

constexpr double kMostTokens = 1 << 26;
constexpr double kMostSequences = 1 << 24;

/// What a file says, word by word.
struct PlanWords {
  int microbatch_size = 1;
  int sequence_length = 2048;
  int global_batch = 0;
  std::string precision = "bf16";
  std::string recompute = "none";
  int recompute_layers = -1;
  std::string attention = "fused";
  bool dropout = false;
  bool overlap_tensor = false;
  bool overlap_expert = false;
  bool overlap_data = true;
  std::string context_exchange = "ring";
  std::string count_attention = "full";
  double gradient_bytes = 4;
  double accumulation_bytes = 0;
  double offload = 0;
  std::string launch = "asynchronous";
  bool fused_kernels = true;
  bool fused_loss = true;
  bool small_gathers = false;
  bool weight_casts = false;
  bool fused_experts = false;
  bool dispatch_once = false;
  bool fused_projections = true;
  bool eager = false;
  bool recompute_communication = true;
  bool recompute_last_product = true;
  bool update_barrier = true;
  std::string accelerator;
};

const std::array<Field<PlanWords>, 29> kPlanFields{{
    {"microbatch_size", &PlanWords::microbatch_size, "sequences", 1, kMostSequences, {}},
    {"sequence_length", &PlanWords::sequence_length, "tokens", 1, kMostTokens, {}},
    {"global_batch",
     &PlanWords::global_batch,
     "sequences of a step; 0: what follows",
     0,
     kMostSequences,
     {}},
    {"precision",
     &PlanWords::precision,
     "of the linear layers",
     0,
     0,
     {"bf16", "fp16", "fp8", "fp8-blockwise", "mxfp8", "nvfp4"}},
    {"recompute",
     &PlanWords::recompute,
     "activations computed again",
     0,
     0,
     {"none", "selective", "full", "alternate"}},
    {"recompute_layers",
     &PlanWords::recompute_layers,
     "per stage, with full; -1: all",
     -1,
     4096,
     {}},
    {"attention",
     &PlanWords::attention,
     "one kernel or several",
     0,
     0,
     {"fused", "unfused", "flash2", "flash1"}},
    {"dropout", &PlanWords::dropout, "masks are kept and applied", 0, 1, {}},
    {"overlap_tensor", &PlanWords::overlap_tensor, "tensor traffic behind the products", 0, 1, {}},
    {"overlap_expert",
     &PlanWords::overlap_expert,
     "expert traffic behind the other half",
     0,
     1,
     {}},
    {"overlap_data", &PlanWords::overlap_data, "gradients behind the backward", 0, 1, {}},
    {"context_exchange",
     &PlanWords::context_exchange,
     "how attention sees the sequence",
     0,
     0,
     {"ring", "ulysses", "gather"}},
    {"count_attention",
     &PlanWords::count_attention,
     "utilization counts a causal mask",
     0,
     0,
     {"full", "half"}},
    {"gradient_bytes", &PlanWords::gradient_bytes, "per parameter, as reduced", 1, 8, {}},
    {"accumulation_bytes",
     &PlanWords::accumulation_bytes,
     "per parameter and microbatch, moved to add its gradient to the accumulated one",
     0,
     64,
     {}},
    {"offload",
     &PlanWords::offload,
     "share of the activations that the host keeps between forward and backward",
     0,
     1,
     {}},
    {"launch",
     &PlanWords::launch,
     "blocking: the host waits for each kernel",
     0,
     0,
     {"asynchronous", "blocking"}},
    {"fused_kernels", &PlanWords::fused_kernels, "bias, dropout and residual in one", 0, 1, {}},
    {"fused_loss", &PlanWords::fused_loss, "softmax of the loss in one kernel", 0, 1, {}},
    {"fused_projections",
     &PlanWords::fused_projections,
     "queries, keys, values in one product; a gate's halves",
     0,
     1,
     {}},
    {"weight_casts",
     &PlanWords::weight_casts,
     "weights are cast to 8 bits in each forward",
     0,
     1,
     {}},
    {"dispatch_once",
     &PlanWords::dispatch_once,
     "a token crosses to a node once, whatever experts it has there",
     0,
     1,
     {}},
    {"fused_experts",
     &PlanWords::fused_experts,
     "sorting and activation of experts inside dispatch and products",
     0,
     1,
     {}},
    {"small_gathers",
     &PlanWords::small_gathers,
     "the tensor group gathers 8-bit operands",
     0,
     1,
     {}},
    {"eager", &PlanWords::eager, "pointwise work as a framework's single operations", 0, 1, {}},
    {"recompute_last_product",
     &PlanWords::recompute_last_product,
     "a recomputed layer repeats the product that nothing needs",
     0,
     1,
     {}},
    {"recompute_communication",
     &PlanWords::recompute_communication,
     "a recomputed layer repeats its collectives",
     0,
     1,
     {}},
    {"update_barrier", &PlanWords::update_barrier, "the update waits for all ranks", 0, 1, {}},
    {"accelerator", &PlanWords::accelerator, "catalogue id; default: the platform's", 0, 0, {}},
}};

/// The position of a word among the choices of its field, as the enumeration has it.
template <class Enum>
Enum word_as(std::string_view name, std::string_view word) {
  for (const Field<PlanWords>& field : kPlanFields) {
    if (field.name != name) continue;
    const auto found = std::find(field.choices.begin(), field.choices.end(), word);
    return static_cast<Enum>(found - field.choices.begin());
  }
  return Enum{};
}

Exposure exposure(bool overlapped) { return overlapped ? Exposure::Overlapped : Exposure::Exposed; }

const std::array<Field<SplitRule>, 3> kRuleFields{{
    {"count_embedding", &SplitRule::count_embedding, "the embedding counts as a layer", 0, 1, {}},
    {"count_head", &SplitRule::count_head, "head and loss count as a layer", 0, 1, {}},
    {"encoder_stages", &SplitRule::encoder_stages, "ranks that hold only the encoder", 0, 4096, {}},
}};

std::optional<int> layers_of(const YamlCursor& split, std::string_view key) {
  const auto given = split.find(key);
  const auto layers = given ? given->integer(0, 4096) : std::nullopt;
  return layers ? std::optional(static_cast<int>(*layers)) : std::nullopt;
}

SplitChoice read_split(const YamlCursor& block) {
  SplitChoice choice;
  const auto split = block.find("split");
  if (!split) return choice;
  if (!split->is_map()) {
    const std::array<std::string, 2> words{"even", "balanced"};
    if (split->choice(words) == "balanced") choice.kind = SplitChoice::Kind::Balanced;
    return choice;
  }
  const auto fields = describe<SplitRule>(kRuleFields);
  choice.rule = pipecast::bind<SplitRule>(
      kRuleFields, split->fields(fields, {"first_layers", "last_layers", "layout"}));
  choice.rule.first_stage_layers = layers_of(*split, "first_layers");
  choice.rule.last_stage_layers = layers_of(*split, "last_layers");
  const auto layout = split->find("layout");
  if (!layout) return choice;
  choice.kind = SplitChoice::Kind::Layout;
  choice.layout = layout->text().value_or("");
  if (split->size() > 1)
    layout->fault_at_key("a layout string says everything, no other key may stand beside it");
  return choice;
}

void apply(const PlanWords& words, PlannedModel& planned) {
  TrainingPlan& plan = planned.plan;
  plan.layout.microbatch_size = words.microbatch_size;
  plan.layout.sequence = words.sequence_length;
  plan.layout.recompute = word_as<Recompute>("recompute", words.recompute);
  plan.layout.recompute_layers = words.recompute_layers;
  plan.precision = word_as<Precision>("precision", words.precision);
  plan.kernels.fused_attention = words.attention != "unfused";
  if (words.attention == "flash2") plan.attention = AttentionKernel::Flash2;
  if (words.attention == "flash1") plan.attention = AttentionKernel::Flash1;
  plan.kernels.dropout = words.dropout;
  plan.communication = {exposure(words.overlap_tensor), exposure(words.overlap_expert),
                        exposure(words.overlap_data),
                        word_as<ContextExchange>("context_exchange", words.context_exchange)};
  if (!words.overlap_data) {
    plan.layout.gradient_reduction.overlap = false;
    plan.layout.parameter_gather.overlap = false;
  }
  plan.causal_credit = word_as<CausalCredit>("count_attention", words.count_attention);
  plan.gradient_bytes = words.gradient_bytes;
  plan.accumulation_bytes = words.accumulation_bytes;
  plan.offload = words.offload;
  plan.launch = word_as<Launch>("launch", words.launch);
  plan.fused_kernels = words.fused_kernels;
  plan.fused_loss = words.fused_loss;
  plan.fused_projections = words.fused_projections;
  plan.weight_casts = words.weight_casts;
  plan.dispatch_once = words.dispatch_once;
  plan.fused_experts = words.fused_experts;
  plan.small_gathers = words.small_gathers;
  plan.eager = words.eager;
  plan.recompute_last_product = words.recompute_last_product;
  plan.recompute_communication = words.recompute_communication;
  plan.update_barrier = words.update_barrier;
  planned.accelerator = words.accelerator;
}

/// The pipeline's microbatches and the batch are one number seen from two sides.
void settle_batch(const YamlCursor& block, const PlanWords& words, std::optional<int> microbatches,
                  ParallelLayout& layout) {
  if (!microbatches) return;
  const double follows = double{1} * *microbatches * layout.microbatch_size * layout.data;
  layout.global_batch = static_cast<int>(std::min(follows, kMostSequences));
  if (words.global_batch == 0 || words.global_batch == layout.global_batch) return;
  const auto given = block.find("global_batch");
  if (!given) return;
  const int step = layout.microbatch_size * layout.data;
  const std::string hint =
      words.global_batch % step == 0
          ? fmt::format("set pipeline.microbatches to {}", words.global_batch / step)
          : fmt::format("nearest global batches: {} or {}", words.global_batch / step * step,
                        (words.global_batch / step + 1) * step);
  given->fault(
      fmt::format("the global batch is {}, microbatch size × microbatches × data is {} × {} × {} "
                  "= {:g}",
                  words.global_batch, layout.microbatch_size, *microbatches, layout.data, follows),
      hint);
}

}  // namespace

std::vector<std::string> plan_keys() {
  std::vector<std::string> keys{"model", "split"};
  for (const Field<PlanWords>& field : kPlanFields) keys.emplace_back(field.name);
  return keys;
}

std::optional<PlannedModel> read_planned_model(const YamlCursor& block, ParallelLayout layout,
                                               std::optional<int> microbatches,
                                               const std::string& file,
                                               std::span<const std::string> folders,
                                               ReadCache& cache) {
  const auto model = block.find("model");
  if (!model) return std::nullopt;
  PlannedModel planned;
  planned.plan.layout = layout;
  FieldValues values;
  for (const FieldInfo& field : describe<PlanWords>(kPlanFields))
    if (const auto given = block.find(field.name))
      if (const auto value = given->field(field)) values[field.name] = *value;
  const PlanWords words = pipecast::bind<PlanWords>(kPlanFields, values);
  if (words.recompute_layers >= 0 && words.recompute != "full")
    if (const auto layers = block.find("recompute_layers"))
      layers->fault("recompute_layers has an effect with recompute: full only",
                    "add recompute: full, or leave it out");
  apply(words, planned);
  planned.plan.split = read_split(block);
  settle_batch(block, words, microbatches, planned.plan.layout);
  const auto shape = cache.model(*model, file, folders);
  if (!shape) return std::nullopt;
  planned.plan.model = shape->model;
  for (const std::string& key : shape->unverified)
    planned.warnings.push_back(fmt::format("{}: {} is not verified", shape->origin, key));
  for (const std::string& warning : left_out(*shape))
    planned.warnings.push_back(fmt::format("{}: {}", shape->origin, warning));
  return planned;
}

}  // namespace pipecast
