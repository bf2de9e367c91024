// Predicted beside published step times: what `pipecast validate` prints must not get worse.
#include "sim/study/validation.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "schedules/schedule.hpp"
#include "sim/read/text_file.hpp"

namespace pipecast {
namespace {

struct Bound {
  const char* file;
  double mean;
  double worst;
  double ratio = 1;  ///< mean absolute error of the ratios
};

TEST(Validation, StepTimesOfPublishedRuns) {
  const auto schedules = builtin_schedules();
  const auto kinds = builtin_platform_kinds();
  const ReadContext context{schedules, kinds, {std::string(PIPECAST_SOURCE_DIR) + "/platforms"}};
  for (const Bound& bound :
       {Bound{"korthikanti", 0.031, 0.056, 0.025}, Bound{"megatron_sc21", 0.023, 0.076},
        Bound{"megascale", 0.043, 0.102, 0.062}, Bound{"bloom", 0.043, 0.26, 0.055},
        Bound{"llama3", 0.06, 0.15}, Bound{"nemo_h100_fp8", 0.06, 0.15},
        Bound{"torchtitan", 0.052, 0.12}, Bound{"dgxc_gb200", 0.075, 0.15},
        Bound{"dgxc_gb200_moe", 0.085, 0.15}, Bound{"megatron_bridge", 0.065, 0.24},
        Bound{"llm_foundry_h100", 0.06, 0.20}, Bound{"megatron_bridge_moe", 0.10, 0.37},
        Bound{"megatron_h100", 0.125, 0.18}, Bound{"simumax_b200", 0.06, 0.12},
        Bound{"dgxc_h100", 0.036, 0.09}, Bound{"zero_bubble_table4", 0.015, 0.047, 0.019}}) {
    const std::string path =
        std::string(PIPECAST_TEST_DIR) + "/published/data/runs/" + bound.file + ".yaml";
    const auto text = read_text_file(path, kMaxYamlBytes);
    ASSERT_TRUE(text) << path;
    auto source = read_published_runs(*text, path, context);
    ASSERT_TRUE(source) << render(source.error());
    const auto validated = validate(std::move(*source), context);
    EXPECT_GE(validated.counted, 3) << path;
    EXPECT_LE(validated.mean_absolute_error, bound.mean) << path;
    EXPECT_LE(std::abs(validated.worst_error), bound.worst) << path;
    EXPECT_LE(validated.mean_absolute_ratio_error, bound.ratio) << path;
  }
}

}  // namespace
}  // namespace pipecast
