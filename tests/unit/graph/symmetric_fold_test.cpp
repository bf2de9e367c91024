#include "sim/graph/symmetric_fold.hpp"

#include <gtest/gtest.h>

#include "sim/graph/deadlock.hpp"

namespace pipecast {
namespace {

/// Two replicas of one rank, each with task 0 (slot 0) and task 1 (slot 1).
struct TwoReplicas {
  TaskGraph graph;
  ReplicaTasks tasks;
  Platform platform = constant_delay_platform(2, {0});

  TwoReplicas() {
    graph.ranks = 2;
    graph.device_of_rank = {{0}, {1}};
    for (std::int32_t replica = 0; replica < 2; ++replica)
      for (std::uint32_t slot = 0; slot < 2; ++slot) {
        Task task;
        task.seconds = 1 + slot;
        task.rank = replica;
        graph.tasks.push_back(task);
        tasks.owner.push_back(replica);
        tasks.slot.push_back(slot);
      }
  }
  std::optional<FoldedGraph> folded(std::vector<Edge> edges) {
    graph.dependencies = dependency_graph(graph.tasks.size(), edges);
    graph.order = topological_order(graph);
    return fold_replicas(graph, edges, tasks, 1, platform);
  }
};

TEST(SymmetricFold, EqualReplicasFoldIntoOne) {
  TwoReplicas both;
  const auto folded = both.folded({{0, 1}, {2, 3}});
  ASSERT_TRUE(folded);
  EXPECT_EQ(folded->graph.tasks.size(), 2u);
  EXPECT_EQ(folded->kept, (std::vector<std::uint32_t>{0, 1}));
}

/// Crosswise is as good: each waits for an image of the same task.
TEST(SymmetricFold, WaitingForTheOthersImageIsWaitingForOnesOwn) {
  TwoReplicas both;
  EXPECT_TRUE(both.folded({{0, 3}, {2, 1}}));
}

/// Both first tasks lead to the second of replica 0, none to that of replica 1, which may start at
/// once: what leaves the tasks is alike, what enters them is not.
TEST(SymmetricFold, TasksThatWaitForDifferentThingsAreNotAlike) {
  TwoReplicas both;
  EXPECT_FALSE(both.folded({{0, 1}, {2, 1}}));
}

TEST(SymmetricFold, TasksThatLastDifferentlyAreNotAlike) {
  TwoReplicas both;
  both.graph.tasks[3].seconds = 2.5;
  EXPECT_FALSE(both.folded({{0, 1}, {2, 3}}));
}

}  // namespace
}  // namespace pipecast
