#include <fmt/format.h>

#include <algorithm>

#include "sim/read/framework_run.hpp"
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

bool enabled(const YamlCursor& root, std::string_view block) {
  if (!root.has(block)) return false;
  const auto map = root.find(block);
  if (!map || !map->is_map() || !map->has("enabled")) return false;
  return map->find("enabled")->text() == "true";
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

void read_zero(const YamlCursor& root, FrameworkRun& run) {
  if (!root.has("zero_optimization")) return;
  const auto block = root.find("zero_optimization");
  if (!block || !block->is_map()) return;
  const int stage = number(*block, "stage", 0).value_or(0);
  if (stage > 3) return block->find("stage")->fault("zero_optimization.stage is 0 to 3");
  run.layout.zero = stage;
  if (stage >= 2 && run.layout.pipeline > 1)
    block->find("stage")->fault(
        fmt::format("ZeRO {} and {} pipeline stages: the pipeline engine takes 0 or 1", stage,
                    run.layout.pipeline));
  for (const char* key : {"offload_optimizer", "offload_param"})
    if (block->has(key)) run.notes.push_back(std::string(key) + " is not modelled");
  run.overlap_gradients = block->has("overlap_comm") && block->find("overlap_comm") &&
                          block->find("overlap_comm")->text() == "true";
}

void read_pipeline(const YamlCursor& root, const FrameworkHints& hints, FrameworkRun& run) {
  run.layout.pipeline = hints.stages.value_or(1);
  if (!root.has("pipeline")) return;
  const auto block = root.find("pipeline");
  if (!block || !block->is_map()) return;
  const auto stages = number(*block, "stages", 1);
  if (stages && !hints.stages) run.layout.pipeline = std::min(*stages, 1 << 16);
  if (!stages && !hints.stages)
    run.notes.push_back("the number of pipeline stages is in the code, not in the file: 1 assumed");
  const int interval = number(*block, "activation_checkpoint_interval", 0).value_or(0);
  if (interval > 0) run.layout.recompute = Recompute::Full;
  if (interval > 1)
    run.notes.push_back(fmt::format(
        "checkpoints every {} layers are modelled as checkpoints of every layer", interval));
  if (block->has("partition") && block->find("partition"))
    if (const auto word = block->find("partition")->text(); word && *word != "best")
      run.notes.push_back("pipeline.partition " + *word + ": layers are split evenly");
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
  read_pipeline(root, hints, run);
  read_zero(root, run);
  run.precision = enabled(root, "fp16") ? "fp16" : enabled(root, "bf16") ? "bf16" : "fp32";
  run.gradient_bytes = run.precision == "bf16" ? 4 : run.precision == "fp16" ? 2 : 4;
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
  SourceSpan whole;
  whole.file = file;
  if (!faults.empty()) return fail(located(faults.take(file), whole));
  return run;
}

}  // namespace pipecast
