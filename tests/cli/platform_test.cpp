#include <gtest/gtest.h>

#include <algorithm>

#include "tests/cli/shell.hpp"

namespace pipecast::cli {
namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(PlatformCommand, ListsKindsPresetsAndAccelerators) {
  const Workshop workshop;
  const Outcome list = workshop.sh("pipecast platform list");
  EXPECT_EQ(list.code, 0) << list.err;
  for (const char* part : {"rail-cluster", "dgx-h100-ib", "ascend_910b1", "unknown"})
    EXPECT_TRUE(contains(list.out, part)) << part;
  EXPECT_TRUE(
      contains(workshop.sh("pipecast platform list --fields").out, "leaf_oversubscription"));
}

TEST(PlatformCommand, ShowsATopologyAndDrawsIt) {
  const Workshop workshop;
  const Outcome show =
      workshop.sh("pipecast platform show dgx-h100-ib --set nodes=2 --svg c.svg --xml c.xml");
  EXPECT_EQ(show.code, 0) << show.err;
  EXPECT_TRUE(contains(show.out, "dgx-h100-ib: 16 devices")) << show.out;
  EXPECT_TRUE(contains(workshop.read("c.svg"), "n1.d7"));
  const Outcome again = workshop.sh("pipecast platform show c.xml");
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_TRUE(contains(again.out, "c: 16 devices"));
}

/// A system is an accelerator of the catalogue and a preset: what draws is the preset.
TEST(PlatformCommand, APresetIsShownBeforeAnAcceleratorOfItsName) {
  const Workshop workshop;
  const Outcome show = workshop.sh("pipecast platform show cloudmatrix384 --svg c.svg");
  EXPECT_EQ(show.code, 0) << show.err;
  EXPECT_TRUE(contains(show.out, "cloudmatrix384: 384 devices")) << show.out;
  EXPECT_TRUE(contains(workshop.read("c.svg"), "<svg"));
  const Outcome device = workshop.sh("pipecast platform show ascend_910b1 --svg d.svg");
  EXPECT_EQ(device.code, 2);
  EXPECT_TRUE(contains(device.err, "ascend_910b1 is an accelerator, --svg is for platforms"));
}

TEST(PlatformCommand, SaysWhereNumbersAreFrom) {
  const Workshop workshop;
  const Outcome device = workshop.sh("pipecast platform show ascend_910b1");
  EXPECT_EQ(device.code, 0) << device.err;
  for (const char* part : {"Huawei Ascend 910B1", "414 TFLOP/s", "memory     from memory"})
    EXPECT_TRUE(contains(device.out, part)) << part << "\n" << device.out;
  const Outcome preset = workshop.sh("pipecast platform show dgx-h100-ib --sources");
  EXPECT_EQ(preset.code, 0) << preset.err;
  EXPECT_TRUE(contains(preset.out, "measured   arXiv 2505.09343 (DeepSeek), latency table"))
      << preset.out;
}

/// A scenario on the machines of a file of another tool, from end to end.
TEST(PlatformCommand, FilesOfOtherToolsCarryScenarios) {
  const Workshop workshop;
  workshop.write("net.yml",
                 "topology: [Switch, Ring]\nnpus_count: [2, 2]\nbandwidth: [400, 50]\n"
                 "latency: [500, 1500]\n");
  workshop.write("step.yaml",
                 "pipeline: {schedule: 1f1b, ranks: 4, microbatches: 8}\n"
                 "workload: {costs: {forward: 10 ms, backward: 20 ms}, message: 32 MiB}\n"
                 "platform: {astra: net.yml, accelerator: h100_sxm5_80gb}\n");
  const Outcome run = workshop.sh("pipecast run step.yaml --json run.json");
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_TRUE(contains(workshop.read("run.json"), "85520809984")) << workshop.read("run.json");
  EXPECT_TRUE(contains(workshop.sh("pipecast check step.yaml").out, "net.yml, 4 devices"));
}

TEST(PlatformCommand, PingsTwoDevicesAndAGroup) {
  const Workshop workshop;
  const Outcome pair = workshop.sh("pipecast platform ping dgx-h100-ib n0.d0 8 --bytes 1B-1GiB");
  EXPECT_EQ(pair.code, 0) << pair.err;
  EXPECT_TRUE(contains(pair.out, "n0.d0 to n1.d0 on dgx-h100-ib")) << pair.out;
  EXPECT_EQ(std::count(pair.out.begin(), pair.out.end(), '\n'), 2 + 31);
  const Outcome group = workshop.sh(
      "pipecast platform ping h100-nvlink-node --collective all-reduce --group 0-7 --bytes "
      "1MiB-16GiB");
  EXPECT_EQ(group.code, 0) << group.err;
  EXPECT_TRUE(contains(group.out, "in-switch")) << group.out;
}

TEST(PlatformCommand, ReadsAstraSimsNetworks) {
  const Workshop workshop;
  workshop.write("net.yml",
                 "topology: [Switch, Ring]\nnpus_count: [8, 4]\nbandwidth: [400, 50]\n"
                 "latency: [500, 1500]\n");
  const Outcome show = workshop.sh("pipecast platform show net.yml");
  EXPECT_EQ(show.code, 0) << show.err;
  EXPECT_TRUE(contains(show.out, "net: 32 devices")) << show.out;
  EXPECT_EQ(workshop.sh("pipecast platform show net.yml --set nodes=2").code, 1);
}

TEST(PlatformCommand, FaultsAreMessages) {
  const Workshop workshop;
  EXPECT_EQ(workshop.sh("pipecast platform ping h100-nvlink-node 0").code, 2);
  const Outcome device = workshop.sh("pipecast platform ping h100-nvlink-node 0 n0.d9");
  EXPECT_EQ(device.code, 1);
  EXPECT_TRUE(contains(device.err, "has no device 'n0.d9'")) << device.err;
  const Outcome preset = workshop.sh("pipecast platform show dgx-h100-bi");
  EXPECT_EQ(preset.code, 1);
  EXPECT_TRUE(contains(preset.err, "did you mean 'dgx-h100-ib'?")) << preset.err;
  const Outcome field = workshop.sh("pipecast platform show dgx-h100-ib --set node=2");
  EXPECT_EQ(field.code, 1);
  EXPECT_TRUE(contains(field.err, "did you mean 'nodes'?")) << field.err;
  const Outcome bound = workshop.sh("pipecast platform show dgx-h100-ib --set nodes=0");
  EXPECT_EQ(bound.code, 1);
  EXPECT_TRUE(contains(bound.err, "nodes is 0, allowed is from 1")) << bound.err;
  workshop.write("broken.xml", "<platform version=\"4\"><zone id=\"z\"></platform>");
  const Outcome xml = workshop.sh("pipecast platform show broken.xml");
  EXPECT_EQ(xml.code, 1);
  EXPECT_TRUE(contains(xml.err, "broken.xml:1:")) << xml.err;
}

}  // namespace
}  // namespace pipecast::cli
