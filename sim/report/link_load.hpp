#pragma once
#include <vector>

#include "sim/graph/task_graph.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/timeline.hpp"

namespace pipecast {

/// Whether a link's bandwidth is one, and not a number that stands for "no limit", as that of a
/// constant delay: such a link has no utilization.
bool has_limit(const Link& link);

/// How full a link was in each of equally long pieces of the step.
struct LinkLoad {
  LinkId link;
  std::vector<double> utilization;  ///< [piece] bytes ÷ (bandwidth × length of the piece)

  bool operator==(const LinkLoad&) const = default;
};

/// The load of every link that carried bytes and has a limit, each transfer at its average rate.
/// `pieces` ≥ 1. O(transfers · links of a route + links · pieces).
std::vector<LinkLoad> link_loads(const Platform& platform, const TaskGraph& graph,
                                 const Timeline& timeline, std::size_t pieces);

}  // namespace pipecast
