#pragma once
#include <string>
#include <vector>

#include "sim/model/platform.hpp"

namespace pipecast {

/// A group of devices of one level, or (without members) one device.
struct TopologyGroup {
  std::string label;
  std::vector<TopologyGroup> members;
  std::size_t hidden = 0;   ///< members left out
  std::size_t devices = 1;  ///< in all, hidden ones included
};

/// What lies in what: the levels whose groups are unions of groups further in (rails lie across
/// nodes and are left out), each group with at most `shown` members. The outermost group is the
/// platform. O(devices × levels).
TopologyGroup topology_groups(const Platform& platform, std::size_t shown);

}  // namespace pipecast
