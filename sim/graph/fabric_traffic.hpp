#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "sim/graph/task_graph.hpp"
#include "sim/model/fabric_levels.hpp"

namespace pipecast {

/// What bytes on the fabric are for.
enum class TrafficKind : std::uint8_t {
  Pipeline,           ///< activations to the next stage, gradients to the previous one
  StashedActivation,  ///< activations that another rank keeps for a while
  GradientReduction,
  ParameterGather,
  Tensor,  ///< exchanged inside operations, by the group of that dimension
  Context,
  Expert,
};
inline constexpr std::array kTrafficKinds{TrafficKind::Pipeline,
                                          TrafficKind::StashedActivation,
                                          TrafficKind::GradientReduction,
                                          TrafficKind::ParameterGather,
                                          TrafficKind::Tensor,
                                          TrafficKind::Context,
                                          TrafficKind::Expert};

/// `pipeline`, `stashed-activation`, `gradient-reduction`, `parameter-gather`, `tensor`, `context`,
/// `expert`.
std::string_view traffic_name(TrafficKind kind);

/// Messages of one kind that use links of one level.
struct Crossing {
  std::int64_t messages = 0;
  double bytes = 0;       ///< of the messages, each once
  double link_bytes = 0;  ///< carried by the links of the level: a message counts on each it uses

  bool operator==(const Crossing&) const = default;
};

/// A link and what it carries.
struct BusyLink {
  LinkId link;
  double bytes = 0;
  double seconds = 0;  ///< bytes ÷ bandwidth: how long it must be busy at least

  bool operator==(const BusyLink&) const = default;
};

struct LevelTraffic {
  FabricLevel level;
  std::array<Crossing, kTrafficKinds.size()> kinds{};  ///< in the order of kTrafficKinds
  std::vector<BusyLink> busiest;  ///< at most kBusiestLinks that carry bytes; longest seconds first

  const Crossing& of(TrafficKind kind) const { return kinds[static_cast<std::size_t>(kind)]; }
  bool operator==(const LevelTraffic&) const = default;
};
inline constexpr std::size_t kBusiestLinks = 3;

/// Which traffic crosses which level of the fabric, innermost level first. Levels that nothing
/// crosses are there with zeros.
struct FabricTraffic {
  std::vector<LevelTraffic> levels;

  bool empty() const;  ///< no bytes anywhere
  bool operator==(const FabricTraffic&) const = default;
};

/// What is sent along one route, by kind; link bytes stay zero.
using RouteLoad = std::array<Crossing, kTrafficKinds.size()>;

/// [route] of the graph. O(tasks).
std::vector<RouteLoad> route_loads(const TaskGraph& graph);

/// `loads[route]` is sent along `routes[route]`.
struct RoutedLoads {
  std::vector<Route> routes;
  std::vector<RouteLoad> loads;

  RoutedLoads& operator+=(const RoutedLoads& other);
};

/// O(routes · hops + links).
FabricTraffic fabric_traffic(const RoutedLoads& sent, const Platform& platform);

/// Counts the transfers of a graph whose routes are those of the platform. Bytes are those on the
/// wire, what protocols waste included. O(tasks + routes · hops + links).
FabricTraffic fabric_traffic(const TaskGraph& graph, const Platform& platform);

}  // namespace pipecast
