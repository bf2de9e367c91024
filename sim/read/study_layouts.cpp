#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/read/layout_search.hpp"
#include "sim/read/scenario_parallel.hpp"
#include "sim/read/study_candidate.hpp"
#include "sim/read/study_parts.hpp"
#include "sim/read/training_plan_block.hpp"

namespace pipecast {
namespace {

constexpr std::int64_t kMostDegree = 65536;
constexpr std::int64_t kMostDevices = kMaxLayoutDevices;

struct DegreeBound {
  std::string_view name;
  std::vector<int> LayoutBounds::*member;
  std::int64_t most;
};
constexpr std::array<DegreeBound, 7> kDegrees{{
    {"tensor", &LayoutBounds::tensor, kMostDegree},
    {"pipeline", &LayoutBounds::pipeline, kMaxRanks},
    {"context", &LayoutBounds::context, kMostDegree},
    {"expert", &LayoutBounds::expert, kMostDegree},
    {"data", &LayoutBounds::data, kMostDegree},
    {"chunks", &LayoutBounds::chunks, kMaxChunks},
    {"microbatch_size", &LayoutBounds::microbatch_size, 1 << 24},
}};
constexpr std::array<std::string_view, 3> kRecomputeWords{"none", "selective", "full"};

/// One value, or what an axis may say.
std::vector<int> read_degrees(const YamlCursor& given, std::int64_t most) {
  std::vector<int> result;
  const auto add = [&](const YamlCursor& at, std::optional<std::int64_t> value) {
    if (!value) return;
    if (std::find(result.begin(), result.end(), static_cast<int>(*value)) != result.end())
      at.fault(fmt::format("{} is listed twice in {}", *value, given.path()));
    result.push_back(static_cast<int>(*value));
  };
  if (given.kind() == YamlKind::Scalar) {
    add(given, given.integer(1, most));
  } else if (given.is_list()) {
    for (std::size_t i = 0; i < given.size(); ++i)
      add(given.item(i), given.item(i).integer(1, most));
    if (given.size() == 0) given.fault(fmt::format("{} has no values", given.path()));
  } else {
    for (const YamlNode& node : read_values(given)) {
      const auto value = parse_integer(node.text);
      if (value && *value >= 1 && *value <= most)
        add(given, *value);
      else
        given.fault(fmt::format("{} has the value {}, allowed are whole numbers from 1 to {}",
                                given.path(), shown(node.text), most));
    }
  }
  return result;
}

/// One word or a list of them, each one of `words`.
std::vector<std::string> read_words(const YamlCursor& given, std::span<const std::string> words) {
  std::vector<std::string> result;
  const auto add = [&](const YamlCursor& at) {
    const auto word = at.choice(words);
    if (!word) return;
    if (std::find(result.begin(), result.end(), *word) != result.end())
      at.fault(fmt::format("{} is listed twice in {}", *word, given.path()));
    result.push_back(*word);
  };
  if (!given.is_list())
    add(given);
  else
    for (std::size_t i = 0; i < given.size(); ++i) add(given.item(i));
  if (given.is_list() && given.size() == 0)
    given.fault(fmt::format("{} has no values", given.path()));
  return result;
}

/// Names of the schedules that train.
std::vector<std::string> training_schedules(std::span<const ScheduleInfo> schedules) {
  std::vector<std::string> names;
  for (const ScheduleInfo& info : schedules)
    if (info.backward != BackwardKind::None) names.emplace_back(info.name);
  return names;
}

/// Where the layout of a candidate stands in its scenario.
struct LayoutKeys {
  std::vector<std::string> keys;

