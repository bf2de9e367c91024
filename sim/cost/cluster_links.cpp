#include "sim/cost/cluster_links.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "sim/model/collectives.hpp"

namespace pipecast {
namespace {

std::span<const RoutingLevel> levels_of(const Platform& platform) {
  if (const auto* levels = std::get_if<LevelRouting>(&platform.routing)) return levels->levels;
  if (const auto* torus = std::get_if<TorusRouting>(&platform.routing)) return torus->outside;
  return {};
}

/// Two groups with the same signature lie alike: the same distances between their devices, and the
/// same of them together in a node and at each level.
std::vector<std::int32_t> signature(const std::vector<DeviceId>& group,
                                    const std::vector<std::int32_t>& node_of,
                                    std::span<const RoutingLevel> levels) {
  std::vector<std::int32_t> result;
  result.reserve(group.size() * (levels.size() + 2));
  for (const DeviceId device : group) {
    result.push_back(device.value - group.front().value);
    result.push_back(node_of[device.at()] - node_of[group.front().at()]);
    for (const RoutingLevel& level : levels)
      result.push_back(level.group_of[device.at()] - level.group_of[group.front().at()]);
  }
  return result;
}

class LinkFinder {
 public:
  LinkFinder(const Platform& platform, const ParallelLayout& layout, const ReplicaDevices& placed,
             std::optional<int> rank)
      : platform_(platform),
        first_rank_(rank.value_or(0)),
        last_rank_(rank ? *rank + 1 : layout.pipeline),
        placed_(placed),
        node_of_(innermost_groups(platform)) {}

  template <typename Members>  // the group of a replica: std::vector<int>
  GroupLink link(int size, std::initializer_list<Collective> kinds, Members members) {
    GroupLink result;
    result.size = size;
    if (size < 2) return result;
    std::set<std::vector<std::int32_t>> known;
    std::vector<char> done(static_cast<std::size_t>(placed_.replicas()), 0);
    for (int replica = 0; replica < placed_.replicas(); ++replica) {
      if (done[static_cast<std::size_t>(replica)] != 0) continue;
      const std::vector<int> group = members(placed_, replica);
      for (const int member : group) done[static_cast<std::size_t>(member)] = 1;
      for (int rank = first_rank_; rank < last_rank_; ++rank) {
        std::vector<DeviceId> devices;
        devices.reserve(group.size());
        for (const int member : group) devices.push_back(placed_.device(member, rank));
        result.per_node = std::max(result.per_node, together(devices));
        if (known.insert(signature(devices, node_of_, levels_of(platform_))).second)
          for (const Collective kind : kinds) add_time(kind, devices, result);
      }
    }
    return result;
  }

  const Diagnostics& faults() const { return faults_; }

 private:
  /// Devices of the group in the node of its first one.
  int together(const std::vector<DeviceId>& devices) const {
    return static_cast<int>(std::count_if(devices.begin(), devices.end(), [&](DeviceId device) {
      return node_of_[device.at()] == node_of_[devices.front().at()];
    }));
  }

  void add_time(Collective kind, const std::vector<DeviceId>& devices, GroupLink& link) {
    if (!faults_.empty()) return;
    Result<CollectiveTime> time =
        collective_time({kind, CollectiveAlgorithm::Automatic, devices, {}}, platform_);
    if (!time) {
      faults_ = std::move(time.error());
      return;
    }
    std::vector<CollectiveTime>& times = kind == Collective::AllGather  ? link.gather
                                         : kind == Collective::AllToAll ? link.exchange
                                                                        : link.reduce;
    if (std::find(times.begin(), times.end(), *time) == times.end())
      times.push_back(std::move(*time));
  }

  const Platform& platform_;
  int first_rank_;
  int last_rank_;  ///< one behind it
  const ReplicaDevices& placed_;
  std::vector<std::int32_t> node_of_;
  Diagnostics faults_;
};

double slowest(const std::vector<CollectiveTime>& times, double bytes) {
  double seconds = 0;
  for (const CollectiveTime& time : times) seconds = std::max(seconds, time.seconds(bytes));
  return seconds;
}

}  // namespace

Result<ClusterLinks> cluster_links(const Platform& platform, const ParallelLayout& layout,
                                   const ReplicaDevices& placed, std::optional<int> rank) {
  LinkFinder find(platform, layout, placed, rank);
  const auto inside = [](ParallelDimension dimension) {
    return [dimension](const ReplicaDevices& replicas, int replica) {
      return replicas.inside_group(replica, dimension);
    };
  };
  const auto copies = [](bool experts) {
    return [experts](const ReplicaDevices& replicas, int replica) {
      return replicas.gradient_group(replica, experts);
    };
  };
  const ClusterLinks unknown = unknown_links(layout);
  ClusterLinks links;
  links.tensor = find.link(layout.tensor, {Collective::AllGather, Collective::AllReduce},
                           inside(ParallelDimension::Tensor));
  links.context = find.link(layout.context, {Collective::AllGather, Collective::AllToAll},
                            inside(ParallelDimension::Context));
  links.expert =
      find.link(layout.expert, {Collective::AllToAll}, inside(ParallelDimension::Expert));
  links.data = find.link(unknown.data.size, {Collective::AllGather}, copies(false));
  links.expert_data =
      layout.expert > 1 ? find.link(unknown.expert_data.size, {Collective::AllGather}, copies(true))
                        : links.data;
  links.expert_data.size = unknown.expert_data.size;
  if (!find.faults().empty()) return fail(find.faults());
  return links;
}

ClusterLinks unknown_links(const ParallelLayout& layout) {
  ClusterLinks links;
  links.tensor.size = layout.tensor;
  links.context.size = layout.context;
  links.expert.size = layout.expert;
  links.data.size = layout.data * layout.context;
  links.expert_data.size = std::max(
      1, layout.tensor * layout.context * layout.data / (layout.expert * layout.expert_tensor));
  return links;
}

double gather_seconds(const GroupLink& link, double bytes) {
  return link.size == 1 ? 0 : slowest(link.gather, bytes);
}

double all_reduce_seconds(const GroupLink& link, double bytes) {
  return link.size == 1 ? 0 : slowest(link.reduce, bytes);
}

double crossing_share(const GroupLink& link, double copies) {
  if (!link.leaves_node() || !(copies > 0)) return 1;
  const double nodes = double{1} * link.size / link.per_node;
  return nodes * (1 - std::pow(1 - 1 / nodes, copies)) / copies;
}

double exchange_seconds(const GroupLink& link, double bytes, double crossing) {
  // What crosses decides where anything does: inside a node the copies are far cheaper.
  return link.size == 1 ? 0 : slowest(link.exchange, crossing * bytes);
}

}  // namespace pipecast
