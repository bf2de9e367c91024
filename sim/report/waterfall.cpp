#include "sim/report/waterfall.hpp"

#include <algorithm>

#include "sim/graph/task_graph.hpp"
#include "sim/report/idle.hpp"
#include "sim/report/run_index.hpp"

namespace pipecast {

Waterfall waterfall(const RunView& run) {
  const auto busiest = std::max_element(
      run.summary.ranks.begin(), run.summary.ranks.end(),
      [](const RankSummary& a, const RankSummary& b) { return a.busy_s < b.busy_s; });
  if (busiest == run.summary.ranks.end()) return {};
  if (run.estimate != nullptr) return {busiest->rank, run.estimate->waterfall};
  Waterfall result{
      busiest->rank,
      {{"ideal", busiest->busy_s - busiest->group_contention_s, "compute of the busiest rank"},
       {"warm-up", 0, "before its first backward"},
       {"steady", 0, "between its first backward and its last forward"},
       {"cool-down", 0, "after its last forward"},
       {"pauses", 0, "of the runtime between operations"},
       {"messages", 0, "waiting for them"},
       {"group_contention", busiest->group_contention_s,
        "exchanges inside operations, slower than alone"}}};
  const RunIndex index = index_run(run.graph, run.timeline);
  for (const IdleStretch& stretch :
       idle_stretches(run.program, run.graph, run.timeline, index, busiest->rank)) {
    std::size_t part = 1 + static_cast<std::size_t>(stretch.phase);
    if (stretch.cause == IdleCause::Gap) part = 4;
    if (stretch.cause == IdleCause::Transfer) part = 5;
    result.parts[part].seconds += stretch.seconds();
  }
  return result;
}

}  // namespace pipecast
