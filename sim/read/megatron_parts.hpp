#pragma once
#include "sim/read/framework_run.hpp"
#include "sim/read/megatron_given.hpp"

namespace pipecast {

/// The model's shape, where the arguments give it; else the hint's.
void read_megatron_model(MegatronArguments& given, const FrameworkHints& hints, FrameworkRun& run);

/// Precision, what a parameter costs under the optimizer, dropout and attention kernels, what is
/// recomputed and what the host keeps. Precondition: the model is read.
void read_megatron_memory(MegatronArguments& given, FrameworkRun& run);

}  // namespace pipecast
