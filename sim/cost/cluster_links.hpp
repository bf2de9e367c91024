#pragma once
#include <algorithm>
#include <span>
#include <vector>

#include "sim/base/diagnostic.hpp"
#include "sim/cost/layout.hpp"
#include "sim/model/collective_time.hpp"
#include "sim/model/platform.hpp"

namespace pipecast {

/// How long the groups of one kind take for their collectives on an idle fabric. They wait for each
/// other, so the slowest counts; groups that lie alike on the fabric are one entry.
struct GroupLink {
  int size = 1;
  std::vector<CollectiveTime> gather;    ///< all-gather or reduce-scatter
  std::vector<CollectiveTime> reduce;    ///< all-reduce
  std::vector<CollectiveTime> exchange;  ///< all-to-all

  /// Nobody knows where there is nothing; a kind of group has only the collectives it uses.
  bool known() const {
    return size == 1 || !(gather.empty() && reduce.empty() && exchange.empty());
  }
  bool operator==(const GroupLink&) const = default;
};

/// The groups of a layout on a platform.
struct ClusterLinks {
  GroupLink tensor;
  GroupLink context;
  GroupLink expert;
  GroupLink data;         ///< data × context: all copies of a dense weight
  GroupLink expert_data;  ///< copies of an expert

  bool operator==(const ClusterLinks&) const = default;
};

/// Where the layout's order puts its groups; `devices` are those it uses, each of which exists, in
/// its order; empty: the first of the platform. Times are those of collective_time(), so of the
/// flows that `platform ping` and the gradients use. O(devices · levels + edges of the collectives
/// of groups that lie differently). Errors: the layout needs more devices than there are, no route.
Result<ClusterLinks> cluster_links(const Platform& platform, const ParallelLayout& layout,
                                   std::span<const int> devices = {});

/// The same where nothing is known but the layout: every collective takes no time.
ClusterLinks unknown_links(const ParallelLayout& layout);

/// Seconds of collectives; `bytes` is the whole buffer (the output of a gather, the input of a
/// scatter).
double gather_seconds(const GroupLink& link, double bytes);
double all_reduce_seconds(const GroupLink& link, double bytes);
/// `bytes` leave every device, spread evenly over the group.
double exchange_seconds(const GroupLink& link, double bytes);

}  // namespace pipecast
