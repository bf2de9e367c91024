#include "sim/graph/flows.hpp"

#include <algorithm>
#include <cassert>
#include <map>
#include <numeric>
#include <utility>

namespace pipecast {
namespace {

std::vector<DeviceId> devices_of(std::span<const Flow> flows) {
  std::vector<DeviceId> devices;
  devices.reserve(2 * flows.size());
  for (const Flow& flow : flows) {
    devices.push_back(flow.from);
    devices.push_back(flow.to);
  }
  std::sort(devices.begin(), devices.end());
  devices.erase(std::unique(devices.begin(), devices.end()), devices.end());
  return devices;
}

std::int32_t rank_of(const std::vector<DeviceId>& devices, DeviceId device) {
  return static_cast<std::int32_t>(std::lower_bound(devices.begin(), devices.end(), device) -
                                   devices.begin());
}

Task transfer_of(const Flow& flow, const std::vector<DeviceId>& devices, std::int32_t route) {
  Task task;
  task.kind = OpKind::SendForward;
  task.stream = Stream::Transfer;
  task.seconds = flow.extra.value;
  task.bytes = flow.bytes.value;
  task.rank = rank_of(devices, flow.from);
  task.peer = rank_of(devices, flow.to);
  task.stage = -1;
  task.microbatch = -1;
  task.route = route;
  return task;
}

DependencyGraph dependencies_of(std::span<const Flow> flows) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
  for (std::uint32_t flow = 0; flow < flows.size(); ++flow)
    for (const std::uint32_t before : flows[flow].after) {
      assert(before < flow && "a flow waits only for flows before it in the list");
      edges.emplace_back(before, flow);
    }
  std::sort(edges.begin(), edges.end());
  return {boost::edges_are_sorted, edges.begin(), edges.end(),
          static_cast<std::uint32_t>(flows.size()), static_cast<std::uint32_t>(edges.size())};
}

}  // namespace

Result<TaskGraph> build_flow_graph(std::span<const Flow> flows, const Platform& platform) {
  TaskGraph graph;
  graph.device_of_rank = devices_of(flows);
  graph.ranks = static_cast<int>(graph.device_of_rank.size());
  graph.tasks.reserve(flows.size());
  std::map<std::pair<DeviceId, DeviceId>, std::int32_t> known;
  Diagnostics faults;
  for (const Flow& flow : flows) {
    const auto [entry, is_new] =
        known.try_emplace({flow.from, flow.to}, static_cast<std::int32_t>(graph.routes.size()));
    if (is_new) {
      Result<Route> way = route(platform, flow.from, flow.to);
      if (!way) {
        faults.insert(faults.end(), way.error().begin(), way.error().end());
        way = Route{};
      }
      graph.routes.push_back(std::move(*way));
    }
    graph.tasks.push_back(transfer_of(flow, graph.device_of_rank, entry->second));
  }
  if (!faults.empty()) return fail(std::move(faults));
  graph.dependencies = dependencies_of(flows);
  graph.order.resize(flows.size());
  std::iota(graph.order.begin(), graph.order.end(), 0u);
  return graph;
}

}  // namespace pipecast
