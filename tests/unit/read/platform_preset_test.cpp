#include "sim/read/platform_preset.hpp"

#include <gtest/gtest.h>

namespace pipecast {
namespace {

const std::vector<PlatformKind> kKinds{
    {"mesh",
     "",
     {{"latency", FieldKind::Time, 0, 1, "1e-6 s", "", {}},
      {"bandwidth", FieldKind::Bandwidth, 1, 1e15, "0 GB/s", "of a link", {}}},
     nullptr}};

TEST(PlatformPreset, NumbersMayCarryTheirSource) {
  const auto preset = read_platform_preset(
      "kind: mesh\n"
      "description: two boards\n"
      "bandwidth: {value: 10 GB/s, source: \"vendor, table 3\", certainty: vendor, note: one way}\n"
      "sources:\n  tables: [\"vendor, 2023\", \"paper\"]\n",
      "platforms/two-boards.yaml", kKinds);
  ASSERT_TRUE(preset) << render(preset.error());
  EXPECT_EQ(preset->name, "two-boards");
  EXPECT_EQ(preset->kind, "mesh");
  EXPECT_EQ(preset->description, "two boards");
  EXPECT_EQ(std::get<double>(preset->values.at("bandwidth")), 1e10);
  EXPECT_EQ(std::get<double>(preset->values.at("latency")), 1e-6);
  ASSERT_EQ(preset->stated.size(), 1U);
  EXPECT_EQ(preset->stated.at("bandwidth"),
            (StatedValue{"10 GB/s", "vendor, table 3", "vendor", "one way"}));
  ASSERT_EQ(preset->sources.size(), 2U);
  EXPECT_EQ(preset->sources[1], (std::pair<std::string, std::string>{"sources.tables.1", "paper"}));
}

TEST(PlatformPreset, EveryFaultOfAFile) {
  const auto preset = read_platform_preset(
      "kind: mesh\nlatency: {valu: 1 us}\nbandwidth: 10 GB\nlatncy: 1 us\n", "p.yaml", kKinds);
  ASSERT_FALSE(preset);
  std::vector<std::string> messages;
  for (const Diagnostic& fault : preset.error()) messages.push_back(fault.message);
  EXPECT_EQ(messages,
            (std::vector<std::string>{
                "latency lacks the key 'value'", "unknown key 'valu' in latency",
                "bandwidth: unknown unit 'GB': one of Mb/s, Gb/s, Tb/s, MB/s, GB/s, TB/s, MiB/s, "
                "GiB/s",
                "unknown key 'latncy'"}));
}

TEST(PlatformPreset, NamesAreNotPaths) {
  const auto preset = find_platform_preset("../secret", {}, kKinds);
  ASSERT_FALSE(preset);
  EXPECT_EQ(preset.error()[0].message, "a preset is a name, '../secret' is not");
}

}  // namespace
}  // namespace pipecast