  explicit LayoutKeys(std::string_view parallel)
      : keys{"pipeline.schedule",
             "pipeline.ranks",
             "pipeline.chunks",
             "pipeline.microbatches",
             fmt::format("{}.tensor", parallel),
             fmt::format("{}.context", parallel),
             fmt::format("{}.expert", parallel),
             fmt::format("{}.data", parallel),
             "workload.microbatch_size",
             "workload.recompute"} {}
};

/// One path is the other, or lies below it.
bool overlaps(std::string_view a, std::string_view b) {
  if (a.size() > b.size()) std::swap(a, b);
  return b.starts_with(a) && (a.size() == b.size() || b[a.size()] == '.');
}

/// What a search hangs on.
bool decides_layouts(const Axis& axis) {
  constexpr std::array<std::string_view, 8> kDeciding{"workload.model",
                                                      "workload.global_batch",
                                                      "workload.sequence_length",
                                                      "workload.split",
                                                      "workload.attention",
                                                      "workload.parallel",
                                                      "parallel",
                                                      "platform"};
  return std::any_of(axis.keys.begin(), axis.keys.end(), [&](const std::string& key) {
    return std::any_of(kDeciding.begin(), kDeciding.end(),
                       [&](std::string_view deciding) { return overlaps(key, deciding); });
  });
}

YamlNode scalar(std::string text, const YamlMark& mark) {
  YamlNode node;
  node.kind = YamlKind::Scalar;
  node.mark = mark;
  node.text = std::move(text);
  return node;
}

std::vector<YamlNode> nodes_of(const LayoutChoice& choice, const YamlMark& mark) {
  const ParallelLayout& layout = choice.layout;
  std::vector<YamlNode> nodes{scalar(choice.schedule, mark)};
  for (const int number : {layout.pipeline, layout.chunks, choice.microbatches(), layout.tensor,
                           layout.context, layout.expert, layout.data, layout.microbatch_size})
    nodes.push_back(scalar(std::to_string(number), mark));
  nodes.push_back(
      scalar(std::string(kRecomputeWords[static_cast<std::size_t>(layout.recompute)]), mark));
  return nodes;
}

/// Reads what the scenario of a candidate says of everything but the layout.
class ProblemReader {
 public:
  ProblemReader(const Study& study, const ReadContext& context, FaultList& faults)
      : study_(study), context_(context), faults_(faults) {}

  std::optional<LayoutProblem> read(const YamlDocument& document, const QuotedCluster& cluster) {
    const YamlCursor root = YamlCursor::root(document, faults_);
    const auto workload = root.require("workload", "model: {preset: …}");
    const auto block = root.require("platform", "a preset, or a kind with parameters");
    if (!workload || !block) return std::nullopt;
    const auto batch = batch_of(*workload);
    const ParallelLayout layout = read_parallel(root, workload, {}, faults_);
    auto planned = read_planned_model(*workload, layout, std::nullopt, study_.base_file,
                                      context_.preset_folders, *context_.cache);
    const PlatformChoice choice =
        read_platform(*block, study_.base_file, std::nullopt, context_, faults_);
    if (!batch || !planned || !faults_.empty()) return std::nullopt;
    const Platform* platform = machine_of(*block, choice);
    if (platform == nullptr) return std::nullopt;
    const int devices = devices_of(*block, *platform, cluster);
    const auto groups = innermost_groups(*platform);
    const auto domain = std::count(groups.begin(), groups.end(), groups.front());
    return LayoutProblem{std::move(planned->plan), static_cast<int>(*batch), devices,
                         static_cast<int>(std::min<std::ptrdiff_t>(domain, devices))};
  }

 private:
  std::optional<std::int64_t> batch_of(const YamlCursor& workload) {
    if (!workload.is_map() || !workload.has("model")) {
      workload.fault_at_key("a layout search needs a model", "model: {preset: llama3-70b}");
      return std::nullopt;
    }
    const auto given = workload.require("global_batch", "sequences of a step; layouts divide it");
    return given ? given->integer(1, 1 << 24) : std::nullopt;
  }

  const Platform* machine_of(const YamlCursor& block, const PlatformChoice& choice) {
    if (choice.kind.empty() || block.has("devices")) {
      block.fault_at_key(choice.kind.empty()
                             ? "a layout search needs a preset or a kind of platform"
                             : "a layout search takes the devices in their order",
                         choice.kind.empty() ? "preset: dgx-h100-ib" : "leave devices out");
      return nullptr;
    }
    const auto machine = context_.cache->machine(choice, 0, context_.platform_kinds);
    if (machine && !(*machine)->devices.empty()) return *machine;
    if (!machine)
      for (const Diagnostic& fault : machine.error()) block.fault_at_key(fault.message, fault.hint);
    return nullptr;
  }

