#include <gtest/gtest.h>

#include <random>

#include "tests/cli/study_runs.hpp"

namespace pipecast::cli {
namespace {

/// Fifty moments over the whole run and a little beyond, from a fixed seed.
TEST(StudyFaults, SurvivesFiftyKillsAtRandomMoments) {
  const Workshop workshop;
  workshop.write("busy.yaml", busy_study());
  const WholeStudy whole = run_whole(workshop, "busy.yaml");
  std::mt19937 random(20240601);
  for (int kill = 0; kill < 50; ++kill) {
    const double part = static_cast<double>(random()) / static_cast<double>(std::mt19937::max());
    const double seconds = 1.1 * part * whole.seconds;
    ASSERT_TRUE(same_table(killed_and_resumed(workshop, "busy.yaml", seconds), whole.csv))
        << "kill " << kill << " after " << seconds << " s of " << whole.seconds;
  }
}

/// Progress is told every ten seconds; a log that cannot grow is not the study's end.
TEST(StudyFaults, ALogOnAFullDiskStopsNothing) {
  const Workshop workshop;
  workshop.write("busy.yaml", busy_study());
  const Outcome outcome = workshop.sh(
      "sed -i 's/range: \\[4, 128\\]/range: [4, 40000]/' busy.yaml\n"
      "pipecast sweep busy.yaml --out log.db --jobs 2 2>/dev/full & p=$!\n"
      "sleep 12; kill -TERM $p; wait $p");
  EXPECT_EQ(outcome.code, 130);
}

}  // namespace
}  // namespace pipecast::cli
