#include "sim/graph/fabric_traffic.hpp"

#include <algorithm>

namespace pipecast {
namespace {

TrafficKind kind_of(const Task& task) {
  switch (task.group) {
    case GroupFlowOf::Tensor:
      return TrafficKind::Tensor;
    case GroupFlowOf::Context:
      return TrafficKind::Context;
    case GroupFlowOf::Expert:
      return TrafficKind::Expert;
    case GroupFlowOf::None:
      break;
  }
  if (is_exchange(task.kind)) return TrafficKind::StashedActivation;
  if (task.kind == OpKind::ReduceGrad) return TrafficKind::GradientReduction;
  if (task.kind == OpKind::Unshard) return TrafficKind::ParameterGather;
  return TrafficKind::Pipeline;
}

/// Links of a route on each level.
void count_hops(const Route& way, const std::vector<std::int32_t>& level_of,
                std::vector<int>& hops) {
  std::fill(hops.begin(), hops.end(), 0);
  for (const LinkId link : way.links) ++hops[static_cast<std::size_t>(level_of[link.at()])];
}

void keep_busiest(const Platform& platform, const std::vector<std::int32_t>& level_of,
                  const std::vector<double>& link_bytes, FabricTraffic& traffic) {
  for (std::size_t link = 0; link < platform.links.size(); ++link) {
    if (!(link_bytes[link] > 0)) continue;
    auto& busiest = traffic.levels[static_cast<std::size_t>(level_of[link])].busiest;
    const BusyLink busy{{static_cast<std::int32_t>(link)},
                        link_bytes[link],
                        link_bytes[link] / platform.links[link].bandwidth.value};
    const auto place = std::upper_bound(
        busiest.begin(), busiest.end(), busy,
        [](const BusyLink& a, const BusyLink& b) { return a.seconds > b.seconds; });
    busiest.insert(place, busy);
    if (busiest.size() > kBusiestLinks) busiest.pop_back();
  }
}

}  // namespace

std::string_view traffic_name(TrafficKind kind) {
  switch (kind) {
    case TrafficKind::Pipeline:
      return "pipeline";
    case TrafficKind::StashedActivation:
      return "stashed-activation";
    case TrafficKind::GradientReduction:
      return "gradient-reduction";
    case TrafficKind::ParameterGather:
      return "parameter-gather";
    case TrafficKind::Tensor:
      return "tensor";
    case TrafficKind::Context:
      return "context";
    case TrafficKind::Expert:
      return "expert";
  }
  return {};
}

std::vector<RouteLoad> route_loads(const TaskGraph& graph) {
  std::vector<RouteLoad> loads(graph.routes.size());
  for (const Task& task : graph.tasks) {
    if (task.route < 0) continue;
    Crossing& load =
        loads[static_cast<std::size_t>(task.route)][static_cast<std::size_t>(kind_of(task))];
    ++load.messages;
    load.bytes += task.bytes;
  }
  return loads;
}

bool FabricTraffic::empty() const {
  return std::all_of(levels.begin(), levels.end(),
                     [](const LevelTraffic& level) { return level.busiest.empty(); });
}

RoutedLoads& RoutedLoads::operator+=(const RoutedLoads& other) {
  routes.insert(routes.end(), other.routes.begin(), other.routes.end());
  loads.insert(loads.end(), other.loads.begin(), other.loads.end());
  return *this;
}

FabricTraffic fabric_traffic(const RoutedLoads& sent, const Platform& platform) {
  FabricLevels levels = fabric_levels(platform);
  FabricTraffic traffic;
  for (FabricLevel& level : levels.levels) traffic.levels.push_back({std::move(level), {}, {}});
  std::vector<double> link_bytes(platform.links.size(), 0.0);
  std::vector<int> hops(traffic.levels.size());
  for (std::size_t route = 0; route < sent.routes.size(); ++route) {
    count_hops(sent.routes[route], levels.level_of, hops);
    for (std::size_t kind = 0; kind < kTrafficKinds.size(); ++kind) {
      const Crossing& load = sent.loads[route][kind];
      for (std::size_t level = 0; level < hops.size(); ++level) {
        if (hops[level] == 0) continue;
        Crossing& crossing = traffic.levels[level].kinds[kind];
        crossing.messages += load.messages;
        crossing.bytes += load.bytes;
        crossing.link_bytes += load.bytes * hops[level];
      }
      for (const LinkId link : sent.routes[route].links) link_bytes[link.at()] += load.bytes;
    }
  }
  keep_busiest(platform, levels.level_of, link_bytes, traffic);
  return traffic;
}

FabricTraffic fabric_traffic(const TaskGraph& graph, const Platform& platform) {
  return fabric_traffic({graph.routes, route_loads(graph)}, platform);
}

}  // namespace pipecast
