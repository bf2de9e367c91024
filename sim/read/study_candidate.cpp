#include "sim/read/study_candidate.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/read/yaml_tree.hpp"

namespace pipecast {
namespace {

constexpr double kAtMost = 1e15;

/// Entries of all axes multiplied; kAtMost stands for "far too many".
double product(const Study& study, std::size_t cluster) {
  double result = 1;
  for (const Axis* axis : axes_of(study, cluster))
    result = std::min(result * static_cast<double>(axis->entries.size()), kAtMost);
  return result;
}

const YamlNode* node_at(const YamlNode& root, std::string_view path) {
  const YamlNode* node = &root;
  while (!path.empty()) {
    const std::string_view part = path.substr(0, path.find('.'));
    const auto found = std::find_if(node->entries.begin(), node->entries.end(),
                                    [&](const YamlEntry& entry) { return entry.key == part; });
    if (found == node->entries.end()) return nullptr;
    node = &found->value;
    path.remove_prefix(std::min(path.size(), part.size() + 1));
  }
  return node;
}

/// What the candidate says under a key, without building its tree.
double number_at(const Study& study, const CandidateChoice& choice, std::string_view key,
                 double otherwise) {
  const YamlNode* node = node_at(study.base.root, key);
  for (const auto& [path, value] : study.clusters[choice.cluster].settings)
    if (path == key) node = &value;
  const std::vector<const Axis*> axes = axes_of(study, choice.cluster);
  for (std::size_t a = 0; a < axes.size(); ++a)
    for (std::size_t k = 0; k < axes[a]->keys.size(); ++k)
      if (axes[a]->keys[k] == key) node = &axes[a]->entries[choice.entries[a]][k];
  if (node == nullptr || node->kind != YamlKind::Scalar) return otherwise;
  return parse_number(node->text).value_or(otherwise);
}

}  // namespace

std::int64_t Study::candidates() const {
  double total = 0;
  for (std::size_t cluster = 0; cluster < clusters.size(); ++cluster)
    total += product(*this, cluster);
  return static_cast<std::int64_t>(std::min(total, kAtMost));
}

std::vector<const Axis*> axes_of(const Study& study, std::size_t cluster) {
  std::vector<const Axis*> axes;
  for (const Axis& axis : study.axes) axes.push_back(&axis);
  for (const Axis& axis : study.clusters[cluster].axes) axes.push_back(&axis);
  return axes;
}

CandidateChoice choice_of(const Study& study, std::int64_t index) {
  CandidateChoice choice;
  auto size = static_cast<std::int64_t>(product(study, 0));
  while (index >= size) {
    index -= size;
    size = static_cast<std::int64_t>(product(study, ++choice.cluster));
  }
  const std::vector<const Axis*> axes = axes_of(study, choice.cluster);
  choice.entries.resize(axes.size());
  for (std::size_t a = axes.size(); a-- > 0;) {
    const auto length = static_cast<std::int64_t>(axes[a]->entries.size());
    choice.entries[a] = static_cast<std::size_t>(index % length);
    index /= length;
  }
  return choice;
}

Diagnostics apply(const Study& study, const CandidateChoice& choice, YamlDocument& document) {
  document.root = study.base.root;
  Diagnostics faults;
  const auto put = [&](const std::string& key, const YamlNode& value, const YamlMark& mark) {
    if (auto problem = place_node(document.root, key, value, mark))
      faults.push_back(input_error(fmt::format("{}: {}", key, *problem),
                                   "a path of keys of the scenario", document.span(mark)));
  };
  for (const auto& [key, value] : study.clusters[choice.cluster].settings)
    put(key, value, value.mark);
  const std::vector<const Axis*> axes = axes_of(study, choice.cluster);
  for (std::size_t a = 0; a < axes.size(); ++a)
    for (std::size_t k = 0; k < axes[a]->keys.size(); ++k)
      put(axes[a]->keys[k], axes[a]->entries[choice.entries[a]][k], axes[a]->mark);
  return faults;
}

std::vector<std::string> varied_keys(const Study& study) {
  std::vector<std::string> keys;
  const auto add = [&](const std::vector<Axis>& axes) {
    for (const Axis& axis : axes)
      for (const std::string& key : axis.keys)
        if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
  };
  add(study.axes);
  for (const QuotedCluster& cluster : study.clusters) add(cluster.axes);
  return keys;
}

std::vector<std::string> varied_values(const Study& study, const CandidateChoice& choice) {
  const std::vector<std::string> keys = varied_keys(study);
  std::vector<std::string> values(keys.size());
  const std::vector<const Axis*> axes = axes_of(study, choice.cluster);
  for (std::size_t a = 0; a < axes.size(); ++a)
    for (std::size_t k = 0; k < axes[a]->keys.size(); ++k) {
      const auto column = std::find(keys.begin(), keys.end(), axes[a]->keys[k]) - keys.begin();
      values[static_cast<std::size_t>(column)] = flow_text(axes[a]->entries[choice.entries[a]][k]);
    }
  return values;
}

double estimated_work(const Study& study, const CandidateChoice& choice) {
  return number_at(study, choice, "pipeline.ranks", 1) *
         number_at(study, choice, "pipeline.chunks", 1) *
         number_at(study, choice, "pipeline.microbatches", 1);
}

}  // namespace pipecast
