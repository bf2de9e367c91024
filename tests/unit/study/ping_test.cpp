#include "sim/study/ping.hpp"

#include <gtest/gtest.h>

namespace pipecast {
namespace {

/// Two devices with a full-duplex port each.
Platform pair_of_devices() {
  Platform platform;
  platform.name = "pair";
  platform.devices = {{"a", "", Bytes{}, 1.0}, {"b", "", Bytes{}, 1.0}};
  platform.links = {{"there", Seconds{2e-6}, {1e9}, Sharing::Shared},
                    {"back", Seconds{2e-6}, {1e9}, Sharing::Shared}};
  platform.routing = ExplicitRouting{
      {{{DeviceId{0}, DeviceId{1}}, {LinkId{0}}}, {{DeviceId{1}, DeviceId{0}}, {LinkId{1}}}}};
  return platform;
}

TEST(Ping, GivesLatencyAndBandwidthWithBothEvaluators) {
  const std::vector<Bytes> sizes{Bytes{0}, Bytes{1e6}};
  for (const Engine engine : {Engine::LongestPath, Engine::Simgrid}) {
    const auto points = ping(pair_of_devices(), {0}, {1}, sizes, engine);
    ASSERT_TRUE(points) << render(points.error());
    EXPECT_NEAR((*points)[0].time.value, 2e-6, 1e-15);
    EXPECT_NEAR((*points)[1].time.value, 1.002e-3, 1e-12);
    EXPECT_NEAR((*points)[1].bandwidth.value, 1e6 / 1.002e-3, 1);
  }
}

TEST(Ping, GivesTheBusBandwidthOfACollective) {
  const std::vector<Bytes> sizes{Bytes{1e9}};
  const auto points = ping_collective(
      pair_of_devices(), {Collective::AllReduce, CollectiveAlgorithm::Ring, {{0}, {1}}, {}}, sizes,
      Engine::Simgrid);
  ASSERT_TRUE(points) << render(points.error());
  EXPECT_NEAR(points->front().time.value, 1 + 4e-6, 1e-9);
  EXPECT_NEAR(points->front().bus_bandwidth.value, 1e9, 1e4);  // 2 (n-1)/n = 1 for two devices
}

TEST(Ping, RefusesADeviceThatSendsToItself) {
  EXPECT_EQ(ping(pair_of_devices(), {0}, {0}, {}, Engine::LongestPath).error().front().message,
            "a device does not send to itself; name two devices");
}

TEST(Ping, ReadsGroups) {
  const Platform platform = constant_delay_platform(32, Seconds{1e-6});
  EXPECT_EQ(parse_devices("0-2, 16,30-31", platform).value(),
            (std::vector<DeviceId>{{0}, {1}, {2}, {16}, {30}, {31}}));
  const auto message = [&](std::string_view text) {
    return parse_devices(text, platform).error().front().message;
  };
  EXPECT_EQ(message("0-32"), "platform constant delay has devices 0 to 31, not 32");
  EXPECT_EQ(message("7-3"), "'7-3' is not a device or a range of devices");
  EXPECT_EQ(message("0,,1"), "'' is not a device or a range of devices");
  EXPECT_EQ(message("0-31,0"), "the group names device 0 twice");
}

TEST(Ping, ReadsSizes) {
  EXPECT_EQ(parse_sizes("1KiB-5KiB").value(),
            (std::vector<Bytes>{Bytes{1024}, Bytes{2048}, Bytes{4096}, Bytes{5120}}));
  EXPECT_EQ(parse_sizes("64 KiB").value(), std::vector<Bytes>{Bytes{65536}});
  EXPECT_EQ(parse_sizes("5KiB-1KiB").error().front().message,
            "'5KiB-1KiB' is not a range of sizes");
  EXPECT_EQ(parse_sizes("5-1KiB").error().front().message,
            "'5' needs a unit: one of B, KiB, MiB, GiB, TiB, KB, MB, GB, TB");
}

}  // namespace
}  // namespace pipecast
