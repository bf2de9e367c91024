#include "sim/read/astra_network.hpp"

#include <gtest/gtest.h>

namespace pipecast {
namespace {

Platform read(std::string_view text) {
  const auto platform = read_astra_network(text, "net.yml");
  EXPECT_TRUE(platform) << render(platform.error());
  return platform.value_or(Platform{});
}

std::string way(const Platform& platform, int from, int to) {
  const Result<Route> found = route(platform, {from}, {to});
  if (!found) return found.error().front().message;
  std::string text;
  for (const LinkId link : found->links)
    text += (text.empty() ? "" : ", ") + platform.links[link.at()].name;
  return text;
}

constexpr std::string_view kTwoSwitches =
    "topology: [ Switch, Switch ]\n"
    "npus_count: [ 8, 4 ]\n"
    "bandwidth: [ 400.0, 50.0 ]  # GB/s of 2^30 bytes\n"
    "latency: [ 500.0, 1500.0 ]  # ns\n";

TEST(AstraNetwork, CountsGigabytesInPowersOfTwoAndLatencyPerWire) {
  const Platform platform = read(kTwoSwitches);
  EXPECT_EQ(platform.name, "net");
  ASSERT_EQ(platform.devices.size(), 32u);
  EXPECT_EQ(way(platform, 0, 7), "npu0 dim1 up, npu7 dim1 down");
  EXPECT_DOUBLE_EQ(route(platform, {0}, {7})->bandwidth.value, 400.0 * 1073741824);
  EXPECT_DOUBLE_EQ(route(platform, {0}, {7})->latency.value, 1e-6);
  EXPECT_EQ(way(platform, 0, 8), "npu0 dim2 up, npu8 dim2 down");
  EXPECT_DOUBLE_EQ(route(platform, {0}, {8})->latency.value, 3e-6);
}

TEST(AstraNetwork, GoesThroughInnerDimensionsFirst) {
  EXPECT_EQ(way(read(kTwoSwitches), 0, 31),
            "npu0 dim1 up, npu7 dim1 down, npu7 dim2 up, npu31 dim2 down");
}

TEST(AstraNetwork, RingsGoTheShorterWayRound) {
  const Platform ring =
      read("topology: [Ring]\nnpus_count: [5]\nbandwidth: [1.0]\nlatency: [100]\n");
  EXPECT_EQ(way(ring, 0, 2), "npu0 dim1 up, npu1 dim1 up");
  EXPECT_EQ(way(ring, 0, 3), "npu4 dim1 down, npu3 dim1 down");
  EXPECT_DOUBLE_EQ(route(ring, {0}, {3})->latency.value, 200e-9);
}

TEST(AstraNetwork, ThreeDimensionsOfAllSorts) {
  const Platform platform = read(
      "topology: [FullyConnected, Ring, Switch]\nnpus_count: [2, 3, 2]\n"
      "bandwidth: [4, 2, 1]\nlatency: [1, 2, 3]\n");
  ASSERT_EQ(platform.devices.size(), 12u);
  EXPECT_EQ(way(platform, 0, 1), "npu0-npu1 dim1");
  EXPECT_EQ(way(platform, 0, 11), "npu0-npu1 dim1, npu5 dim2 down, npu5 dim3 up, npu11 dim3 down");
  for (std::int32_t from = 0; from < 12; ++from)
    for (std::int32_t to = 0; to < 12; ++to)
      if (from != to) {
        EXPECT_TRUE(route(platform, {from}, {to})) << from << " " << to;
      }
}

TEST(AstraNetwork, ReportsEveryFaultWithItsPlace) {
  const auto broken = read_astra_network(
      "topology: [Switch, Rng]\nnpus_count: [1, 4]\nbandwidth: [0, 1]\nlatency: [5, -1]\n",
      "net.yml");
  ASSERT_FALSE(broken);
  const std::string faults = render(broken.error());
  EXPECT_NE(faults.find("net.yml:1:20: error: "), std::string::npos) << faults;
  EXPECT_NE(faults.find("did you mean 'Ring'?"), std::string::npos) << faults;
  EXPECT_NE(faults.find("net.yml:2:14: error: "), std::string::npos) << faults;
  EXPECT_NE(faults.find("net.yml:3:13: error: 0 is too small"), std::string::npos) << faults;
  EXPECT_NE(faults.find("net.yml:4:14: error: -1 is too small"), std::string::npos) << faults;
}

TEST(AstraNetwork, RefusesListsOfDifferentLengthAndTooManyNpus) {
  const auto message = [](std::string_view text) {
    const auto read = read_astra_network(text, "net.yml");
    return read ? "" : read.error().front().message;
  };
  EXPECT_NE(message("topology: [Ring, Ring]\nnpus_count: [2]\nbandwidth: [1]\nlatency: [1]\n")
                .find("has 1 entries, topology has 2"),
            std::string::npos);
  EXPECT_EQ(message("topology: [Switch, Switch]\nnpus_count: [4096, 4096]\nbandwidth: [1, 1]\n"
                    "latency: [1, 1]\n"),
            "the network has more than 65536 NPUs");
  EXPECT_EQ(message("topology: [Ring]\nnpus_count: [65536]\nbandwidth: [1]\nlatency: [1]\n"),
            "the ways of its rings and full connections have 70368744177664 links; at most "
            "16777216 are read");
}

TEST(AstraNetwork, AFaultOfOneKindHidesNoOther) {
  const auto broken = read_astra_network(
      "topologie: [Switch]\nnpus_count: [4, 1]\nbandwidth: 3\nlatency: [1, -5]\n", "net.yml");
  ASSERT_FALSE(broken);
  // An unknown key, a missing one, a count, a list that is none, a latency.
  EXPECT_EQ(broken.error().size(), 5U) << render(broken.error());
}

}  // namespace
}  // namespace pipecast
