#include "sim/model/replica_devices.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

namespace pipecast {
namespace {

using enum ParallelDimension;
using Groups = std::vector<std::vector<int>>;

ParallelLayout layout_of(int tensor, int context, int data, int pipeline) {
  ParallelLayout layout;
  layout.tensor = tensor;
  layout.context = context;
  layout.data = data;
  layout.pipeline = pipeline;
  return layout;
}

ReplicaDevices placed(const ParallelLayout& layout) {
  std::vector<DeviceId> devices(static_cast<std::size_t>(layout.devices()));
  for (std::size_t device = 0; device < devices.size(); ++device)
    devices[device] = {static_cast<std::int32_t>(device)};
  return {layout, devices};
}

/// The devices of every replica, by rank.
Groups pipelines(const ReplicaDevices& devices, int ranks) {
  Groups groups;
  for (int replica = 0; replica < devices.replicas(); ++replica) {
    groups.emplace_back();
    for (int rank = 0; rank < ranks; ++rank)
      groups.back().push_back(devices.device(replica, rank).value);
  }
  return groups;
}

/// The devices that add up the gradients of a rank, over all replicas.
Groups gradient_groups(const ReplicaDevices& devices, int rank, bool experts = false) {
  Groups groups;
  for (int replica = 0; replica < devices.replicas(); ++replica) {
    const std::vector<int> members = devices.gradient_group(replica, experts);
    if (members.front() != replica) continue;
    groups.emplace_back();
    for (const int member : members) groups.back().push_back(devices.device(member, rank).value);
  }
  return groups;
}

/// 16 GPUs, tensor 2, pipeline 4: the groups that Megatron-LM's parallel_state lists.
TEST(ReplicaDevices, MegatronsOrderGivesMegatronsGroups) {
  const ReplicaDevices devices = placed(layout_of(2, 1, 2, 4));
  EXPECT_EQ(pipelines(devices, 4),
            (Groups{{0, 4, 8, 12}, {1, 5, 9, 13}, {2, 6, 10, 14}, {3, 7, 11, 15}}));
  EXPECT_EQ(gradient_groups(devices, 0), (Groups{{0, 2}, {1, 3}}));
  EXPECT_EQ(gradient_groups(devices, 3), (Groups{{12, 14}, {13, 15}}));
}

/// `tp-cp-ep-pp-dp`: Megatron's other order, stages next to each other and replicas far apart.
TEST(ReplicaDevices, PipelineInsideDataPutsStagesSideBySide) {
  ParallelLayout layout = layout_of(2, 1, 2, 4);
  layout.order = {Tensor, Context, Expert, Pipeline, Data};
  const ReplicaDevices devices = placed(layout);
  EXPECT_EQ(pipelines(devices, 4),
            (Groups{{0, 2, 4, 6}, {1, 3, 5, 7}, {8, 10, 12, 14}, {9, 11, 13, 15}}));
  EXPECT_EQ(gradient_groups(devices, 1), (Groups{{2, 10}, {3, 11}}));
}

/// Any order: coordinate × stride of its dimension, strides growing from the first to the last.
TEST(ReplicaDevices, EveryOrderUsesEveryDeviceOnce) {
  ParallelLayout layout = layout_of(2, 3, 2, 4);
  std::array<int, 5> order{0, 1, 2, 3, 4};
  int orders = 0;
  do {
    for (std::size_t i = 0; i < order.size(); ++i)
      layout.order[i] = static_cast<ParallelDimension>(order[i]);
    const ReplicaDevices devices = placed(layout);
    std::vector<int> used;
    for (const std::vector<int>& pipeline : pipelines(devices, 4))
      used.insert(used.end(), pipeline.begin(), pipeline.end());
    std::sort(used.begin(), used.end());
    std::vector<int> all(48);
    std::iota(all.begin(), all.end(), 0);
    ASSERT_EQ(used, all) << order_text(layout.order);
    int stride = 1;
    for (const ParallelDimension dimension : layout.order) {
      const int neighbour = dimension == Pipeline  ? devices.device(0, 1).value
                            : dimension == Tensor  ? devices.device(1, 0).value
                            : dimension == Context ? devices.device(2, 0).value
                            : dimension == Data    ? devices.device(6, 0).value
                                                   : stride;
      EXPECT_EQ(neighbour, stride) << order_text(layout.order);
      if (dimension != Expert) stride *= degree(layout, dimension);
    }
    ++orders;
  } while (std::next_permutation(order.begin(), order.end()));
  EXPECT_EQ(orders, 120);
}

/// Experts reuse the devices of tensor, context and data: those that hold the same ones are
/// expert × expert_tensor apart.
TEST(ReplicaDevices, ExpertsAreAddedUpBetweenTheirOwnCopies) {
  ParallelLayout layout = layout_of(1, 1, 8, 1);
  layout.expert = 4;
  EXPECT_EQ(gradient_groups(placed(layout), 0, true), (Groups{{0, 4}, {1, 5}, {2, 6}, {3, 7}}));
  EXPECT_EQ(gradient_groups(placed(layout), 0), (Groups{{0, 1, 2, 3, 4, 5, 6, 7}}));
}

/// A list names the device of every place of the order.
TEST(ReplicaDevices, AListPutsTheOrderOnOtherDevices) {
  const ParallelLayout layout = layout_of(1, 1, 2, 2);
  const std::vector<DeviceId> listed{{30}, {31}, {7}, {8}};
  const ReplicaDevices devices(layout, listed);
  EXPECT_EQ(pipelines(devices, 2), (Groups{{30, 7}, {31, 8}}));
}

}  // namespace
}  // namespace pipecast
