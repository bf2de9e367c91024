#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/diagnostic.hpp"
#include "sim/cost/layout.hpp"
#include "sim/cost/transformer.hpp"

namespace pipecast {

/// A training run as a framework's own configuration says it.
struct FrameworkRun {
  std::string framework;                  ///< "megatron", "deepspeed" or "torchtitan"
  std::optional<TransformerModel> model;  ///< when the file gives the whole shape
  ParallelLayout layout;
  SplitRule split;
  std::string layout_string;  ///< Megatron's, or empty
  std::string schedule;       ///< name in our registry
  int microbatches = 1;
  int group_size = 0;  ///< microbatches per group of an interleaved schedule; 0: the default
  std::string precision = "bf16";
  double gradient_bytes = 4;
  bool overlap_gradients = false;
  bool overlap_parameters = false;
  bool overlap_messages = true;
  std::vector<std::string> notes;  ///< what was read and is not modelled, or had to be assumed

  bool operator==(const FrameworkRun&) const = default;
};

/// What the files leave to the launcher or to code.
struct FrameworkHints {
  std::optional<int> devices;             ///< the world size
  std::optional<int> stages;              ///< pipeline degree, for DeepSpeed
  std::optional<int> vocabulary;          ///< where the tokenizer decides it
  std::optional<TransformerModel> model;  ///< where the file names none
};

enum class Framework : std::uint8_t { Megatron, Deepspeed, Torchtitan };

/// By the text: a TOML section or torchtitan's keys, a JSON object, else Megatron's arguments.
Framework guess_framework(std::string_view text, const std::string& file);

/// Megatron's command line, a shell script that holds it (`--name value`, `--name=value`,
/// NAME=value and $NAME), the namespace it saves, or the table it prints. Arguments that concern
/// the shape or the layout and are not understood become notes.
Result<FrameworkRun> read_megatron_arguments(std::string_view text, const std::string& file,
                                             const FrameworkHints& hints = {});

/// DeepSpeed's JSON. Of train_batch_size, train_micro_batch_size_per_gpu and
/// gradient_accumulation_steps two imply the third.
Result<FrameworkRun> read_deepspeed_config(std::string_view text, const std::string& file,
                                           const FrameworkHints& hints = {});

/// torchtitan's TOML (old releases), or a JSON with the same keys (new ones).
Result<FrameworkRun> read_torchtitan_config(std::string_view text, const std::string& file,
                                            const FrameworkHints& hints = {});

/// The framework guessed, then read.
Result<FrameworkRun> read_framework_run(std::string_view text, const std::string& file,
                                        const FrameworkHints& hints = {});

/// Layers of every stage of the run. Errors of the split, the layout string and the layout.
Result<std::vector<StageLayers>> stages_of(const FrameworkRun& run);

/// Arguments for Megatron, one per line; read_megatron_arguments() of it gives the run back.
Result<std::string> write_megatron_arguments(const FrameworkRun& run);
/// DeepSpeed's JSON. Infeasible for what its pipeline engine cannot do: ZeRO above 1, several
/// chunks per rank, schedules other than 1F1B.
Result<std::string> write_deepspeed_config(const FrameworkRun& run);

/// Global batch = microbatch size × microbatches × data. A fault that names the nearest global
/// batches when it does not divide, or the devices that do when the degrees do not.
Result<int> data_degree(const ParallelLayout& layout, int devices);

}  // namespace pipecast
