#include "sim/cost/cluster_links.hpp"

#include <algorithm>
#include <array>

namespace pipecast {
namespace {

struct Group {
  int size;
  int stride;
};

double fitted(const CollectiveTuning& tuning) {
  // Where switches reduce, the fit is that of in-switch all-reduce; rings reach a single flow.
  return tuning.in_switch ? 1 : tuning.achieved;
}

/// Before the first byte: the hops, or where collectives are fitted what NCCL's protocol for large
/// messages needs, `half_size` bytes at the achieved rate (see docs/platforms.md).
double start_seconds(const CollectiveTuning& tuning, const Route& way, int hops, double rate) {
  if (!(tuning.latency.value > 0)) return hops * way.latency.value;
  return std::max(tuning.latency.value, tuning.half_size.value / rate);
}

/// The devices of the group that the place belongs to, in the group's order.
std::vector<DeviceId> members_of(const Group& group, const ReplicaDevices& placed, Place place) {
  const int first = place.replica - place.replica / group.stride % group.size * group.stride;
  std::vector<DeviceId> members;
  for (int i = 0; i < group.size; ++i)
    members.push_back(placed.device(first + i * group.stride, place.rank));
  return members;
}

Result<GroupLink> link_of(const Platform& platform, const std::vector<std::int32_t>& node_of,
                          const std::vector<DeviceId>& members) {
  GroupLink link;
  link.size = static_cast<int>(members.size());
  if (link.size == 1) return link;
  std::vector<DeviceId> inside;
  std::vector<DeviceId> outside;
  for (const DeviceId device : members)
    (node_of[device.at()] == node_of[members[0].at()] ? inside : outside).push_back(device);
  link.per_node = static_cast<int>(inside.size());
  if (link.per_node > 1) {
    const Result<Route> way = route(platform, inside[0], inside[1]);
    if (!way) return fail(way.error());
    const CollectiveTuning tuning = inside_tuning(platform, inside);
    link.inside = way->bandwidth.value * fitted(tuning);
    link.inside_s = start_seconds(tuning, *way, link.per_node - 1, link.inside);
  }
  if (outside.empty()) return link;
  const Result<Route> way = route(platform, members[0], outside[0]);
  if (!way) return fail(way.error());
  link.across = way->bandwidth.value * fitted(platform.collectives_across);
  link.across_s =
      start_seconds(platform.collectives_across, *way, link.size / link.per_node - 1, link.across);
  return link;
}

}  // namespace

Result<ClusterLinks> cluster_links(const Platform& platform,
                                   const std::vector<std::int32_t>& node_of,
                                   const ParallelLayout& layout, const ReplicaDevices& placed,
                                   Place place) {
  const int dense = layout.tensor * layout.context;
  const int inner = layout.expert * layout.expert_tensor;
  const std::array<Group, 5> groups{{{layout.tensor, 1},
                                     {layout.context, layout.tensor},
                                     {layout.expert, layout.expert_tensor},
                                     {layout.context * layout.data, layout.tensor},
                                     {std::max(1, dense * layout.data / inner), inner}}};
  std::array<GroupLink, 5> links;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const Result<GroupLink> link = link_of(platform, node_of, members_of(groups[i], placed, place));
    if (!link) return fail(link.error());
    links[i] = *link;
  }
  return ClusterLinks{links[0], links[1], links[2], links[3], links[4]};
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
  if (link.size == 1 || !link.known()) return 0;
  const double moved = bytes * (link.size - 1) / link.size;
  if (!link.leaves_node()) return link.inside_s + moved / link.inside;
  const double cards = link.across * link.per_node;
  const double rate = link.per_node > 1 ? std::min(link.inside, cards) : cards;
  return link.across_s + (link.per_node > 1 ? link.inside_s : 0) + moved / rate;
}

double all_reduce_seconds(const GroupLink& link, double bytes) {
  return 2 * gather_seconds(link, bytes);
}

double exchange_seconds(const GroupLink& link, double bytes) {
  if (link.size == 1 || !link.known()) return 0;
  const double inside = bytes * (link.per_node - 1) / link.size;
  const double outside = bytes * (link.size - link.per_node) / link.size;
  const double inside_s = link.per_node > 1 ? link.inside_s + inside / link.inside : 0;
  const double outside_s = link.leaves_node() ? link.across_s + outside / link.across : 0;
  return std::max(inside_s, outside_s);
}

}  // namespace pipecast
