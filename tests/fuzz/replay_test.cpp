#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tests/fuzz/targets.hpp"
#include "tests/support/csv_blocks.hpp"

/// The corpus of every fuzz target, and the broken files of tests/bad, through the same code that
/// libFuzzer runs. A violated sentence aborts.
namespace pipecast {
namespace {

namespace fs = std::filesystem;
using Target = void (*)(std::string_view);

std::size_t replay(const fs::path& folder, Target target) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(fs::path(PIPECAST_TEST_DIR) / folder))
    if (entry.is_regular_file()) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) target(testing::file_text(file.string()));
  return files.size();
}

TEST(Replay, Scenarios) {
  EXPECT_GE(replay("fuzz/corpus/scenario", fuzzing::scenario), 5U);
  replay("bad/scenarios", fuzzing::scenario);
}

TEST(Replay, PlatformPresets) {
  EXPECT_GE(replay("fuzz/corpus/platform_preset", fuzzing::platform_preset), 3U);
  replay("bad/scenarios", fuzzing::platform_preset);
}

TEST(Replay, Models) {
  EXPECT_GE(replay("fuzz/corpus/hf_config", fuzzing::hf_config), 5U);
  EXPECT_GE(replay("fuzz/corpus/model_preset", fuzzing::model_preset), 3U);
  replay("fuzz/corpus/model_preset", fuzzing::hf_config);
  replay("bad/scenarios", fuzzing::model_preset);
}

TEST(Replay, Accelerators) {
  EXPECT_GE(replay("fuzz/corpus/accelerator", fuzzing::accelerator), 5U);
  replay("../platforms/accelerators", fuzzing::accelerator);
}

TEST(Replay, PlatformFilesOfOtherTools) {
  EXPECT_GE(replay("fuzz/corpus/platform_xml", fuzzing::platform_xml), 8U);
  EXPECT_GE(replay("fuzz/corpus/astra_network", fuzzing::astra_network), 5U);
}

TEST(Replay, FrameworkRuns) {
  EXPECT_GE(replay("fuzz/corpus/megatron_arguments", fuzzing::megatron_arguments), 5U);
  EXPECT_GE(replay("fuzz/corpus/framework_config", fuzzing::framework_config), 5U);
  replay("fuzz/corpus/framework_config", fuzzing::megatron_arguments);
  replay("fuzz/corpus/megatron_arguments", fuzzing::framework_config);
}

TEST(Replay, ServingFiles) {
  EXPECT_GE(replay("fuzz/corpus/serving", fuzzing::serving), 3U);
  replay("bad/scenarios", fuzzing::serving);
}

TEST(Replay, Schedules) {
  EXPECT_GE(replay("fuzz/corpus/program_csv", fuzzing::program_csv), 5U);
  replay("bad/schedules", [](std::string_view text) {
    for (const char choice : {'0', '1', '2', '3'}) fuzzing::program_csv(choice + std::string(text));
  });
}

TEST(Replay, Measured) { EXPECT_GE(replay("fuzz/corpus/measured", fuzzing::measured), 5U); }

TEST(Replay, Fields) { EXPECT_GE(replay("fuzz/corpus/fields", fuzzing::fields), 5U); }

}  // namespace
}  // namespace pipecast
