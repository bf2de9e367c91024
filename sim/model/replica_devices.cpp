#include "sim/model/replica_devices.hpp"

#include <array>
#include <cassert>

namespace pipecast {
namespace {

/// Distance in the order between neighbours of each dimension; experts reuse the other dimensions.
std::array<int, 5> strides(const ParallelLayout& layout) {
  std::array<int, 5> stride{};
  int next = 1;
  for (const ParallelDimension dimension : layout.order) {
    stride[static_cast<std::size_t>(dimension)] = next;
    if (dimension != ParallelDimension::Expert) next *= degree(layout, dimension);
  }
  return stride;
}

}  // namespace

ReplicaDevices::ReplicaDevices(const ParallelLayout& layout, std::span<const DeviceId> devices)
    : layout_(layout), ranks_(layout.pipeline) {
  assert(devices.size() == static_cast<std::size_t>(layout.devices()));
  const std::array<int, 5> stride = strides(layout);
  const auto along = [&](ParallelDimension dimension, int coordinate) {
    return stride[static_cast<std::size_t>(dimension)] * coordinate;
  };
  devices_.reserve(devices.size());
  for (int data = 0; data < layout.data; ++data)
    for (int context = 0; context < layout.context; ++context)
      for (int tensor = 0; tensor < layout.tensor; ++tensor)
        for (int rank = 0; rank < ranks_; ++rank)
          devices_.push_back(devices[static_cast<std::size_t>(
              along(ParallelDimension::Data, data) + along(ParallelDimension::Context, context) +
              along(ParallelDimension::Tensor, tensor) +
              along(ParallelDimension::Pipeline, rank))]);
}

std::vector<DeviceId> ReplicaDevices::reported() const {
  return {devices_.begin(), devices_.begin() + ranks_};
}

std::vector<int> ReplicaDevices::gradient_group(int replica, bool experts) const {
  const int step = experts ? layout_.expert * layout_.expert_tensor : layout_.tensor;
  std::vector<int> group;
  for (int member = replica % step; member < replicas(); member += step) group.push_back(member);
  return group;
}

}  // namespace pipecast
