#pragma once
#include <span>

#include "sim/base/quantity.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/workload.hpp"

namespace pipecast {

/// What a schedule that plans with transfer times should expect of one message: the longest time
/// of the workload's largest message between neighbouring ranks, links unshared, message overhead
/// not included. Zero where nothing connects them. O(ranks · route).
Seconds expected_transfer(const Platform& platform, std::span<const DeviceId> device_of_rank,
                          const Workload& workload);

}  // namespace pipecast
