#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include "sim/cost/cluster_links.hpp"
#include "sim/graph/flows.hpp"
#include "sim/model/collectives.hpp"
#include "sim/read/platform_preset.hpp"
#include "sim/read/platform_xml.hpp"
#include "sim/read/scenario.hpp"
#include "sim/run/longest_path.hpp"

namespace pipecast {
namespace {

constexpr double kMebibyte = 1048576;

std::vector<std::string> folders() { return {std::string(PIPECAST_SOURCE_DIR) + "/platforms"}; }

Platform machine(const std::string& name) {
  const std::vector<PlatformKind> kinds = builtin_platform_kinds();
  const Result<PlatformPreset> preset = find_platform_preset(name, folders(), kinds);
  EXPECT_TRUE(preset) << render(preset.error());
  const Result<Platform> platform =
      make_platform(*find_platform_kind(kinds, preset->kind), preset->values);
  EXPECT_TRUE(platform) << render(platform.error());
  return *platform;
}

double end_of(const TaskGraph& graph) {
  double end = 0;
  for (const Interval& interval : longest_path(graph).intervals)
    end = std::max(end, interval.end_s);
  return end;
}

/// What the flows of a collective take: the longest path through them, or their latencies and the
/// bytes of the busiest link.
double flows_s(Collective kind, const std::vector<DeviceId>& group, double bytes,
               const Platform& platform) {
  const Result<CollectivePlan> plan = plan_collective({kind, {}, group, Bytes{bytes}}, platform);
  EXPECT_TRUE(plan) << render(plan.error());
  TaskGraph graph = *build_flow_graph(plan->flows, platform);
  const double unshared = end_of(graph);
  std::vector<double> busy(platform.links.size(), 0);
  for (Task& task : graph.tasks) {
    for (const LinkId link : graph.routes[static_cast<std::size_t>(task.route)].links)
      busy[link.at()] += task.bytes / platform.links[link.at()].bandwidth.value;
    task.bytes = 0;
  }
  return std::max(unshared, end_of(graph) + *std::max_element(busy.begin(), busy.end()));
}

std::vector<DeviceId> every(std::int32_t stride, int size) {
  std::vector<DeviceId> group;
  for (std::int32_t member = 0; member < size; ++member) group.push_back({member * stride});
  return group;
}

/// Group costs are those of the flows, within 1 %, on every machine people buy, inside and across
/// nodes, for messages of every protocol.
TEST(LinkCostLaws, GroupsCostWhatTheirFlowsTake) {
  for (const std::string& name : platform_preset_names(folders())) {
    const Platform platform = machine(name);
    for (const int stride : {1, 8})
      for (const int size : {2, 3, 4, 8, 16, 32, 64}) {
        if (static_cast<std::size_t>(stride * size) > platform.devices.size()) continue;
        const std::vector<DeviceId> group = every(stride, size);
        for (const Collective kind :
             {Collective::AllGather, Collective::AllReduce, Collective::AllToAll}) {
          const Result<CollectiveTime> time = collective_time({kind, {}, group, {}}, platform);
          ASSERT_TRUE(time) << render(time.error());
          for (const double bytes : {0.01, 1.0, 16.0, 256.0, 4096.0})
            if (const double flows = flows_s(kind, group, bytes * kMebibyte, platform); flows > 0) {
              EXPECT_NEAR(time->seconds(bytes * kMebibyte) / flows, 1, 0.01)
                  << name << " " << collective_name(kind) << " of " << bytes << " MiB among "
                  << size << " devices, every " << stride;
            }
        }
      }
  }
}

/// On the first devices of the platform, or on those given.
Result<ClusterLinks> links_on(const Platform& platform, const ParallelLayout& layout,
                              const std::vector<int>& given = {}) {
  std::vector<DeviceId> devices;
  for (int at = 0; at < layout.devices(); ++at)
    devices.push_back({given.empty() ? at : given[static_cast<std::size_t>(at)]});
  return cluster_links(platform, layout, ReplicaDevices(layout, devices));
}

ParallelLayout tensor_of(int tensor, int data) {
  ParallelLayout layout;
  layout.tensor = tensor;
  layout.data = data;
  return layout;
}

/// Seven wires leave a MI300X: its group gathers at seven times what a pair does.
TEST(LinkCostLaws, AMeshGroupUsesAllItsWires) {
  for (const char* name : {"mi300x-roce", "ascend-910b-roce"}) {
    const Platform platform = machine(name);
    const double bytes = 1024 * kMebibyte;
    const double pair = gather_seconds(links_on(platform, tensor_of(2, 1))->tensor, bytes);
    const double all = gather_seconds(links_on(platform, tensor_of(8, 1))->tensor, bytes);
    EXPECT_NEAR(all / (pair * 2 / 8), 1, 0.01) << name;  // an eighth over each wire, not a half
  }
}

/// A line that closes round the torus has two ways; a plane has two axes of them.
TEST(LinkCostLaws, ATorusUsesBothDirectionsAndAllAxes) {
  const Platform pod = machine("tpu-v5p-pod");
  const double wire = 90e9;
  const double bytes = 1024 * kMebibyte;
  const auto rate = [&](int devices) {
    const double moved = bytes * (devices - 1) / devices;
    return moved / gather_seconds(links_on(pod, tensor_of(devices, 1))->tensor, bytes);
  };
  EXPECT_NEAR(rate(8) / wire, 1, 0.02);          // part of a line: the end has one wire
  EXPECT_NEAR(rate(28) / (2 * wire), 1, 0.02);   // the last axis
  EXPECT_NEAR(rate(560) / (4 * wire), 1, 0.15);  // two axes, and their hops
}

/// Two rings of double and single wires, both ways: six wires of 25 GB/s leave a V100 of a DGX-1.
TEST(LinkCostLaws, ACubeMeshUsesAllSixWires) {
  const Platform node = machine("dgx1-v100");
  const double wire = route(node, {0}, {1})->bandwidth.value;
  const double bytes = 4096 * kMebibyte;
  const double seconds = gather_seconds(links_on(node, tensor_of(8, 1))->tensor, bytes);
  EXPECT_NEAR(bytes * 7 / 8 / seconds / (6 * wire), 1, 0.02);
}

/// Where data comes first in the order, a tensor group has one card per node.
TEST(LinkCostLaws, GroupsLieWhereTheOrderPutsThem) {
  const Platform platform = machine("dgx-h100-ib");
  ParallelLayout layout = tensor_of(8, 8);
  const double inside = gather_seconds(links_on(platform, layout)->tensor, 128 * kMebibyte);
  layout.order = {ParallelDimension::Data, ParallelDimension::Tensor, ParallelDimension::Context,
                  ParallelDimension::Expert, ParallelDimension::Pipeline};
  const double across = gather_seconds(links_on(platform, layout)->tensor, 128 * kMebibyte);
  EXPECT_GT(across, 5 * inside);
  const double moved = 128 * kMebibyte * 7 / 8;
  EXPECT_NEAR(across, moved / route(platform, {0}, {8})->bandwidth.value, 0.02 * across);
}

/// The same where the devices are listed so.
TEST(LinkCostLaws, GroupsLieOnTheDevicesThatAreListed) {
  const Platform platform = machine("dgx-h100-ib");
  ParallelLayout layout = tensor_of(8, 1);
  layout.pipeline = 8;
  std::vector<int> devices(64);
  for (int at = 0; at < 64; ++at) devices[static_cast<std::size_t>(at)] = at / 8 + at % 8 * 8;
  const double bytes = 128 * kMebibyte;
  EXPECT_GT(gather_seconds(links_on(platform, layout, devices)->tensor, bytes),
            5 * gather_seconds(links_on(platform, layout)->tensor, bytes));
  std::iota(devices.begin(), devices.end(), 8);
  EXPECT_EQ(links_on(platform, layout, devices)->tensor, links_on(platform, layout)->tensor);
}

/// The slowest group counts: with three to a group, some lie in two nodes.
TEST(LinkCostLaws, TheSlowestGroupCounts) {
  const Platform platform = machine("dgx-h100-ib");
  const double bytes = 128 * kMebibyte;
  const double inside = gather_seconds(links_on(platform, tensor_of(3, 1))->tensor, bytes);
  EXPECT_GT(gather_seconds(links_on(platform, tensor_of(3, 8))->tensor, bytes), 3 * inside);
}

/// Experts: as the data dimension lies, by node or across.
TEST(LinkCostLaws, ExpertsExchangeWhereTheyLie) {
  const Platform platform = machine("dgx-h100-ib");
  ParallelLayout layout = tensor_of(1, 64);
  layout.expert = 8;
  const double bytes = 128 * kMebibyte;
  const double inside = exchange_seconds(links_on(platform, layout)->expert, bytes, 1);
  layout.expert = 32;
  EXPECT_GT(exchange_seconds(links_on(platform, layout)->expert, bytes, 1), 4 * inside);
}

/// A file of routes has no levels, yet its nodes stay apart, and its groups cost something.
TEST(LinkCostLaws, MachinesFromFilesHaveNodesAndAreNotFree) {
  const std::vector<PlatformKind> kinds = builtin_platform_kinds();
  PlatformPreset preset = *find_platform_preset("dgx-h100-ib", folders(), kinds);
  preset.values["nodes"] = std::int64_t{2};
  const Platform made = *make_platform(*find_platform_kind(kinds, preset.kind), preset.values);
  const std::string path = (std::filesystem::temp_directory_path() /
                            ("pipecast-links-" + std::to_string(::getpid()) + ".xml"))
                               .string();
  std::ofstream(path) << *write_platform_xml(made);
  const std::vector<ScheduleInfo> schedules = builtin_schedules();
  const ReadContext context{schedules, kinds, folders()};
  const Result<Scenario> scenario = read_scenario(
      "pipeline: {schedule: gpipe, ranks: 2, microbatches: 4}\n"
      "workload: {model: {preset: llama3-8b}, sequence_length: 8192}\n"
      "parallel: {tensor: 8, sequence_parallel: true}\n"
      "platform: {xml: " +
          path + ", accelerator: h100_sxm5_80gb}\n",
      "file.yaml", context);
  std::filesystem::remove(path);
  ASSERT_TRUE(scenario) << render(scenario.error());
  const std::vector<std::int32_t> node_of = innermost_groups(*scenario->platform.file_platform);
  for (std::size_t device = 0; device < 16; ++device)
    EXPECT_EQ(node_of[device], device < 8 ? 0 : 8) << device;
  const GroupLink& tensor = scenario->model->machine.devices[0].links.tensor;
  const double nvlink = route(made, {0}, {1})->bandwidth.value;
  const double bytes = 1024 * kMebibyte;
  EXPECT_NEAR(gather_seconds(tensor, bytes) / (bytes * 7 / 8 / nvlink), 1, 0.02);
}

}  // namespace
}  // namespace pipecast
