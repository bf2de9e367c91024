#include "sim/cost/cluster_links.hpp"

#include <algorithm>
#include <array>
#include <cmath>

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

Result<GroupLink> link_of(const Platform& platform, const std::vector<std::int32_t>& node_of,
                          Group group) {
  GroupLink link;
  link.size = group.size;
  if (group.size == 1) return link;
  link.per_node = 0;
  int first_outside = -1;
  for (int i = 0; i < group.size; ++i) {
    const auto device = static_cast<std::size_t>(i * group.stride);
    if (node_of[device] == node_of[0])
      ++link.per_node;
    else if (first_outside < 0)
      first_outside = i * group.stride;
  }
  if (link.per_node > 1) {
    const Result<Route> way = route(platform, {0}, {group.stride});
    if (!way) return fail(way.error());
    link.inside = way->bandwidth.value * fitted(platform.collectives_inside);
    link.inside_s =
        start_seconds(platform.collectives_inside, *way, link.per_node - 1, link.inside);
  }
  if (first_outside < 0) return link;
  const Result<Route> way = route(platform, {0}, {first_outside});
  if (!way) return fail(way.error());
  link.across = way->bandwidth.value * fitted(platform.collectives_across);
  link.across_s =
      start_seconds(platform.collectives_across, *way, group.size / link.per_node - 1, link.across);
  return link;
}

}  // namespace

Result<ClusterLinks> cluster_links(const Platform& platform, const ParallelLayout& layout) {
  if (static_cast<std::size_t>(layout.devices()) > platform.devices.size())
    return fail(infeasible("the layout needs " + std::to_string(layout.devices()) +
                               " devices (tensor × context × data × pipeline), the platform has " +
                               std::to_string(platform.devices.size()),
                           "use a larger platform (set its number of nodes) or smaller degrees"));
  const std::vector<std::int32_t> nodes = innermost_groups(platform);
  const int dense = layout.tensor * layout.context;
  const int inner = layout.expert * layout.expert_tensor;
  const std::array<Group, 5> groups{{{layout.tensor, 1},
                                     {layout.context, layout.tensor},
                                     {layout.expert, layout.expert_tensor},
                                     {layout.context * layout.data, layout.tensor},
                                     {std::max(1, dense * layout.data / inner), inner}}};
  std::array<GroupLink, 5> links;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const Result<GroupLink> link = link_of(platform, nodes, groups[i]);
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

double crossing_share(const GroupLink& link, double copies) {
  if (!link.leaves_node() || !(copies > 0)) return 1;
  const double nodes = double{1} * link.size / link.per_node;
  return nodes * (1 - std::pow(1 - 1 / nodes, copies)) / copies;
}

double exchange_seconds(const GroupLink& link, double bytes, double crossing) {
  if (link.size == 1 || !link.known()) return 0;
  const double inside = bytes * (link.per_node - 1) / link.size;
  const double outside = crossing * bytes * (link.size - link.per_node) / link.size;
  const double inside_s = link.per_node > 1 ? link.inside_s + inside / link.inside : 0;
  const double outside_s = link.leaves_node() ? link.across_s + outside / link.across : 0;
  return std::max(inside_s, outside_s);
}

}  // namespace pipecast
