#pragma once
#include <cstdint>
#include <vector>

#include "sim/base/quantity.hpp"
#include "sim/model/ids.hpp"

namespace pipecast {

/// A message from one device to another. It starts when the flows it names in `after` have
/// arrived; they must stand before it in the list.
struct Flow {
  DeviceId from;
  DeviceId to;
  Bytes bytes;
  Seconds extra = {};  ///< before the bytes flow, on top of the route's latency
  std::vector<std::uint32_t> after = {};

  bool operator==(const Flow&) const = default;
};

}  // namespace pipecast
