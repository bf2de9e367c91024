#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "sim/read/config_keys.hpp"
#include "sim/read/framework_run.hpp"
#include "sim/read/framework_split.hpp"
#include "sim/read/json_tree.hpp"
#include "sim/read/toml_tree.hpp"

namespace pipecast {
namespace {

struct ScheduleName {
  std::string_view theirs;  ///< in small letters
  std::string_view ours;
  bool single;  ///< one stage per rank
};

constexpr std::array<ScheduleName, 7> kSchedules{{
    {"1f1b", "1f1b", true},
    {"gpipe", "gpipe", true},
    {"interleaved1f1b", "interleaved-1f1b", false},
    {"loopedbfs", "looped-bfs", false},
    {"interleavedzerobubble", "interleaved-zb", false},
    {"zbvzerobubble", "zbv", false},
    {"dualpipev", "dualpipe-v", false},
}};

/// A section of the file; keys that are left out have torchtitan's default.
class Section {
 public:
  Section(const YamlCursor& root, std::string_view name) : root_(root) {
    if (root.has(name)) map_ = root.find(name);
    if (map_ && !map_->is_map()) {
      map_->fault(fmt::format("[{}] is a table", name));
      map_.reset();
    }
  }

  bool has(std::string_view key) const { return map_ && map_->has(key); }
  std::optional<YamlCursor> find(std::string_view key) const {
    return has(key) ? map_->find(key) : std::nullopt;
  }
  int integer(std::string_view key, int fallback, int minimum) const {
    const auto given = find(key);
    return given ? static_cast<int>(given->integer(minimum, 1 << 30).value_or(fallback)) : fallback;
  }
  std::string text(std::string_view key, std::string fallback) const {
    const auto given = find(key);
    return given ? given->text().value_or(std::move(fallback)) : fallback;
  }
  void fault(std::string_view key, std::string message, std::string hint = {}) const {
    if (const auto given = find(key))
      given->fault(std::move(message), std::move(hint));
    else
      root_.fault_at_key(std::move(message), std::move(hint));
  }

