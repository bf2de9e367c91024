#pragma once
#include <optional>

#include "sim/model/collective_shape.hpp"

namespace pipecast {

/// Rings over the wires that devices have to each other, in both directions where both are there:
/// along every axis of a box in a torus, the bytes cut into as many parts as axes, each part taking
/// the axes in another order; on other wires (DGX-1's cube-mesh, a ring) the widest ring through
/// all devices, then the widest over what is left, and so on. Nothing where the group is no box, is
/// larger than the search takes, or hangs on switches. O(devices · axes), or exponential in at most
/// 12 devices.
std::optional<CollectiveShape> wired_rings(Collective kind, const std::vector<DeviceId>& group,
                                           const Platform& platform);

}  // namespace pipecast