  int devices_of(const YamlCursor& block, const Platform& platform, const QuotedCluster& cluster) {
    const auto there = static_cast<int>(platform.devices.size());
    const int asked =
        cluster.layouts->devices > 0 ? cluster.layouts->devices : cluster.quote.devices;
    if (asked > there)
      block.fault_at_key(
          fmt::format("the search is over {} devices, the platform has {}", asked, there),
          "set its number of nodes");
    return asked > 0 ? asked : there;
  }

  const Study& study_;
  const ReadContext& context_;
  FaultList& faults_;
};

/// Makes the axis of a cluster: the layouts of every combination of the axes they hang on.
class LayoutAxis {
 public:
  LayoutAxis(const Study& study, const ReadContext& context, FaultList& faults)
      : study_(study), context_(context), faults_(faults), document_(study.base) {}

  Axis make(std::size_t index) {
    const QuotedCluster& cluster = study_.clusters[index];
    const std::vector<const Axis*> axes = axes_of(study_, index);
    CandidateChoice choice{index, std::vector<std::size_t>(axes.size(), 0)};
    std::vector<std::size_t> deciding;
    for (std::size_t a = 0; a < axes.size(); ++a)
      if (decides_layouts(*axes[a])) deciding.push_back(a);
    Axis result;
    result.generated = true;
    for (const std::size_t a : deciding)
      result.keys.insert(result.keys.end(), axes[a]->keys.begin(), axes[a]->keys.end());
    const LayoutKeys where(has_parallel_at_top() ? "parallel" : "workload.parallel");
    result.keys.insert(result.keys.end(), where.keys.begin(), where.keys.end());
    do {
      add_entries(cluster, axes, deciding, choice, result);
    } while (faults_.empty() && next(axes, deciding, choice));
    return result;
  }

  /// Why a cluster has no layouts.
  const Diagnostics& nothing() const { return nothing_; }

 private:
  static bool next(const std::vector<const Axis*>& axes, const std::vector<std::size_t>& deciding,
                   CandidateChoice& choice) {
    for (std::size_t d = deciding.size(); d-- > 0;) {
      std::size_t& entry = choice.entries[deciding[d]];
      if (++entry < axes[deciding[d]]->entries.size()) return true;
      entry = 0;
    }
    return false;
  }

  void add_entries(const QuotedCluster& cluster, const std::vector<const Axis*>& axes,
                   const std::vector<std::size_t>& deciding, const CandidateChoice& choice,
                   Axis& result) {
    faults_.add(apply(study_, choice, document_));
    if (!faults_.empty()) return;
    const auto problem = ProblemReader(study_, context_, faults_).read(document_, cluster);
    if (!problem) return;
    auto found = search_layouts(*cluster.layouts, *problem, context_.schedules);
    if (!found) {
      nothing_ = std::move(found.error());
      return;
    }
    if (result.entries.size() + found->size() > kMaxAxisEntries) {
      faults_.add(
          input_error(fmt::format("the search finds more than {} layouts", kMaxAxisEntries),
                      "bound it, such as layouts: {tensor: [4, 8], context: 1, schedules: [1f1b]}",
                      document_.span(cluster.layouts_mark)));
      return;
    }
    for (const LayoutChoice& layout : *found) {
      std::vector<YamlNode> entry;
      for (const std::size_t a : deciding) {
        const auto& values = axes[a]->entries[choice.entries[a]];
        entry.insert(entry.end(), values.begin(), values.end());
      }
      for (YamlNode& node : nodes_of(layout, cluster.layouts_mark))
        entry.push_back(std::move(node));
      result.entries.push_back(std::move(entry));
    }
  }

  bool has_parallel_at_top() const {
    const std::vector<YamlEntry>& entries = study_.base.root.entries;
    return std::any_of(entries.begin(), entries.end(),
                       [](const YamlEntry& entry) { return entry.key == "parallel"; });
  }

