#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/diagnostic.hpp"
#include "sim/cost/memory.hpp"
#include "sim/cost/training_plan.hpp"

namespace pipecast {

/// A training run as a framework's own configuration says it.
struct FrameworkRun {
  std::string framework;                  ///< "megatron", "deepspeed" or "torchtitan"
  std::optional<TransformerModel> model;  ///< when the file gives the whole shape
  ParallelLayout layout;
  SplitRule split;
  std::string layout_string;  ///< Megatron's, or what another framework's split comes to; or empty
  std::string schedule;       ///< name in our registry
  int microbatches = 1;
  int group_size = 0;  ///< microbatches per group of an interleaved schedule; 0: the default
  std::string precision = "bf16";  ///< fp32, or a word of a scenario's `precision`
  double hidden_dropout = 0;
  double attention_dropout = 0;
  KernelChoice kernels;
  MemoryRules memory;  ///< bytes per parameter and what is offloaded, as the framework has it
  ContextExchange context_exchange = ContextExchange::Ring;
  bool overlap_gradients = false;
  bool overlap_parameters = false;
  bool overlap_messages = true;
  bool overlap_tensor = false;
  std::vector<std::string> arguments;  ///< Megatron's as they were given, `--name value`, by name
  std::vector<std::string> notes;      ///< what was read and is not modelled, or had to be assumed

  bool operator==(const FrameworkRun&) const = default;
};

/// What the files leave to the launcher or to code.
struct FrameworkHints {
  std::optional<int> devices;             ///< the world size
  std::optional<int> stages;              ///< pipeline degree, for DeepSpeed
  std::optional<int> vocabulary;          ///< where the tokenizer decides it
  std::optional<int> sequence;            ///< tokens, where the file does not say
  std::optional<TransformerModel> model;  ///< where the file names none
};

enum class Framework : std::uint8_t { Megatron, Deepspeed, Torchtitan };

/// By the text: a TOML section or torchtitan's keys, a JSON object, else Megatron's arguments.
Framework guess_framework(std::string_view text, const std::string& file);

/// Megatron's command line, a shell script that holds it (`--name value`, `--name=value`,
/// NAME=value and $NAME), the namespace it saves, or the table it prints. Arguments of Megatron
/// that change precision, memory, time or the model and are not modelled become notes; one that
/// Megatron does not have and that is close to one it has is a fault, else a note.
Result<FrameworkRun> read_megatron_arguments(std::string_view text, const std::string& file,
                                             const FrameworkHints& hints = {});

/// DeepSpeed's JSON. Of train_batch_size, train_micro_batch_size_per_gpu and
/// gradient_accumulation_steps two imply the third. Layers go to stages as PipelineModule gives
/// them: by parameters, unless the file says uniform or type:….
Result<FrameworkRun> read_deepspeed_config(std::string_view text, const std::string& file,
                                           const FrameworkHints& hints = {});

/// torchtitan's TOML (old releases), or a JSON with the same keys (new ones). Layers go to stages
/// as generate_llm_fqn_per_model_part() gives them.
Result<FrameworkRun> read_torchtitan_config(std::string_view text, const std::string& file,
                                            const FrameworkHints& hints = {});

/// The framework guessed, then read.
Result<FrameworkRun> read_framework_run(std::string_view text, const std::string& file,
                                        const FrameworkHints& hints = {});

/// Layers of every stage of the run. Errors of the split, the layout string and the layout.
Result<std::vector<StageLayers>> stages_of(const FrameworkRun& run);

/// Gives the run these stages: as a layout string, unless `run.split` comes to the same.
void use_stages(FrameworkRun& run, const std::vector<StageLayers>& stages);

/// A launch line of Megatron: torchrun, then one argument per line; what was read from Megatron is
/// given on as it was. read_megatron_arguments() of it gives the run back. Infeasible for what its
/// arguments cannot say and for stages that do not fit the model.
Result<std::string> write_megatron_arguments(const FrameworkRun& run);
/// DeepSpeed's JSON. Infeasible for what its pipeline engine cannot do: ZeRO above 1, several
/// chunks per rank, schedules other than 1F1B, precisions it does not have.
Result<std::string> write_deepspeed_config(const FrameworkRun& run);

/// Global batch = microbatch size × microbatches × data. A fault that names the nearest global
/// batches when it does not divide, or the devices that do when the degrees do not.
Result<int> data_degree(const ParallelLayout& layout, int devices);

}  // namespace pipecast
