#pragma once
#include <optional>

#include "sim/model/parallel_layout.hpp"
#include "sim/read/scenario_parts.hpp"

namespace pipecast {

/// `parallel:` of a scenario, in its workload or at its top, not in both: degrees, their order over
/// the devices, ZeRO and how gradients and parameters travel. Pipeline and chunks come from the
/// shape, 1 where it is not known. Without the block nothing is parallel but the pipeline.
ParallelLayout read_parallel(const YamlCursor& root, const std::optional<YamlCursor>& workload,
                             const KnownShape& shape, FaultList& faults);

/// `gradient`, `expert_gradient`, `expert_parameters` and `optimizer_step` of a workload into
/// `workload.sync`; `gradient` is `gradients` unless given. Precondition: the bytes were read.
void read_stage_sync(const YamlCursor& block, const KnownShape& shape, Workload& workload);
inline constexpr std::string_view kSyncKeys[] = {"gradient", "expert_gradient", "expert_parameters",
                                                 "optimizer_step"};

}  // namespace pipecast
