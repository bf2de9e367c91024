#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "sim/graph/task_graph.hpp"
#include "sim/model/timeline.hpp"

namespace pipecast {

inline constexpr std::int32_t kNoTask = -1;

/// Task ids grouped by rank, each group in increasing id.
struct TasksByRank {
  std::vector<std::uint32_t> ids;
  std::vector<std::uint32_t> begin;  ///< [rank], and one past the last

  std::span<const std::uint32_t> of(Rank rank) const {
    return std::span(ids).subspan(begin[rank.at()], begin[rank.at() + 1] - begin[rank.at()]);
  }
};

/// The tasks that pass `keep`, grouped by the rank that `rank_of` names. O(tasks + ranks).
template <class Keep, class RankOf>
TasksByRank group_tasks(const TaskGraph& graph, Keep keep, RankOf rank_of) {
  TasksByRank groups;
  groups.begin.assign(static_cast<std::size_t>(graph.ranks) + 1, 0);
  for (const Task& task : graph.tasks)
    if (keep(task)) ++groups.begin[static_cast<std::size_t>(rank_of(task)) + 1];
  for (std::size_t rank = 1; rank < groups.begin.size(); ++rank)
    groups.begin[rank] += groups.begin[rank - 1];
  groups.ids.resize(groups.begin.back());
  std::vector<std::uint32_t> next(groups.begin.begin(), groups.begin.end() - 1);
  for (std::uint32_t task = 0; task < graph.tasks.size(); ++task)
    if (keep(graph.tasks[task]))
      groups.ids[next[static_cast<std::size_t>(rank_of(graph.tasks[task]))]++] = task;
  return groups;
}

/// What reports look up again and again in a run.
struct RunIndex {
  TasksByRank
      compute;  ///< work, and pauses that take time; id order is program order is time order
  std::vector<std::int32_t>
      last_message;  ///< [task] the communication task that arrived last of those a work task waits
                     ///< for, directly or through a Gap task that joins several; ties go to the
                     ///< smaller id; kNoTask without one
  double makespan_s = 0;
};

/// O(tasks + edges).
RunIndex index_run(const TaskGraph& graph, const Timeline& timeline);

}  // namespace pipecast