 private:
  const YamlCursor& root_;
  std::optional<YamlCursor> map_;
};

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

const ScheduleName* schedule_of(const Section& parallel) {
  const std::string word = parallel.text("pipeline_parallel_schedule", "1F1B");
  for (const ScheduleName& row : kSchedules)
    if (row.theirs == lower(word)) return &row;
  if (parallel.has("pipeline_parallel_schedule_csv"))
    parallel.fault("pipeline_parallel_schedule",
                   "the schedule is in a CSV file: run it with schedule: {csv: …}");
  else
    parallel.fault("pipeline_parallel_schedule",
                   fmt::format("the schedule '{}' is not understood", shown(word)),
                   "one of: 1F1B, GPipe, Interleaved1F1B, LoopedBFS, InterleavedZeroBubble, "
                   "ZBVZeroBubble, DualPipeV");
  return nullptr;
}

/// What embedding and head count for, in layers.
struct Ends {
  int embedding = 1;
  int head = 1;
};

Ends ends_of(const Section& parallel) {
  return {std::min(parallel.integer("pipeline_parallel_first_stage_less_layers", 1, 0), 4096),
          std::min(parallel.integer("pipeline_parallel_last_stage_less_layers", 1, 0), 4096)};
}

/// Lists of module names, one per virtual stage.
void read_modules(const Section& parallel, FrameworkRun& run) {
  const auto parts = parallel.find("module_fqns_per_model_part");
  if (!parts || run.layout.pipeline == 1) return;
  if (!parts->is_list() || parts->size() == 0 ||
      parts->size() % static_cast<std::size_t>(run.layout.pipeline) != 0)
    return parts->fault(fmt::format("a list of module lists, a multiple of {} pipeline ranks",
                                    run.layout.pipeline));
  std::vector<StageLayers> stages;
  for (const YamlCursor& part : parts->children()) {
    if (!part.is_list()) return part.fault("a list of module names");
    StageLayers& stage = stages.emplace_back();
    for (const YamlCursor& module : part.children()) {
      const std::string name = module.text().value_or("");
      stage.layers += name.starts_with("layers.") ? 1 : 0;
      stage.embedding = stage.embedding || name == "tok_embeddings";
      stage.head = stage.head || name == "output" || name == "lm_head";
    }
  }
  run.layout.chunks = static_cast<int>(stages.size()) / run.layout.pipeline;
  if (!run.model) return;
  use_stages(run, stages);
  if (Diagnostics faults = check(stages, *run.model, run.layout); !faults.empty())
    parts->fault(faults.front().message, faults.front().hint);
}

/// Virtual stages = ⌈(layers + what embedding and head count for) ÷ layers per stage⌉.
void read_chunks(const Section& parallel, const ScheduleName& schedule, FrameworkRun& run) {
  ParallelLayout& layout = run.layout;
  layout.chunks = schedule.single ? 1 : 2;
  const Ends ends = ends_of(parallel);
  const int per_stage = parallel.integer("pipeline_parallel_layers_per_stage", 0, 1);
  if (per_stage == 0 || layout.pipeline == 1) return;
  if (!run.model) {
    run.notes.push_back("the model is not known: two chunks per rank assumed");
    return;
  }
  const int units = run.model->layers + ends.embedding + ends.head;
  const int stages = units / per_stage + (units % per_stage > 0 ? 1 : 0);
  if (stages % layout.pipeline != 0)
    parallel.fault("pipeline_parallel_layers_per_stage",
                   fmt::format("{} virtual stages do not divide by {} pipeline ranks", stages,
                               layout.pipeline));
  else if (schedule.single && stages != layout.pipeline)
    parallel.fault("pipeline_parallel_layers_per_stage",
                   fmt::format("{} virtual stages with a schedule of one stage per rank", stages));
  else
    layout.chunks = stages / layout.pipeline;
}

void read_stages(const Section& parallel, FrameworkRun& run) {
  if (parallel.has("module_fqns_per_model_part")) return read_modules(parallel, run);
  if (!run.model || run.layout.pipeline == 1) return;
  const Ends ends = ends_of(parallel);
  const auto stages = torchtitan_stages(*run.model, run.layout.stages(), ends.embedding, ends.head);
  if (stages) return use_stages(run, *stages);
  for (const Diagnostic& fault : stages.error())
    parallel.fault("pipeline_parallel_degree", fault.message, fault.hint);
}

/// −1 fills what the other degrees leave of the devices.
void read_data(const Section& parallel, const FrameworkHints& hints, FrameworkRun& run) {
  ParallelLayout& layout = run.layout;
  const int replicate = parallel.integer("data_parallel_replicate_degree", 1, 1);
  int shard = parallel.integer("data_parallel_shard_degree", -1, -1);
  if (shard == 0) parallel.fault("data_parallel_shard_degree", "a degree is −1 or at least 1");
  if (shard < 0) {
    ParallelLayout others = layout;
    others.context = layout.context;
    const Result<int> data =
        hints.devices ? data_degree(others, *hints.devices) : Result<int>(replicate);
    if (!data || *data % replicate != 0) {
      parallel.fault("data_parallel_shard_degree",
                     data ? fmt::format("{} replicas do not divide by {}", *data, replicate)
                          : data.error().front().message,
                     data ? "" : data.error().front().hint);
      return;
    }
    if (!hints.devices)
      run.notes.push_back("the number of devices is not given: data_parallel_shard_degree 1");
    shard = *data / replicate;
  }
  if (std::int64_t{1} * shard * replicate > (1 << 24))
    return parallel.fault("data_parallel_shard_degree", "more than 2^24 replicas");
  layout.data = std::max(1, shard) * replicate;
  if (shard > 1) layout.zero = layout.pipeline > 1 ? 2 : 3;
  if (shard > 1 && replicate > 1)
    run.notes.push_back("hybrid sharding is modelled as sharding over all replicas");
}

void read_sequence(const Section& training, const FrameworkHints& hints, FrameworkRun& run) {
  run.layout.sequence = training.integer("seq_len", hints.sequence.value_or(2048), 1);
  if (!training.has("seq_len") && !hints.sequence)
    run.notes.push_back("training.seq_len is not given: sequences of 2048 tokens assumed");
}

void read_batch(const Section& parallel, const Section& training, FrameworkRun& run) {
  ParallelLayout& layout = run.layout;
  const int local =
      training.integer(training.has("local_batch_size") ? "local_batch_size" : "batch_size", 8, 1);
  int size = parallel.integer("pipeline_parallel_microbatch_size", 1, 1);
  if (parallel.has("num_pp_microbatches")) {
    const int count = parallel.integer("num_pp_microbatches", 1, 1);
    if (local % count != 0)
      return parallel.fault(
          "num_pp_microbatches",
          fmt::format("a local batch of {} does not divide into {} microbatches", local, count));
    size = local / count;
  }
  if (layout.pipeline == 1) size = local;
  if (local % size != 0)
    return training.fault(
        "local_batch_size",
        fmt::format("a local batch of {} does not divide by microbatches of {}", local, size),
        fmt::format("nearest: {} or {}", std::max(size, local / size * size),
                    (local / size + 1) * size));
  layout.microbatch_size = size;
  const std::int64_t step = std::int64_t{1} * local * layout.data;
  const int global = training.integer("global_batch_size", -1, -1);
  if (step > (1 << 30)) return training.fault("local_batch_size", "a batch larger than 2^30");
  layout.global_batch = global > 0 ? global : static_cast<int>(step);
  if (layout.global_batch % step != 0)
    return training.fault(
        "global_batch_size",
        fmt::format("the global batch of {} does not divide by local batch × replicas, {} × {}",
                    global, local, layout.data),
        fmt::format("nearest: {} or {}", std::max<std::int64_t>(step, global / step * step),
                    (global / step + 1) * step));
  run.microbatches = layout.global_batch / (size * layout.data);
  if (layout.global_batch > step && layout.pipeline > 1)
    run.notes.push_back(
        "gradient accumulation: torchtitan empties the pipeline between its steps, here all "
        "microbatches run as one");
}

void read_recompute(const YamlCursor& root, FrameworkRun& run) {
  const Section block(root, "activation_checkpoint");
  const std::string mode = block.text("mode", "selective");
  if (mode == "full")
    run.layout.recompute = Recompute::Full;
  else if (mode == "selective")
    run.layout.recompute = block.text("selective_ac_option", "op") == "op" ? Recompute::Alternate
                                                                           : Recompute::Selective;
  else if (mode != "none" && mode != "memory_budget")
    block.fault("mode", fmt::format("the mode '{}' is not understood", shown(mode)),
                "one of: none, selective, full");
}

bool is_true(const Section& section, std::string_view key) {
  return section.text(key, "false") == "true";
}

/// The converters of the model: float8 and mx quantise its linear layers.
void read_precision(const YamlCursor& root, const Section& training, FrameworkRun& run) {
  const Section model(root, "model");
  const Section float8(root, "float8");
  bool eight = is_true(float8, "enable_float8_linear") || is_true(training, "enable_float8_linear");
  if (const auto converters = model.find("converters"); converters && converters->is_list())
    for (const YamlCursor& entry : converters->children()) {
      const std::string word = entry.text().value_or("");
      eight = eight || word.find("float8") != std::string::npos;
      if (word == "mx" || word.ends_with(".mx")) run.precision = "mxfp8";
    }
  if (eight) run.precision = "fp8";
  const std::string recipe = float8.text("recipe_name", "");
  if (eight && recipe.starts_with("rowwise"))
    run.notes.push_back("float8.recipe_name " + recipe + " is modelled as one scale per tensor");
  const std::string reduced = training.text("mixed_precision_reduce", "float32");
  run.memory.gradient_bytes = reduced == "float32" ? 4 : 2;
}

void read_overlaps(const YamlCursor& root, const Section& parallel, const Section& training,
                   FrameworkRun& run) {
  const Section experimental(root, "experimental");
  const Section compile(root, "compile");
  run.overlap_gradients = run.overlap_parameters = true;
  run.overlap_tensor = is_true(parallel, "enable_async_tensor_parallel") ||
                       is_true(experimental, "enable_async_tensor_parallel");
  if (is_true(compile, "enable") || is_true(training, "compile"))
    run.notes.push_back("compile has no effect here: kernels are taken as fused either way");
  // Its ring attention passes keys and values on by alltoall, or gathers them first.
  if (parallel.text("context_parallel_rotate_method", "allgather") == "allgather")
    run.context_exchange = ContextExchange::Gather;
}

}  // namespace

Result<FrameworkRun> read_torchtitan_config(std::string_view text, const std::string& file,
                                            const FrameworkHints& hints) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  const bool json = begin != std::string_view::npos && text[begin] == '{';
  auto document = json ? parse_json(text, file) : parse_toml(text, file);
  if (!document) return fail(document.error());
  drop_nulls(document->root);
  FaultList faults;
  const YamlCursor root = YamlCursor::root(*document, faults);
  FrameworkRun run;
  run.framework = "torchtitan";
  run.model = hints.model;
  const Section parallel(root, "parallelism");
  const Section training(root, "training");
  ParallelLayout& layout = run.layout;
  const auto degree = [&](const char* key) {
    return std::min(parallel.integer(key, 1, 1), 1 << 16);
  };
  layout.pipeline = degree("pipeline_parallel_degree");
  layout.tensor = degree("tensor_parallel_degree");
  layout.context = degree("context_parallel_degree");
  layout.expert = degree("expert_parallel_degree");
  layout.expert_tensor = degree("expert_tensor_parallel_degree");
  layout.sequence_parallel = layout.tensor > 1;
  if (const ScheduleName* schedule = schedule_of(parallel)) {
    run.schedule = layout.pipeline > 1 ? std::string(schedule->ours) : "1f1b";
    read_chunks(parallel, layout.pipeline > 1 ? *schedule : kSchedules[0], run);
    if (faults.empty()) read_stages(parallel, run);
  }
  read_data(parallel, hints, run);
  read_sequence(training, hints, run);
  if (faults.empty()) read_batch(parallel, training, run);
  read_recompute(root, run);
  read_precision(root, training, run);
  read_overlaps(root, parallel, training, run);
  judge_keys(root, torchtitan_keys(), run.notes);
  if (!faults.empty()) return fail(faults.take(file));
  return run;
}

}  // namespace pipecast
