#include <gtest/gtest.h>

#include <algorithm>

#include "sim/read/accelerator.hpp"
#include "sim/read/platform_preset.hpp"
#include "sim/read/platform_xml.hpp"

namespace pipecast {
namespace {

std::vector<std::string> folders() { return {std::string(PIPECAST_SOURCE_DIR) + "/platforms"}; }

std::vector<PlatformPreset> presets() {
  const std::vector<PlatformKind> kinds = builtin_platform_kinds();
  std::vector<PlatformPreset> all;
  for (const std::string& name : platform_preset_names(folders())) {
    const Result<PlatformPreset> preset = find_platform_preset(name, folders(), kinds);
    EXPECT_TRUE(preset) << render(preset.error());
    if (preset) all.push_back(*preset);
  }
  return all;
}

TEST(PresetLaws, TheMachinesPeopleBuyAreThere) {
  const std::vector<std::string> names = platform_preset_names(folders());
  for (const char* name : {"dgx-a100-ib", "dgx-h100-ib", "dgx-h200-ib", "dgx-b200-ib",
                           "hgx-h100-roce", "gb200-nvl72", "deepseek-h800", "llama3-roce",
                           "mi300x-roce", "ascend-910b-roce", "cloudmatrix384", "tpu-v5p-pod"})
    EXPECT_TRUE(std::find(names.begin(), names.end(), name) != names.end()) << name;
}

TEST(PresetLaws, EveryPresetBuildsAndConnectsItsDevices) {
  const std::vector<PlatformKind> kinds = builtin_platform_kinds();
  for (const PlatformPreset& preset : presets()) {
    const Result<Platform> platform =
        make_platform(*find_platform_kind(kinds, preset.kind), preset.values);
    ASSERT_TRUE(platform) << preset.name << render(platform.error());
    const auto devices = static_cast<std::int32_t>(platform->devices.size());
    for (std::int32_t from = 0; from < devices; from += 1 + devices / 97)
      for (std::int32_t to = 0; to < devices; to += 1 + devices / 89)
        if (from != to) {
          ASSERT_TRUE(route(*platform, {from}, {to})) << preset.name;
        }
    EXPECT_GT(platform->devices.front().memory.value, 0) << preset.name;
  }
}

/// By their levels, whatever the size. Only a torus has none.
TEST(PresetLaws, EveryPresetIsReadBackFromASimgridFile) {
  const std::vector<PlatformKind> kinds = builtin_platform_kinds();
  for (const PlatformPreset& preset : presets()) {
    SCOPED_TRACE(preset.name);
    Platform platform = *make_platform(*find_platform_kind(kinds, preset.kind), preset.values);
    if (!std::holds_alternative<LevelRouting>(platform.routing)) continue;
    platform.name = preset.name;
    const Result<std::string> xml = write_levels_xml(platform);
    ASSERT_TRUE(xml) << render(xml.error());
    const Result<Platform> read = read_platform_xml(*xml, preset.name + ".xml");
    ASSERT_TRUE(read) << render(read.error());
    EXPECT_EQ(*read, platform);
  }
}

/// Numbers are measured, quoted or estimated by somebody; only counts and words stand alone.
TEST(PresetLaws, EveryMeasuredNumberHasASourceAndACertainty) {
  const std::vector<PlatformKind> kinds = builtin_platform_kinds();
  for (const PlatformPreset& preset : presets())
    for (const FieldInfo& field : find_platform_kind(kinds, preset.kind)->fields) {
      const bool measured = field.kind == FieldKind::Number || field.kind == FieldKind::Time ||
                            field.kind == FieldKind::Memory || field.kind == FieldKind::Bandwidth;
      const auto stated = preset.stated.find(field.name);
      if (!measured || stated == preset.stated.end()) continue;
      EXPECT_FALSE(stated->second.source.empty()) << preset.name << " " << field.name;
      EXPECT_TRUE(std::find(kCertaintyWords.begin(), kCertaintyWords.end(),
                            stated->second.certainty) != kCertaintyWords.end())
          << preset.name << " " << field.name;
    }
}

/// A preset's device is in the catalogue, and its memory is what the catalogue says: as the system
/// reports it, or nominal where nothing else is known.
TEST(PresetLaws, DevicesAgreeWithTheCatalogue) {
  for (const PlatformPreset& preset : presets()) {
    const std::string id = std::get<std::string>(preset.values.at("accelerator"));
    const Result<Accelerator> accelerator = find_accelerator(id, folders());
    ASSERT_TRUE(accelerator) << preset.name << render(accelerator.error());
    Result<Bytes> memory = known_bytes(*accelerator, Property::MemoryReported);
    if (!memory) memory = known_bytes(*accelerator, Property::MemoryNominal);
    EXPECT_EQ(memory->value, std::get<double>(preset.values.at("memory"))) << preset.name;
  }
}

}  // namespace
}  // namespace pipecast
