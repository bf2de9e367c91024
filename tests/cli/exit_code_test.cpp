#include <gtest/gtest.h>

#include "tests/cli/shell.hpp"

namespace pipecast::cli {
namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// A whole scenario; `pipeline` is the text of that block's lines.
std::string scenario_with(const std::string& pipeline) {
  return "pipeline:\n" + pipeline +
         "workload:\n  costs: {forward: 1 ms, backward_input: 1 ms, backward_weight: 1 ms}\n"
         "platform: {delay: 1 us}\n";
}

TEST(ExitCode, UsageIsTwo) {
  const Workshop workshop;
  EXPECT_EQ(workshop.sh("pipecast").code, 2);
  EXPECT_EQ(workshop.sh("pipecast run").code, 2);
  EXPECT_EQ(workshop.sh("pipecast run a.yaml b.yaml").code, 2);
  EXPECT_EQ(workshop.sh("pipecast run a.yaml --frobnicate").code, 2);
  EXPECT_EQ(workshop.sh("pipecast run a.yaml --engine fast").code, 2);
  EXPECT_EQ(workshop.sh("pipecast run a.yaml --set novalue").code, 2);
  EXPECT_EQ(workshop.sh("pipecast schedule show 1f1b -p 0 -m 4").code, 2);
  EXPECT_EQ(workshop.sh("pipecast schedule show 1f1b -p 4").code, 2);
}

/// A value that is none of its option, for every option whose value has a form.
TEST(ExitCode, AMalformedOptionValueIsUsage) {
  const Workshop workshop;
  workshop.write("s.yaml", scenario_with("  schedule: 1f1b\n  ranks: 2\n  microbatches: 2\n"));
  const std::string schedule = " 1f1b -p 4 -m 8 ";
  const std::pair<std::string, const char*> lines[] = {
      {"schedule show" + schedule + "--costs 1,x,1", "'x' is not a number from 0 to 1e9"},
      {"schedule show" + schedule + "--costs 1,1", "has 2 numbers"},
      {"schedule show" + schedule + "--costs 1e308,1,1", "'1e308' is not a number from 0 to 1e9"},
      {"schedule show" + schedule + "--param k", "is not NAME=VALUE"},
      {"schedule show" + schedule + "--param k=1", "'k'"},
      {"schedule show" + schedule + "--width 3", "--width"},
      {"schedule show 1f1b -p x -m 8", "--ranks"},
      {"schedule show 1f1b -p 4 -m 0", "--microbatches"},
      {"schedule show" + schedule + "-v -1", "--chunks"},
      {"schedule export" + schedule + "--costs ,", "is not a number"},
      {"schedule check s.csv --dialect torch", "--dialect"},
      {"formulas --schedules 1f1bb", "did you mean '1f1b'?"},
      {"formulas --schedules ,", "--schedules names no schedule"},
      {"compare s.yaml --schedules 1f1bb", "1f1bb"},
      {"compare s.yaml --memory-limit much", "--memory-limit"},
      {"compare s.yaml --engine fast", "--engine"},
      {"compare s.yaml --trace-detail some", "--trace-detail"},
      {"compare s.yaml --set x", "--set 'x'"},
      {"run s.yaml --engine fast", "--engine"},
      {"run s.yaml --trace-detail some", "--trace-detail"},
      {"run s.yaml --set =1", "--set '=1'"},
      {"run s.yaml --presets nowhere", "--presets"},
      {"check s.yaml --set x", "--set 'x'"},
      {"platform list --presets nowhere", "--presets"},
      {"platform show dgx-h100-ib --set nodes", "--set 'nodes'"},
      {"platform ping dgx-h100-ib 0 8 --set nodes", "--set 'nodes'"},
      {"platform ping dgx-h100-ib 0 8 --bytes much", "--bytes: "},
      {"platform ping dgx-h100-ib 0 8 --bytes 2MiB-1MiB", "--bytes: "},
      {"platform ping dgx-h100-ib --collective all-reduce --group 0-x", "--group: "},
      {"platform ping dgx-h100-ib --collective all-reduce --group 0-999999", "--group: "},
      {"platform ping dgx-h100-ib --collective all-reduce --group 0,0", "--group: "},
      {"platform ping dgx-h100-ib --collective gather", "--collective"},
      {"platform ping dgx-h100-ib --collective all-reduce --algorithm star", "--algorithm"},
      {"platform ping dgx-h100-ib 0 8 --engine fast", "--engine"},
      {"import t.json --engine fast", "--engine"},
      {"import t.json --set x", "--set"},
      {"sweep s.yaml --out s.db --jobs many", "--jobs"},
      {"sweep s.yaml --out s.db --shard 3/2", "--shard"},
      {"sweep s.yaml --out s.db --presets nowhere", "--presets"},
      {"study rank s.db tensor", "is not KEY=VALUE"},
  };
  for (const auto& [line, message] : lines) {
    const Outcome outcome = workshop.sh("pipecast " + line);
    EXPECT_EQ(outcome.code, 2) << line << "\n" << outcome.err;
    EXPECT_TRUE(contains(outcome.err, message)) << line << "\n" << outcome.err;
    EXPECT_EQ(outcome.out, "") << line;
  }
}

TEST(ExitCode, AnUnknownCommandGetsASuggestion) {
  const Workshop workshop;
  const Outcome top = workshop.sh("pipecast rum x.yaml");
  EXPECT_EQ(top.code, 2);
  EXPECT_TRUE(contains(top.err, "there is no command 'rum'; did you mean 'run'?")) << top.err;
  EXPECT_EQ(top.out, "");
  const Outcome nested = workshop.sh("pipecast schedule exprt 1f1b");
  EXPECT_EQ(nested.code, 2);
  EXPECT_TRUE(contains(nested.err, "did you mean 'export'?")) << nested.err;
}

TEST(ExitCode, TheUsersInputIsOne) {
  const Workshop workshop;
  const Outcome missing = workshop.sh("pipecast run missing.yaml");
  EXPECT_EQ(missing.code, 1);
  EXPECT_TRUE(contains(missing.err, "missing.yaml")) << missing.err;
  EXPECT_EQ(missing.out, "");
  workshop.write("bad.yaml", scenario_with("  schedule: 1f1b\n  ranks: four\n  microbatches: 8\n"));
  EXPECT_EQ(workshop.sh("pipecast run bad.yaml").code, 1);
  EXPECT_EQ(workshop.sh("pipecast schedule show 1f1bb -p 4 -m 8").code, 1);
  EXPECT_EQ(workshop.sh("pipecast schedule check missing.csv").code, 1);
}

TEST(ExitCode, TheInfeasibleIsThree) {
  const Workshop workshop;
  workshop.write("shape.yaml",
                 scenario_with("  schedule: interleaved-1f1b\n  ranks: 4\n  chunks: 2\n"
                               "  microbatches: 9\n"));
  EXPECT_EQ(workshop.sh("pipecast check shape.yaml").code, 3);
  EXPECT_EQ(workshop.sh("pipecast schedule show 1f1b -p 4 -v 2 -m 8").code, 3);
  // Rank 0 waits for the backward of 0, rank 1 wants microbatch 1 first.
  workshop.write("deadlock.csv", "0F0,0B0,0F1,0B1\r\n1F1,1B1,1F0,1B0\r\n");
  const Outcome deadlock = workshop.sh("pipecast schedule check deadlock.csv");
  EXPECT_EQ(deadlock.code, 3) << deadlock.err;
  EXPECT_TRUE(contains(deadlock.err, "deadlock.csv")) << deadlock.err;
}

TEST(ExitCode, InAMixtureTheInputWins) {
  const Workshop workshop;
  workshop.write("shape.yaml",
                 scenario_with("  schedule: interleaved-1f1b\n  ranks: 4\n  chunks: 2\n"
                               "  microbatches: 9\n"));
  EXPECT_EQ(workshop.sh("pipecast check shape.yaml missing.yaml").code, 1);
  EXPECT_EQ(workshop.sh("pipecast check missing.yaml shape.yaml").code, 1);
  EXPECT_EQ(workshop.sh("pipecast check shape.yaml scenarios/zero-bubble-1.5b.yaml").code, 3);
  EXPECT_EQ(workshop.sh("pipecast check scenarios/zero-bubble-1.5b.yaml").code, 0);
}

TEST(ExitCode, HelpAndVersionAreAnswers) {
  const Workshop workshop;
  for (const char* line : {"pipecast --help", "pipecast run --help", "pipecast schedule -h",
                           "pipecast schedule show --help"}) {
    const Outcome help = workshop.sh(line);
    EXPECT_EQ(help.code, 0) << line;
    EXPECT_TRUE(contains(help.out, "Example")) << line;
    EXPECT_EQ(help.err, "") << line;
  }
  EXPECT_TRUE(contains(workshop.sh("pipecast --version").out, "pipecast 0."));
}

TEST(ExitCode, WhatIsReadIsNotWritten) {
  const Workshop workshop;
  const std::string text = scenario_with("  schedule: 1f1b\n  ranks: 2\n  microbatches: 2\n");
  workshop.write("s.yaml", text);
  const Outcome over = workshop.sh("pipecast run s.yaml --json ./s.yaml --quiet");
  EXPECT_EQ(over.code, 2);
  EXPECT_TRUE(contains(over.err, "'./s.yaml' is what the command reads")) << over.err;
  EXPECT_EQ(workshop.sh("cat s.yaml").out, text);
  EXPECT_EQ(workshop.sh("pipecast run s.yaml --presets nowhere --quiet").code, 2);
}

TEST(ExitCode, WhatCannotFitWithoutRunningIsInfeasible) {
  const Workshop workshop;
  const Outcome checked = workshop.sh(
      "pipecast check scenarios/zero-bubble-1.5b.yaml --set 'platform={preset: a100-nvlink-node}' "
      "--set 'workload.parameters=100 GiB'");
  EXPECT_EQ(checked.code, 3);
  EXPECT_TRUE(contains(checked.err, "of it for weights, gradients and optimizer")) << checked.err;
  const Outcome unknown = workshop.sh("pipecast compare scenarios/zero-bubble-1.5b.yaml");
  EXPECT_TRUE(contains(unknown.out, "unknown")) << unknown.out;
}

TEST(ExitCode, TheLongestPathSaysWhenALinkIsOverfull) {
  const Workshop workshop;
  workshop.write("s.yaml",
                 "pipeline: {schedule: gpipe, ranks: 2, microbatches: 2}\n"
                 "workload:\n  costs: {forward: 1 ms, backward: 2 ms}\n  message: 960 MB\n"
                 "  gradient_message: 0 B\n"
                 "platform: {preset: dgx-a100-ib, devices: [0, 8]}\n");
  EXPECT_TRUE(contains(workshop.sh("pipecast run s.yaml --engine longest-path").out,
                       "the longest path knows no contention"));
  EXPECT_FALSE(
      contains(workshop.sh("pipecast run s.yaml").out, "the longest path knows no contention"));
}

TEST(ExitCode, AFullStandardOutputIsAnError) {
  const Workshop workshop;
  EXPECT_EQ(workshop.sh("pipecast schedule list >/dev/full").code, 1);
  EXPECT_EQ(workshop.sh("pipecast --help >/dev/full").code, 1);
  EXPECT_EQ(workshop.sh("pipecast run --help >/dev/full").code, 1);
  const Outcome json =
      workshop.sh("pipecast run scenarios/zero-bubble-1.5b.yaml --quiet --json - >/dev/full");
  EXPECT_EQ(json.code, 1);
  EXPECT_TRUE(contains(json.err, "cannot write to the standard output")) << json.err;
}

}  // namespace
}  // namespace pipecast::cli
