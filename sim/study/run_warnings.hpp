#pragma once
#include <string>
#include <vector>

#include "sim/graph/transfers.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/program.hpp"
#include "sim/report/summary.hpp"

namespace pipecast {

/// What the policy leaves out of a file that spells out its own sends and receives.
std::vector<std::string> transfer_warnings(const Program& program, TransferPolicy policy);

/// The longest path lets messages pass each other freely; where a link then carries more than it
/// can, its step is too short.
std::vector<std::string> overload_warnings(const Summary& summary, const Platform& platform);

/// That replicas are on several accelerators, which tables of one replica do not show.
std::vector<std::string> unlike_replicas(const Platform& platform, const ReplicaDevices& devices);

}  // namespace pipecast
