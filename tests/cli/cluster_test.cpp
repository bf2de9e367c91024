#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "sim/read/yaml_cursor.hpp"
#include "tests/cli/study_runs.hpp"

/// The manifests of docs/cluster.md: their commands are run as Kubernetes would, index by index.
namespace pipecast::cli {
namespace {

std::vector<YamlDocument> manifests() {
  std::vector<YamlDocument> found;
  const std::string page = repository_file("docs/cluster.md");
  constexpr std::string_view kFence = "```yaml\n";
  for (auto at = page.find(kFence); at != std::string::npos; at = page.find(kFence, at)) {
    at += kFence.size();
    auto document = parse_yaml(page.substr(at, page.find("```", at) - at), "docs/cluster.md");
    EXPECT_TRUE(document) << render(document.error());
    if (document) found.push_back(std::move(*document));
  }
  return found;
}

const YamlNode& at(const YamlNode& node, std::string_view key) {
  static const YamlNode kNothing;
  const auto found = std::find_if(node.entries.begin(), node.entries.end(),
                                  [&](const YamlEntry& entry) { return entry.key == key; });
  EXPECT_NE(found, node.entries.end()) << key;
  return found == node.entries.end() ? kNothing : found->value;
}

/// `sh -c SCRIPT` of the only container.
std::string script_of(const YamlNode& job) {
  const YamlNode& containers = at(at(at(at(job, "spec"), "template"), "spec"), "containers");
  EXPECT_EQ(containers.items.size(), 1U);
  const YamlNode& command = at(containers.items.at(0), "command");
  EXPECT_EQ(command.items.size(), 3U);
  EXPECT_EQ(command.items.at(0).text + " " + command.items.at(1).text, "sh -c");
  return command.items.at(2).text;
}

TEST(Cluster, TheManifestsForKubernetesRunEveryPartAndMerge) {
  const std::vector<YamlDocument> jobs = manifests();
  ASSERT_EQ(jobs.size(), 2U);
  const YamlNode& spec = at(jobs[0].root, "spec");
  EXPECT_EQ(at(spec, "completionMode").text, "Indexed");
  const int parts = std::stoi(at(spec, "completions").text);
  const std::string script = script_of(jobs[0].root);
  EXPECT_NE(script.find(fmt::format("--shard $JOB_COMPLETION_INDEX/{} ", parts)), std::string::npos)
      << script;
  const Workshop workshop;
  workshop.write("study.yaml", busy_study());
  for (int index = 0; index < parts; ++index) {
    const Outcome part =
        workshop.sh(fmt::format("export JOB_COMPLETION_INDEX={}\n({})", index, script));
    ASSERT_EQ(part.code, 0) << index << part.err;
  }
  const Outcome merged = workshop.sh("(" + script_of(jobs[1].root) + ")");
  ASSERT_EQ(merged.code, 0) << merged.err;
  EXPECT_EQ(merged.err, "");
  EXPECT_TRUE(same_table(exported(workshop, "study.db"), run_whole(workshop, "study.yaml").csv));
}

TEST(Cluster, SubmittingToSlurmNamesWhatIsWrong) {
  const Workshop workshop;
  workshop.write("study.yaml", busy_study());
  const std::string submit =
      "sh " + std::filesystem::absolute(PIPECAST_SOURCE_DIR "/tools/slurm/submit.sh").string() +
      " ";
  for (const auto& [arguments, message] :
       {std::pair{"study.yaml study.db", "usage: submit.sh"},
        std::pair{"study.yaml study.db 0", "'0' is not a number of parts"},
        std::pair{"study.yaml study.db many", "'many' is not a number of parts"},
        std::pair{"no.yaml study.db 4", "there is no study 'no.yaml'"}}) {
    const Outcome outcome = workshop.sh(submit + arguments);
    EXPECT_EQ(outcome.code, 2) << arguments;
    EXPECT_NE(outcome.err.find(message), std::string::npos) << outcome.err;
  }
  EXPECT_EQ(workshop.listing(), "study.yaml");
}

}  // namespace
}  // namespace pipecast::cli
