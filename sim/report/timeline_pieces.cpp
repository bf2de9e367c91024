#include "sim/report/timeline_pieces.hpp"

#include <algorithm>

namespace pipecast {
namespace {

/// The stages of a rank in increasing order.
std::vector<Stage> stages_of(const Placement& placement, Rank rank) {
  std::vector<Stage> stages;
  for (std::size_t copy = 0; copy < placement.rank_of.size(); ++copy)
    if (placement.rank_of[copy] == rank)
      stages.push_back(
          {static_cast<std::int32_t>(copy % static_cast<std::size_t>(placement.stages))});
  std::sort(stages.begin(), stages.end());
  return stages;
}

int chunk_of(const Placement& placement, const std::vector<Stage>& stages, const Op& op) {
  if (!placement.direction_of.empty()) return placement.direction_of[op.microbatch.at()];
  return static_cast<int>(std::lower_bound(stages.begin(), stages.end(), op.stage) -
                          stages.begin());
}

}  // namespace

std::vector<Piece> timeline_pieces(const Program& program, const Workload& workload,
                                   const TaskGraph& graph, const Timeline& timeline,
                                   const RunIndex& index, Rank rank) {
  std::vector<Piece> pieces;
  for (const IdleStretch& stretch : idle_stretches(program, graph, timeline, index, rank)) {
    Piece idle{.start_s = stretch.start_s, .end_s = stretch.end_s, .op = {}};
    idle.idle = true;
    idle.cause = stretch.cause;
    pieces.push_back(idle);
  }
  const std::vector<Stage> stages = stages_of(program.placement, rank);
  for (const std::uint32_t id : index.compute.of(rank)) {
    const Task& task = graph.tasks[id];
    if (!is_work(task)) continue;
    const std::span<const Op> cell(program.ranks[rank.at()].data() + task.position, task.cell_ops);
    const Interval& interval = timeline.intervals[id];
    double whole_s = 0;
    for (const Op& op : cell) whole_s += duration(workload, op).value;
    double done_s = 0;
    for (const Op& op : cell) {
      const auto at = [&](double part_s) {
        return interval.start_s +
               (interval.end_s - interval.start_s) * (whole_s > 0 ? part_s / whole_s : 0);
      };
      Piece piece{.start_s = at(done_s), .end_s = 0, .op = op};
      done_s += duration(workload, op).value;
      piece.end_s = &op == &cell.back() ? interval.end_s : at(done_s);
      piece.chunk = chunk_of(program.placement, stages, op);
      piece.paired = cell.size() > 1;
      pieces.push_back(piece);
    }
  }
  std::stable_sort(pieces.begin(), pieces.end(),
                   [](const Piece& a, const Piece& b) { return a.start_s < b.start_s; });
  return pieces;
}

int chunks_per_rank(const Program& program) {
  std::vector<int> count(program.ranks.size(), 0);
  for (const Rank rank : program.placement.rank_of) ++count[rank.at()];
  return count.empty() ? 1 : *std::max_element(count.begin(), count.end());
}

}  // namespace pipecast
