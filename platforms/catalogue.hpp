#pragma once
#include "platforms/platform_kind.hpp"

namespace pipecast {

PlatformKind nvlink_node_kind();
PlatformKind rail_cluster_kind();

}  // namespace pipecast
