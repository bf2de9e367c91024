#pragma once
#include <map>
#include <string>

#include "sim/model/platform.hpp"
#include "sim/model/workload.hpp"

namespace pipecast {

/// The costs of a workload on every device: where the machine is mixed and costs were derived,
/// those of its accelerator. Both must outlive it.
class DeviceCosts {
 public:
  DeviceCosts(const Workload& workload, const Platform& platform)
      : workload_(workload), platform_(platform) {
    for (const CostsOn& own : workload.on)
      own_.emplace(own.accelerator, on_accelerator(workload, own.accelerator));
  }

  /// The same object for devices that take the same time.
  const Workload& on(DeviceId device) const {
    if (own_.empty()) return workload_;
    const auto own = own_.find(platform_.devices[device.at()].accelerator);
    return own == own_.end() ? workload_ : own->second;
  }

 private:
  const Workload& workload_;
  const Platform& platform_;
  std::map<std::string, Workload> own_;
};

}  // namespace pipecast
