#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/cost/training_plan.hpp"
#include "sim/read/read_cache.hpp"
#include "sim/read/yaml_cursor.hpp"

namespace pipecast {

/// A training plan as a file says it: its layers are not yet cut into stages, since a balanced cut
/// needs the machine.
struct PlannedModel {
  TrainingPlan plan;
  std::string accelerator;  ///< catalogue id; empty: the platform's
  std::vector<std::string> warnings;

  bool operator==(const PlannedModel&) const = default;
};

/// Keys of a training plan beside `model`: sizes (`microbatch_size`, `sequence_length`,
/// `global_batch`), `precision`, `recompute`, `recompute_layers`, `attention`, `dropout`, `split`,
/// `overlap_tensor`, `overlap_expert`, `overlap_data`, `context_exchange`, `count_attention`,
/// `gradient_bytes`, `accumulation_bytes`, `offload`, `launch`, `fused_kernels`, `fused_loss`,
/// `fused_projections`, `eager`, `small_gathers`, `weight_casts`, `dispatch_once`, `fused_experts`,
/// `recompute_communication`, `recompute_last_product`, `update_barrier`, `accelerator`.
std::vector<std::string> plan_keys();

/// The plan of a block that has `model:`. Degrees come in with `layout`. `microbatches` and the
/// sizes must agree with the global batch; it follows from them when it is left out. Faults go to
/// the cursor's list; keys that are not of a plan are left alone.
std::optional<PlannedModel> read_planned_model(const YamlCursor& block, ParallelLayout layout,
                                               std::optional<int> microbatches,
                                               const std::string& file,
                                               std::span<const std::string> folders,
                                               ReadCache& cache);

}  // namespace pipecast
