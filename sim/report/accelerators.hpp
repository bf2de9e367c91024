#pragma once
#include <span>
#include <string>

#include "sim/model/platform.hpp"

namespace pipecast {

/// Whether the ranks on these devices are on several accelerators, so that tables name them.
/// O(ranks).
inline bool on_several_accelerators(const Platform& platform,
                                    std::span<const DeviceId> device_of_rank) {
  for (const DeviceId device : device_of_rank)
    if (platform.devices[device.at()].accelerator !=
        platform.devices[device_of_rank.front().at()].accelerator)
      return true;
  return false;
}

/// Names of the ranks' devices: `n0.d0`, or `n0.d0, a100_sxm4_80gb` where they are on several
/// accelerators. The platform must outlive it.
class DeviceNames {
 public:
  DeviceNames(const Platform& platform, std::span<const DeviceId> device_of_rank)
      : platform_(platform), several_(on_several_accelerators(platform, device_of_rank)) {}

  std::string of(DeviceId device) const {
    const Device& own = platform_.devices[device.at()];
    return several_ ? own.name + ", " + own.accelerator : own.name;
  }

 private:
  const Platform& platform_;
  bool several_;
};

}  // namespace pipecast
