#include "sim/read/study.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <set>

#include "sim/read/read_cache.hpp"
#include "sim/read/study_candidate.hpp"
#include "sim/read/study_parts.hpp"

namespace pipecast {
namespace {

using Texts = std::vector<std::pair<std::string, std::string>>;

/// Entries of an axis that are tried on their own while the study is read.
constexpr std::size_t kTriedEntries = 1000;

/// Gives the text of a file that the study names.
using FileReader = std::function<Result<std::string>(const std::string& path)>;

void move_to_source(YamlNode& node, std::int32_t source) {
  node.mark.source = source;
  for (YamlNode& item : node.items) move_to_source(item, source);
  for (YamlEntry& entry : node.entries) {
    entry.mark.source = source;
    move_to_source(entry.value, source);
  }
}

void move_to_source(std::vector<Axis>& axes, std::int32_t source) {
  for (Axis& axis : axes) {
    axis.mark.source = source;
    for (auto& entry : axis.entries)
      for (YamlNode& value : entry) move_to_source(value, source);
  }
}

/// The study's own values will stand in the base scenario's document: their places must name the
/// study's text there.
void move_to_source(Study& study, std::int32_t source) {
  move_to_source(study.axes, source);
  for (QuotedCluster& cluster : study.clusters) {
    move_to_source(cluster.axes, source);
    for (auto& [key, value] : cluster.settings) move_to_source(value, source);
    cluster.layouts_mark.source = source;
  }
}

void read_base_file(const YamlCursor& given, const std::string& file, const FileReader& read_file,
                    Study& study, FaultList& faults) {
  const auto path = given.text();
  if (!path) return;
  const std::string resolved = (std::filesystem::path(file).parent_path() / *path).string();
  auto text = read_file(resolved);
  if (!text) {
    faults.add(located(std::move(text.error()), given.where()));
    return;
  }
  auto document = parse_yaml(*text, resolved);
  if (!document) {
    faults.add(std::move(document.error()));
    return;
  }
  study.base_file = resolved;
  study.base = std::move(*document);
  study.texts.emplace_back(resolved, std::move(*text));
}

/// `base:` a file, or `scenario:` the scenario itself. Returns the number of the study's own text
/// among the sources of the base document.
std::int32_t read_base(const YamlCursor& root, const YamlDocument& document,
                       const std::string& file, const FileReader& read_file, Study& study,
                       FaultList& faults) {
  const auto inside = root.find("scenario");
  const auto base = root.find("base");
  if (inside && base) {
    base->fault_at_key("base and scenario are both given", "a study has one base scenario");
    return 0;
  }
  if (!root.has("scenario") && !root.has("base")) {
    root.fault_at_key("a study needs its base scenario: one of base and scenario",
                      "base: ../zero-bubble-1.5b.yaml");
    return 0;
  }
  if (inside && !inside->is_map()) {
    inside->fault("scenario must be the base scenario itself, a map",
                  "for one that is in a file, write base: FILE");
    return 0;
  }
  if (base) {
    read_base_file(*base, file, read_file, study, faults);
    study.base.sources.push_back(document.sources.front());
    return static_cast<std::int32_t>(study.base.sources.size()) - 1;
  }
  study.base_file = file;
  study.base.sources = document.sources;
  if (inside) study.base.root = inside->node();
  return 0;
}

void read_goals(const YamlCursor& root, Study& study) {
  if (const auto given = root.find("objectives")) study.objectives = read_objectives(*given);
  if (study.objectives.empty()) study.objectives = {Objective::StepTime};
  if (const auto given = root.find("constraints")) study.constraints = read_constraints(*given);
  if (const auto given = root.find("training")) study.training = read_training(*given);
  if (const auto given = root.find("simgrid")) study.refinement = read_refinement(*given);
  if (const auto given = root.find("uncertainty")) study.sampling = read_sampling(*given);
}

/// Clusters without bounds of their own take the study's.
void read_search(const YamlCursor& root, std::span<const ScheduleInfo> schedules, Study& study) {
  if (const auto given = root.find("layouts")) {
    const LayoutBounds bounds = read_layouts(*given, schedules);
    for (QuotedCluster& cluster : study.clusters) {
      if (cluster.layouts) continue;
      cluster.layouts = bounds;
      cluster.layouts_mark = given->node().mark;
    }
  }
  bool searched = false;
  for (std::size_t c = 0; c < study.clusters.size(); ++c) {
    if (!study.clusters[c].layouts) continue;
    searched = true;
    if (study.clusters[c].axes.empty()) continue;
    refuse_searched_keys(*root.find("clusters")->item(c).find("axes"));
  }
  if (searched && !study.axes.empty()) refuse_searched_keys(*root.find("axes"));
}

void read_space(const YamlCursor& root, std::span<const ScheduleInfo> schedules, Study& study) {
  if (const auto given = root.find("axes")) study.axes = read_axes(*given);
  if (const auto given = root.find("clusters")) {
    study.clusters = read_clusters(*given, schedules, study.axes);
    if (root.has("quote"))
      given->fault_at_key("clusters and quote are both given", "each cluster has its own quote");
  }
  if (study.clusters.empty()) {
    study.clusters.emplace_back();
    if (const auto given = root.find("quote")) study.clusters.front().quote = read_quote(*given);
  }
  read_search(root, schedules, study);
}

void check_size(const YamlCursor& root, const Study& study) {
  if (study.candidates() > kMaxCandidates)
    root.find("axes").value_or(root).fault_at_key(
        fmt::format("the study has {} candidates; at most {} are allowed",
                    study.candidates() >= 1'000'000'000'000 ? std::string("more than 10^12")
                                                            : std::to_string(study.candidates()),
                    kMaxCandidates),
        "use shorter axes, or several studies");
}

/// Reads candidates that differ from a cluster's first in one axis, to find values that no scenario
/// can take. What depends on the combination is left to the rows.
class EntryCheck {
 public:
  EntryCheck(const Study& study, const std::string& file, const ReadContext& context,
             FaultList& faults)
      : study_(study), file_(file), context_(context), faults_(faults), document_(study.base) {}

