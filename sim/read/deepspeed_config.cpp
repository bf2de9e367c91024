#include <fmt/format.h>

#include <algorithm>

#include "sim/read/config_keys.hpp"
#include "sim/read/framework_run.hpp"
#include "sim/read/framework_split.hpp"
#include "sim/read/json_tree.hpp"

namespace pipecast {
namespace {

/// A number of the file; nothing when it is left out or "auto".
std::optional<int> number(const YamlCursor& map, std::string_view key, int minimum) {
  if (!map.is_map() || !map.has(key)) return std::nullopt;
  const auto given = map.find(key);
  if (!given) return std::nullopt;
  if (given->kind() == YamlKind::Scalar && given->text() == "auto") return std::nullopt;
  const auto value = given->integer(minimum, 1 << 20);
  return value ? std::optional(static_cast<int>(*value)) : std::nullopt;
}

bool is_true(const YamlCursor& map, std::string_view key) {
  if (!map.has(key)) return false;
  const auto given = map.find(key);
  return given && given->text() == "true";
}

bool enabled(const YamlCursor& root, std::string_view block) {
  if (!root.has(block)) return false;
  const auto map = root.find(block);
  return map && map->is_map() && is_true(*map, "enabled");
}

std::string nearest(std::int64_t value, std::int64_t step) {
  const std::int64_t below = value / step * step;
  return below == 0 ? fmt::format("nearest: {}", step)
                    : fmt::format("nearest: {} or {}", below, below + step);
}

struct Batch {
  std::optional<int> total;
  std::optional<int> micro;
  std::optional<int> steps;  ///< of gradient accumulation: microbatches
};

/// total = micro × steps × data: two imply the third, three must agree.
void solve(const YamlCursor& root, const Batch& batch, std::optional<int> data, FrameworkRun& run) {
  ParallelLayout& layout = run.layout;
  if (!batch.total && !batch.micro) {
    root.fault_at_key("the file lacks train_batch_size and train_micro_batch_size_per_gpu",
                      "any two of train_batch_size, train_micro_batch_size_per_gpu and "
                      "gradient_accumulation_steps imply the third");
    return;
  }
  layout.microbatch_size = batch.micro.value_or(0);
  run.microbatches = batch.steps.value_or(0);
  if (batch.total && batch.micro && batch.steps && !data) {
    const std::int64_t step = std::int64_t{1} * *batch.micro * *batch.steps;
    if (*batch.total % step != 0)
      return root.find("train_batch_size")
          ->fault(fmt::format("train_batch_size {} does not divide by microbatch size × steps, "
                              "{} × {}",
                              *batch.total, *batch.micro, *batch.steps),
                  nearest(*batch.total, step));
    data = static_cast<int>(*batch.total / step);
  }
  layout.data = data.value_or(1);
  if (!data) run.notes.push_back("the number of devices is not given: data parallel degree 1");
  const std::int64_t known = std::int64_t{1} * layout.data * batch.micro.value_or(1) *
                             (batch.micro && batch.steps ? *batch.steps
                              : batch.micro              ? 1
                                                         : batch.steps.value_or(1));
  if (batch.total && *batch.total % known != 0)
    return root.find("train_batch_size")
        ->fault(fmt::format("train_batch_size {} does not divide by {}", *batch.total, known),
                nearest(*batch.total, known));
  if (!batch.micro) {
    layout.microbatch_size = static_cast<int>(*batch.total / known);
    run.microbatches = batch.steps.value_or(1);
  } else if (!batch.steps) {
    run.microbatches = batch.total ? static_cast<int>(*batch.total / known) : 1;
  } else if (batch.total && *batch.total != known) {
    return root.find("train_batch_size")
        ->fault(fmt::format("train_batch_size is {}, but microbatch size × steps × data is "
                            "{} × {} × {} = {}",
                            *batch.total, *batch.micro, *batch.steps, layout.data, known));
  }
  const std::int64_t global =
      std::int64_t{1} * layout.microbatch_size * run.microbatches * layout.data;
  if (global > (1 << 30)) return root.fault_at_key("the global batch is larger than 2^30");
  layout.global_batch = static_cast<int>(global);
}

/// A block of the file; nothing when it is left out.
std::optional<YamlCursor> block_of(const YamlCursor& root, std::string_view name) {
  if (!root.has(name)) return std::nullopt;
  auto block = root.find(name);
  if (block && block->is_map()) return block;
  if (block) block->fault(fmt::format("{} is an object", name));
  return std::nullopt;
}

/// The host keeps the optimizer's state, or the share `ratio` of it.
void read_optimizer_offload(const YamlCursor& zero, FrameworkRun& run) {
  const auto block = block_of(zero, "offload_optimizer");
  if (!block || !block->has("device") || block->find("device")->text() == "none") return;
  const FieldInfo ratio{"ratio", FieldKind::Number, 0, 1, "", "", {}};
  const auto given = block->has("ratio") ? block->find("ratio") : std::nullopt;
  const auto share = given ? given->field(ratio) : std::nullopt;
  run.memory.optimizer_bytes *= share ? 1 - std::get<double>(*share) : 0;
}

void read_zero(const YamlCursor& root, FrameworkRun& run) {
  const auto block = block_of(root, "zero_optimization");
  if (!block) return;
  const int stage = number(*block, "stage", 0).value_or(0);
  if (stage > 3) return block->find("stage")->fault("zero_optimization.stage is 0 to 3");
  run.layout.zero = stage;
  if (stage >= 2 && run.layout.pipeline > 1)
    block->find("stage")->fault(
        fmt::format("ZeRO {} and {} pipeline stages: the pipeline engine takes 0 or 1", stage,
                    run.layout.pipeline));
  read_optimizer_offload(*block, run);
  for (const char* key : {"offload_param", "zero_quantized_weights", "zero_quantized_gradients",
                          "zero_hpz_partition_size", "mics_shard_size"})
    if (block->has(key)) run.notes.push_back(std::string(key) + " is not modelled");
  run.overlap_gradients = is_true(*block, "overlap_comm");
}

void read_pipeline(const YamlCursor& root, const FrameworkHints& hints, FrameworkRun& run,
                   std::string& method) {
  run.layout.pipeline = hints.stages.value_or(1);
  const auto block = block_of(root, "pipeline");
  if (!block) return;
  const auto stages = number(*block, "stages", 1);
  if (stages && !hints.stages) run.layout.pipeline = std::min(*stages, 1 << 16);
  if (!stages && !hints.stages)
    run.notes.push_back("the number of pipeline stages is in the code, not in the file: 1 assumed");
  const int interval = number(*block, "activation_checkpoint_interval", 0).value_or(0);
  if (interval > 0) run.layout.recompute = Recompute::Full;
  run.memory.layers_per_checkpoint = std::max(1, interval);
  if (block->has("partition") && block->find("partition"))
    if (const auto word = block->find("partition")->text()) method = *word;
}

/// Checkpoints in the host's memory, or cut over the tensor group.
void read_checkpoints(const YamlCursor& root, FrameworkRun& run) {
  const auto block = block_of(root, "activation_checkpointing");
  if (!block) return;
  const bool recomputes = run.layout.recompute == Recompute::Full;
  if (is_true(*block, "cpu_checkpointing") && recomputes) run.memory.offload = 1;
  if (is_true(*block, "cpu_checkpointing") && !recomputes)
    run.notes.push_back(
        "cpu_checkpointing has no effect here: nothing is recomputed "
        "(pipeline.activation_checkpoint_interval)");
  if (is_true(*block, "partition_activations") && run.layout.tensor > 1)
    run.notes.push_back("partition_activations is not modelled: checkpoints are kept whole");
}

/// Bytes of a parameter with DeepSpeed's own Adam: gradients of bf16 are added up in 32 bits.
void read_precision(const YamlCursor& root, FrameworkRun& run) {
  const bool half = enabled(root, "fp16");
  const bool brain = enabled(root, "bf16") || enabled(root, "bfloat16");
  if (half && brain)
    root.find("fp16")->fault_at_key("fp16 and bf16 exclude each other", "disable one of them");
  run.precision = half ? "fp16" : brain ? "bf16" : "fp32";
  run.memory.gradient_bytes = half ? 2 : 4;
  run.memory.keeps_boundaries = true;
  if (half || brain) return;
  run.memory.weight_bytes = run.kernels.element_bytes = 4;
  run.memory.optimizer_bytes = 8;
}

void read_stages(const std::string& method, FrameworkRun& run, FaultList& faults) {
  if (!run.model || run.layout.pipeline == 1) return;
  const bool known = method == "parameters" || method == "uniform" || method.starts_with("type:");
  if (!known && method != "best")
    run.notes.push_back("pipeline.partition " + method + " is not known: parameters assumed");
  if (method == "best")
    run.notes.push_back(
        "layers are spread by parameters, as PipelineModule does unless the code says otherwise");
  const auto stages = deepspeed_stages(*run.model, run.layout.pipeline, method);
  if (stages)
    use_stages(run, *stages);
  else
    faults.add(stages.error());
}

}  // namespace

Result<FrameworkRun> read_deepspeed_config(std::string_view text, const std::string& file,
                                           const FrameworkHints& hints) {
  auto document = parse_json(text, file);
  if (!document) return fail(document.error());
  drop_nulls(document->root);
  FaultList faults;
  const YamlCursor root = YamlCursor::root(*document, faults);
  if (!root.is_map()) {
    root.fault("a DeepSpeed configuration is one JSON object");
    return fail(faults.take(file));
  }
  FrameworkRun run;
  run.framework = "deepspeed";
  run.schedule = "1f1b";
  run.model = hints.model;
  run.layout.sequence = hints.sequence.value_or(run.layout.sequence);
  if (!hints.sequence)
    run.notes.push_back(fmt::format("the length of a sequence is in the code: {} tokens assumed",
                                    run.layout.sequence));
  std::string method = "best";
  read_precision(root, run);
  read_pipeline(root, hints, run, method);
  read_zero(root, run);
  read_checkpoints(root, run);
  judge_keys(root, deepspeed_keys(), run.notes);
  run.layout.tensor = number(root, "tensor_parallel_size", 1).value_or(1);
  const Batch batch{number(root, "train_batch_size", 1),
                    number(root, "train_micro_batch_size_per_gpu", 1),
                    number(root, "gradient_accumulation_steps", 1)};
  std::optional<int> data;
  if (hints.devices) {
    const Result<int> degree = data_degree(run.layout, *hints.devices);
    if (degree)
      data = *degree;
    else
      faults.add(degree.error());
  }
  if (faults.empty()) solve(root, batch, data, run);
  if (faults.empty()) read_stages(method, run, faults);
  SourceSpan whole;
  whole.file = file;
  if (!faults.empty()) return fail(located(faults.take(file), whole));
  return run;
}

}  // namespace pipecast
