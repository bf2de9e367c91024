#pragma once
#include <span>
#include <vector>

#include "sim/model/ids.hpp"
#include "sim/model/parallel_layout.hpp"

namespace pipecast {

/// Which device every replica of the pipeline uses. A replica is one coordinate of tensor, context
/// and data; replica 0 is the one that reports show. Inside, replicas count tensor fastest, then
/// context, then data, whatever the order over the devices.
class ReplicaDevices {
 public:
  /// `devices` in the layout's order; its size is layout.devices().
  ReplicaDevices(const ParallelLayout& layout, std::span<const DeviceId> devices);

  int replicas() const { return layout_.tensor * layout_.context * layout_.data; }
  int ranks() const { return ranks_; }
  DeviceId device(int replica, int rank) const {
    return devices_[static_cast<std::size_t>(replica) * static_cast<std::size_t>(ranks_) +
                    static_cast<std::size_t>(rank)];
  }
  /// Devices of replica 0, by rank.
  std::vector<DeviceId> reported() const;

  /// Replicas that add up the same gradients as `replica`, itself included, ascending: those of the
  /// same tensor coordinate; for experts those that hold the same experts.
  std::vector<int> gradient_group(int replica, bool experts) const;

 private:
  ParallelLayout layout_;
  int ranks_;
  std::vector<DeviceId> devices_;  ///< [replica · ranks + rank]
};

}  // namespace pipecast