  void check_cluster(std::size_t cluster) {
    const std::vector<const Axis*> axes = axes_of(study_, cluster);
    if (!study_.clusters[cluster].no_layout.empty()) return;
    CandidateChoice choice{cluster, std::vector<std::size_t>(axes.size(), 0)};
    good_ = 0;
    const Diagnostics first = read(choice);
    for (std::size_t a = 0; a < axes.size(); ++a) {
      const std::size_t tried =
          axes[a]->generated ? 1 : std::min(axes[a]->entries.size(), kTriedEntries);
      for (choice.entries[a] = 1; choice.entries[a] < tried; ++choice.entries[a]) read(choice);
      choice.entries[a] = 0;
    }
    if (good_ > 0 || !faults_.empty()) return;
    for (const Diagnostic& fault : first) report(fault);
  }

 private:
  void report(const Diagnostic& fault) {
    if (seen_.insert(render(fault)).second) faults_.add(fault);
  }

  Diagnostics read(const CandidateChoice& choice) {
    Diagnostics found = apply(study_, choice, document_);
    if (found.empty()) {
      auto scenario = read_scenario_document(document_, study_.base_file, context_, KeepSpans::No);
      if (!scenario)
        found = std::move(scenario.error());
      else if (!scenario->imperfections.jitter.none())
        found = {jitter_fault()};
    }
    if (std::none_of(found.begin(), found.end(),
                     [](const Diagnostic& fault) { return fault.fault == Fault::Input; }))
      ++good_;
    for (const Diagnostic& fault : found)
      if (fault.fault == Fault::Input && fault.where.file == file_) report(fault);
    return found;
  }

  /// At what the jitter is, whoever gave it.
  Diagnostic jitter_fault() const {
    const YamlNode* node = &document_.root;
    for (const std::string_view key : {"imperfections", "jitter", "sigma", "factors"})
      for (const YamlEntry& entry : node->entries)
        if (entry.key == key) {
          node = &entry.value;
          break;
        }
    return input_error("a study does not sample the jitter of a scenario",
                       "leave it out and give uncertainty: {samples: 100, jitter: 0.05}, which "
                       "samples the best candidates",
                       document_.span(node->mark));
  }

