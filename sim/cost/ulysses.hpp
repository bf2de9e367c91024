#pragma once
#include "sim/base/diagnostic.hpp"
#include "sim/cost/transformer.hpp"
#include "sim/model/parallel_layout.hpp"

namespace pipecast {

/// Ulysses gives each device of a sequence whole heads: heads divide by tensor × context, and
/// key/value heads by it or it by them (then they are copied). The fault names degrees that do.
Diagnostics check_ulysses(const ParallelLayout& layout, const TransformerModel& model);

/// How often a device's keys and values are sent so that each device of the context group has a
/// head of them: 1 where there are enough.
double ulysses_copies(const ParallelLayout& layout, const TransformerModel& model);

}  // namespace pipecast
