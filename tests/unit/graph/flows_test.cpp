#include "sim/graph/flows.hpp"

#include <gtest/gtest.h>

namespace pipecast {
namespace {

TEST(Flows, BecomeTransfersInOrderWithTheirDependencies) {
  const Platform platform = constant_delay_platform(8, Seconds{1e-6});
  const std::vector<Flow> flows{{{5}, {2}, Bytes{100}},
                                {{2}, {7}, Bytes{200}, Seconds{3e-6}, {0}},
                                {{5}, {2}, Bytes{300}, Seconds{}, {0, 1}}};
  const Result<TaskGraph> graph = build_flow_graph(flows, platform);
  ASSERT_TRUE(graph);
  EXPECT_EQ(graph->device_of_rank, (std::vector<DeviceId>{{2}, {5}, {7}}));
  EXPECT_EQ(graph->routes.size(), 2u);
  ASSERT_EQ(graph->tasks.size(), 3u);
  EXPECT_EQ(graph->tasks[1].rank, 0);
  EXPECT_EQ(graph->tasks[1].peer, 2);
  EXPECT_EQ(graph->tasks[1].bytes, 200);
  EXPECT_EQ(graph->tasks[1].seconds, 3e-6);
  EXPECT_EQ(boost::num_edges(graph->dependencies), 3u);
  EXPECT_EQ(boost::out_degree(0u, graph->dependencies), 2u);
}

TEST(Flows, SayWhichPairHasNoRoute) {
  Platform platform = constant_delay_platform(3, Seconds{1e-6});
  platform.routing = ExplicitRouting{{{{DeviceId{0}, DeviceId{1}}, {LinkId{0}}}}};
  const std::vector<Flow> flows{{{0}, {1}, Bytes{1}}, {{1}, {2}, Bytes{1}}};
  const Result<TaskGraph> graph = build_flow_graph(flows, platform);
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().front().message,
            "platform constant delay has no route from device1 to device2");
}

}  // namespace
}  // namespace pipecast