  const Study& study_;
  const std::string& file_;
  const ReadContext& context_;
  FaultList& faults_;
  YamlDocument document_;
  std::set<std::string> seen_;
  int good_ = 0;
};

/// Values of every `preset:` key of the study and its base.
void collect_presets(const YamlNode& node, bool is_name, std::set<std::string>& names) {
  if (is_name && node.kind == YamlKind::Scalar) names.insert(node.text);
  for (const YamlNode& item : node.items) collect_presets(item, is_name, names);
  for (const YamlEntry& entry : node.entries)
    collect_presets(entry.value, entry.key == "preset", names);
}

std::set<std::string> preset_names(const Study& study) {
  std::set<std::string> names;
  const auto is_preset = [](std::string_view key) { return key.ends_with(".preset"); };
  const auto add = [&](const std::vector<Axis>& axes) {
    for (const Axis& axis : axes)
      for (const auto& entry : axis.entries)
        for (std::size_t k = 0; k < axis.keys.size(); ++k)
          collect_presets(entry[k], is_preset(axis.keys[k]), names);
  };
  collect_presets(study.base.root, false, names);
  add(study.axes);
  for (const QuotedCluster& cluster : study.clusters) {
    add(cluster.axes);
    for (const auto& [key, value] : cluster.settings) collect_presets(value, is_preset(key), names);
  }
  return names;
}

constexpr std::string_view kPresetPrefix = "preset:";

/// A preset that is not found or wrong is reported where a candidate names it.
void read_presets(const FileReader& read_file, const ReadContext& context, Study& study) {
  for (const std::string& name : preset_names(study)) {
    auto text = read_file(std::string(kPresetPrefix) + name);
    if (!text) continue;
    auto preset = read_platform_preset(*text, name + ".yaml", context.platform_kinds);
    if (!preset) continue;
    study.presets.push_back(std::move(*preset));
    study.texts.emplace_back(std::string(kPresetPrefix) + name, std::move(*text));
  }
}

Result<Study> read_with(std::string_view text, const std::string& file, const ReadContext& context,
                        const FileReader& read_file) {
  const auto document = parse_yaml(text, file);
  if (!document) return fail(document.error());
  FaultList faults;
  const YamlCursor root = YamlCursor::root(*document, faults);
  if (!root.expect_map({"name", "base", "scenario", "set", "axes", "layouts", "clusters", "quote",
                        "objectives", "constraints", "training", "simgrid", "uncertainty"}))
    return fail(faults.take(file));
  Study study;
  study.texts.emplace_back(file, std::string(text));
  study.name = std::filesystem::path(file).stem().string();
  if (const auto given = root.find("name")) study.name = read_line(*given);
  const std::int32_t source = read_base(root, *document, file, read_file, study, faults);
  read_space(root, context.schedules, study);
  read_goals(root, study);
  std::vector<std::pair<std::string, YamlNode>> common;
  if (const auto given = root.find("set")) common = read_settings(*given);
  for (QuotedCluster& cluster : study.clusters)
    cluster.settings.insert(cluster.settings.begin(), common.begin(), common.end());
  move_to_source(study, source);
  if (faults.empty()) check_needs(root, study);
  if (!faults.empty()) return fail(faults.take(file));
  read_presets(read_file, context, study);
  ReadCache cache;
  ReadContext prepared = context;
  prepared.presets = study.presets;
  prepared.cache = &cache;
  add_layout_axes(study, prepared, faults);
  if (faults.empty()) check_size(root, study);
  if (!faults.empty()) return fail(faults.take(file));
  EntryCheck check(study, file, prepared, faults);
  for (std::size_t cluster = 0; cluster < study.clusters.size(); ++cluster)
    check.check_cluster(cluster);
  if (!faults.empty()) return fail(faults.take(file));
  return study;
}

}  // namespace

Result<Study> read_study(std::string_view text, const std::string& file,
                         const ReadContext& context) {
  return read_with(text, file, context, [&](const std::string& path) {
    if (!path.starts_with(kPresetPrefix)) return read_text_file(path, kMaxYamlBytes);
    for (const std::string& folder : context.preset_folders) {
      const std::filesystem::path preset =
          std::filesystem::path(folder) / (path.substr(kPresetPrefix.size()) + ".yaml");
      std::error_code unknown;
      if (std::filesystem::exists(preset, unknown))
        return read_text_file(preset.string(), kMaxYamlBytes);
    }
    return Result<std::string>(fail(input_error("no preset " + path)));
  });
}

Result<Study> read_study_file(const std::string& path, const ReadContext& context) {
  const auto text = read_text_file(path, kMaxYamlBytes);
  if (!text) return fail(text.error());
  return read_study(*text, path, context);
}

Result<Study> read_study_texts(const Texts& texts, const ReadContext& context) {
  if (texts.empty()) return fail(input_error("no study is kept here"));
  return read_with(texts.front().second, texts.front().first, context,
                   [&](const std::string& path) -> Result<std::string> {
                     for (const auto& [name, text] : texts)
                       if (name == path) return text;
                     return fail(input_error("'" + path + "' is not kept with the study"));
                   });
}

}  // namespace pipecast
