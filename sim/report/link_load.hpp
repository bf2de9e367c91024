#pragma once
#include <vector>

#include "sim/graph/task_graph.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/timeline.hpp"

namespace pipecast {

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
