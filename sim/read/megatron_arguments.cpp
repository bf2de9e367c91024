#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "sim/read/megatron_names.hpp"
#include "sim/read/megatron_parts.hpp"

namespace pipecast {
namespace {

using Arguments = MegatronArguments;

constexpr int kMostSequences = 1 << 24;  ///< of a global batch
const std::array<std::string, 4> kSharding{"no_shard", "optim", "optim_grads",
                                           "optim_grads_params"};
const std::array<std::string, 4> kExchanges{"p2p", "a2a", "allgather", "a2a+p2p"};

void read_degrees(Arguments& given, ParallelLayout& layout) {
  layout.tensor = given.integer("tensor-model-parallel-size", 1);
  layout.pipeline = given.integer("pipeline-model-parallel-size", 1);
  layout.context = given.integer("context-parallel-size", 1);
  layout.expert = given.integer("expert-model-parallel-size", 1);
  layout.expert_tensor = given.integer("expert-tensor-parallel-size", layout.tensor);
  layout.sequence_parallel = given.flag("sequence-parallel") && layout.tensor > 1;
  layout.microbatch_size = given.integer("micro-batch-size", 1);
  if (given.flag("use-distributed-optimizer")) layout.zero = 1;
  const std::string sharding =
      given.choice("data-parallel-sharding-strategy", "no_shard", kSharding);
  if (sharding == "optim") layout.zero = 1;
  if (sharding == "optim_grads") layout.zero = 2;
  if (sharding == "optim_grads_params") layout.zero = 3;
  if (given.flag("use-torch-fsdp2")) layout.zero = 3;
  if (given.flag("use-tp-pp-dp-mapping")) std::swap(layout.order[3], layout.order[4]);
}

void read_sequence(Arguments& given, const FrameworkHints& hints, FrameworkRun& run) {
  run.layout.sequence = given.integer("seq-length", hints.sequence.value_or(1024));
  if (!given.has("seq-length") && !hints.sequence)
    run.notes.push_back("--seq-length is not given: sequences of 1024 tokens assumed");
}

/// One type for all layers, or one per layer.
void read_context_exchange(Arguments& given, FrameworkRun& run) {
  std::vector<std::string> types = given.texts("cp-comm-type");
  if (types.empty()) return;
  const auto known = [](const std::string& word) {
    return std::find(kExchanges.begin(), kExchanges.end(), word) != kExchanges.end();
  };
  if (!known(types.front()))
    return given.fault("cp-comm-type", fmt::format("--cp-comm-type is '{}'", shown(types.front())),
                       suggest(types.front(), kExchanges));
  types.erase(std::find_if_not(types.begin(), types.end(), known), types.end());
  if (types.front() == "a2a") run.context_exchange = ContextExchange::Ulysses;
  if (types.front() == "allgather") run.context_exchange = ContextExchange::Gather;
  run.memory.second_attention_output = run.context_exchange == ContextExchange::Ulysses;
  if (types.front() == "a2a+p2p")
    run.notes.push_back("--cp-comm-type a2a+p2p is modelled as p2p, a ring over all devices");
  if (std::any_of(types.begin(), types.end(),
                  [&](const std::string& type) { return type != types.front(); }))
    run.notes.push_back("--cp-comm-type: the type of the first layer is modelled for all");
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
  if (layers > 0 && per_rank == 0 && !given.faulty("num-layers")) {
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
  const bool waits = given.flag("no-overlap-p2p-communication");
  run.overlap_messages = given.dumped() ? given.flag("overlap-p2p-comm") : !waits;
  run.overlap_tensor = given.flag("tp-comm-overlap");
  if (given.flag("overlap-moe-expert-parallel-comm"))
    run.notes.push_back("--overlap-moe-expert-parallel-comm: choose the schedule combined-1f1b");
  if (given.flag("delay-wgrad-compute"))
    run.notes.push_back("--delay-wgrad-compute: choose a schedule that splits the backward");
}

/// What the command line of pipecast says, else the launcher; 0 when neither does.
int devices_of(Arguments& given, const FrameworkHints& hints, FrameworkRun& run) {
  if (given.has("world-size") && !given.dumped())
    run.notes.push_back(
        "--world-size is no argument of Megatron, which stops at it: the launcher says the "
        "devices");
  if (hints.devices) return *hints.devices;
  const int nodes = given.integer("nnodes", 1, 1, 1 << 14);
  const int per_node = given.integer("nproc-per-node", 0, 0, 1 << 16);
  return given.integer("world-size", bounded_product({nodes, per_node}), 0);
}

/// data = world ÷ (tensor × pipeline × context); m = global ÷ (micro × data).
void read_batch(Arguments& given, const FrameworkHints& hints, FrameworkRun& run) {
  const int devices = devices_of(given, hints, run);
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
    return given.faults().add(count.error());
  const int group = run.group_size > 0 ? run.group_size : layout.pipeline;
  if (layout.chunks > 1 && run.microbatches % group != 0)
    given.faults().add(infeasible(
        fmt::format("{} microbatches do not divide into groups of {} of an interleaved schedule",
                    run.microbatches, group),
        fmt::format("nearest: {} or {}", run.microbatches / group * group,
                    (run.microbatches / group + 1) * group)));
}

/// What is Megatron's and not modelled is one note; what is not Megatron's a fault when it is a
/// slip of the pen. A dump has every argument, with names of its own: those that may matter are
/// named only where they are on.
void judge_names(Arguments& given, FrameworkRun& run) {
  std::vector<std::string> known = listed_megatron_names();
  known.insert(known.end(), given.asked().begin(), given.asked().end());
  std::vector<std::string> unmodelled;
  for (const std::string& name : given.unread()) {
    const MegatronName kind = megatron_name(name);
    const std::string value = given.text(name);
    const bool off = value == "none" || value == "0" || value == "0.0" || value == "[]";
    if (kind == MegatronName::Unmodelled && !(given.dumped() && off))
      unmodelled.push_back("--" + name);
    if (kind != MegatronName::Unknown || given.dumped()) continue;
    if (const auto near = closest(name, known))
      given.fault(name, fmt::format("--{} is no argument of Megatron", shown(name)),
                  fmt::format("did you mean '--{}'?", *near));
    else
      run.notes.push_back("--" + name +
                          " is no argument of Megatron that is known here and has no effect");
  }
  if (!unmodelled.empty())
    run.notes.push_back(fmt::format("{}: not modelled", fmt::join(unmodelled, ", ")));
}

std::string shell_word(const std::string& word) {
  const bool plain = std::all_of(word.begin(), word.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("_-./:,=+@%").find(static_cast<char>(c)) != std::string_view::npos;
  });
  return plain && !word.empty() ? word : fmt::format("\"{}\"", word);
}

/// What Megatron's parser takes, as it was given.
std::vector<std::string> given_arguments(const Arguments& given) {
  std::vector<std::string> lines;
  if (given.dumped()) return lines;
  for (const auto& [name, argument] : given.given()) {
    const bool read = given.asked().contains(name) || megatron_name(name) != MegatronName::Unknown;
    if (!read || is_launcher_name(name) || name == "world-size") continue;
    std::string line = "--" + name;
    for (const std::string& value : argument.values)
      if (!value.empty()) line += " " + shell_word(value);
    lines.push_back(std::move(line));
  }
  return lines;
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
  read_sequence(given, hints, run);
  read_megatron_model(given, hints, run);
  read_megatron_memory(given, run);
  read_context_exchange(given, run);
  read_virtual_stages(given, run, given.integer("num-layers", 1, 1, 4096));
  read_split(given, run);
  read_overlaps(given, run);
  read_batch(given, hints, run);
  // Without experts the expert-tensor degree has no meaning; Megatron sets it to the tensor degree.
  if (!given.has("num-experts")) run.layout.expert_tensor = 1;
  run.schedule = run.layout.chunks > 1 ? "interleaved-1f1b" : "1f1b";
  judge_names(given, run);
  run.arguments = given_arguments(given);
  SourceSpan whole;
  whole.file = file;
  if (!given.faults().empty()) return fail(located(given.faults().take(file), whole));
  return run;
}

}  // namespace pipecast
