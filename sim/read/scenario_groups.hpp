#pragma once
#include "sim/model/parallel_layout.hpp"
#include "sim/read/scenario_parts.hpp"

namespace pipecast {

/// `group_exchange` of a workload without a model: what the operations of its stages exchange
/// inside tensor, context and expert groups, into `workload.inside`. A group of one device is a
/// fault. Precondition: the costs were read.
void read_group_exchanges(const YamlCursor& block, const KnownShape& shape,
                          const ParallelLayout& layout, Workload& workload);
inline constexpr std::string_view kGroupExchangeKey = "group_exchange";

/// `group_traffic` of `parallel`: how such exchanges are simulated.
GroupTraffic read_group_traffic(const YamlCursor& parallel);
inline constexpr std::string_view kGroupTrafficKey = "group_traffic";

}  // namespace pipecast