  const Study& study_;
  const ReadContext& context_;
  FaultList& faults_;
  YamlDocument document_;
  Diagnostics nothing_;
};

std::string sentence(const Diagnostics& faults) {
  std::string text;
  for (const Diagnostic& fault : faults) text += (text.empty() ? "" : "; ") + fault.message;
  return text;
}

}  // namespace

LayoutBounds read_layouts(const YamlCursor& layouts, std::span<const ScheduleInfo> schedules) {
  LayoutBounds bounds;
  if (!layouts.is_map()) {
    const std::array<std::string, 1> words{"search"};
    layouts.choice(words);
    return bounds;
  }
  std::vector<std::string> keys{"devices", "recompute", "schedules"};
  for (const DegreeBound& degree : kDegrees) keys.emplace_back(degree.name);
  if (!layouts.expect_map(keys)) return bounds;
  if (const auto given = layouts.find("devices"))
    bounds.devices = static_cast<int>(given->integer(1, kMostDevices).value_or(0));
  for (const DegreeBound& degree : kDegrees)
    if (const auto given = layouts.find(degree.name))
      bounds.*degree.member = read_degrees(*given, degree.most);
  if (const auto given = layouts.find("recompute")) {
    const std::vector<std::string> words(kRecomputeWords.begin(), kRecomputeWords.end());
    for (const std::string& word : read_words(*given, words))
      bounds.recompute.push_back(
          static_cast<Recompute>(std::find(words.begin(), words.end(), word) - words.begin()));
  }
  if (const auto given = layouts.find("schedules"))
    bounds.schedules = read_words(*given, training_schedules(schedules));
  return bounds;
}

void refuse_searched_keys(const YamlCursor& axes) {
  std::vector<std::string> searched = LayoutKeys("workload.parallel").keys;
  for (std::string& key : LayoutKeys("parallel").keys) searched.push_back(std::move(key));
  const std::vector<YamlCursor> values = axes.children();
  for (std::size_t i = 0; i < values.size(); ++i)
    for (const std::string& key : split_keys(axes.node().entries[i].key))
      if (std::find(searched.begin(), searched.end(), key) != searched.end())
        values[i].fault_at_key(fmt::format("{} is part of the layout search", key),
                               "bound it there, such as layouts: {pipeline: [8, 16]}");
}

void add_layout_axes(Study& study, const ReadContext& context, FaultList& faults) {
  if (std::none_of(study.clusters.begin(), study.clusters.end(),
                   [](const QuotedCluster& cluster) { return cluster.layouts.has_value(); }))
    return;
  std::vector<Axis> made(study.clusters.size());
  std::size_t empty = 0;
  for (std::size_t c = 0; c < study.clusters.size() && faults.empty(); ++c) {
    QuotedCluster& cluster = study.clusters[c];
    if (!cluster.layouts) continue;
    LayoutAxis axis(study, context, faults);
    made[c] = axis.make(c);
    if (!made[c].entries.empty() || !faults.empty()) continue;
    cluster.no_layout = sentence(axis.nothing());
    if (++empty == study.clusters.size())
      faults.add(infeasible("no layout divides: " + cluster.no_layout,
                            axis.nothing().empty() ? "" : axis.nothing().front().hint,
                            study.base.span(cluster.layouts_mark)));
  }
  if (!faults.empty()) return;
  std::vector<Axis> common;
  std::vector<Axis> deciding;
  for (Axis& axis : study.axes) (decides_layouts(axis) ? deciding : common).push_back(axis);
  study.axes = std::move(common);
  for (std::size_t c = 0; c < study.clusters.size(); ++c) {
    QuotedCluster& cluster = study.clusters[c];
    if (!cluster.layouts) {
      cluster.axes.insert(cluster.axes.begin(), deciding.begin(), deciding.end());
      continue;
    }
    std::erase_if(cluster.axes, decides_layouts);
    cluster.axes.push_back(std::move(made[c]));
  }
}

}  // namespace pipecast
