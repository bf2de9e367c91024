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
  Waterfall result{busiest->rank,
                   {{"ideal: busiest rank", busiest->busy_s},
                    {"warm-up", 0},
                    {"steady", 0},
                    {"cool-down", 0},
                    {"pauses of the runtime", 0},
                    {"waiting for messages", 0}}};
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
