#include "sim/read/platform_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sim/read/accelerator.hpp"
#include "sim/read/platform_parameters.hpp"
#include "sim/read/read_cache.hpp"

namespace pipecast {
namespace {

struct Range {
  int first = 0;
  int last = 0;
};

/// `4-7` or `4`.
std::optional<Range> read_range(const YamlCursor& given, std::string_view unit, int count) {
  const auto text = given.text();
  if (!text) return std::nullopt;
  const std::size_t dash = text->find('-');
  const auto first = parse_integer(text->substr(0, dash));
  const auto last = dash == std::string::npos ? first : parse_integer(text->substr(dash + 1));
  if (!first || !last || *first < 0 || *last < *first) {
    given.fault(fmt::format("'{}' is not a range of {}", shown(*text), unit), "such as 4-7, or 4");
    return std::nullopt;
  }
  if (*last >= count) {
    given.fault(fmt::format("{} {} do not exist, the machine has {}", unit, shown(*text), count),
                fmt::format("{} are numbered from 0 to {}", unit, count - 1));
    return std::nullopt;
  }
  return Range{static_cast<int>(*first), static_cast<int>(*last)};
}

class PartsReader {
 public:
  PartsReader(const PlatformKind& kind, const FieldValues& values, const ReadContext& context,
              ReadCache& cache, FaultList& faults)
      : kind_(kind), values_(values), context_(context), cache_(cache), faults_(faults) {}

  void read(const YamlCursor& entry) {
    if (!entry.expect_map(entry_keys())) return;
    const std::vector<Range> ranges = read_ranges(entry);
    if (entry.has("accelerator") == entry.has("preset")) {
      entry.fault(entry.has("preset") ? "accelerator and preset both say what these are; give one"
                                      : "an entry names an accelerator or a preset",
                  fmt::format("such as {{{}: 4-7, accelerator: a100_sxm4_80gb}}", kind_.parts_of));
      return;
    }
    FieldValues own = values_;
    if (entry.has("preset") ? !take_preset(entry, own) : !take_accelerator(entry, own)) return;
    for (const NodeField& field : kind_.node_fields) read_field(entry, field, own);
    for (const Range& range : ranges) parts.push_back({range.first, range.last, own});
  }

  std::vector<NodePart> parts;

 private:
  std::vector<std::string> entry_keys() const {
    std::vector<std::string> keys{std::string(kind_.parts_of), "accelerator", "preset"};
    for (const NodeField& field : kind_.node_fields) keys.emplace_back(field.name);
    return keys;
  }

  const FieldInfo& info_of(std::string_view name) const {
    return *std::find_if(kind_.fields.begin(), kind_.fields.end(),
                         [&](const FieldInfo& field) { return field.name == name; });
  }

  std::vector<Range> read_ranges(const YamlCursor& entry) {
    std::vector<Range> ranges;
    const auto given = entry.require(kind_.parts_of, "which, such as 4-7, 4 or [0, 2-3]");
    if (!given) return ranges;
    const int count =
        static_cast<int>(std::get<std::int64_t>(values_.find(kind_.parts_of)->second));
    for (std::size_t i = 0; i < (given->is_list() ? given->size() : 1); ++i) {
      const YamlCursor item = given->is_list() ? given->item(i) : *given;
      const auto range = read_range(item, kind_.parts_of, count);
      if (!range) continue;
      for (const Range& other : taken_)
        if (range->first <= other.last && other.first <= range->last)
          item.fault(fmt::format("{} {} to {} are named twice", kind_.parts_of,
                                 std::max(range->first, other.first),
                                 std::min(range->last, other.last)));
      taken_.push_back(*range);
      ranges.push_back(*range);
    }
    return ranges;
  }

  bool take_accelerator(const YamlCursor& entry, FieldValues& own) {
    const YamlCursor given = *entry.find("accelerator");
    const auto id = given.text();
    if (!id) return false;
    const Result<const Accelerator*> accelerator = cache_.accelerator(*id, context_.preset_folders);
    if (!accelerator) {
      faults_.add(located(accelerator.error(), given.where()));
      return false;
    }
    FieldValue& before = own["accelerator"];
    if (before == FieldValue{*id}) return true;
    before = *id;
    for (const NodeField& field : kind_.node_fields)
      if (!entry.has(field.name)) follow(field, **accelerator, given, own);
    return true;
  }

  /// What a field is on nodes of another accelerator.
  void follow(const NodeField& field, const Accelerator& accelerator, const YamlCursor& given,
              FieldValues& own) {
    const std::string name(field.name);
    switch (field.otherwise) {
      case NodeField::Otherwise::Machine:
        return;
      case NodeField::Otherwise::Default:
        if (const auto value = parse_field(info_of(name), info_of(name).default_text))
          own[name] = *value;
        return;
      case NodeField::Otherwise::Catalogue:
        const bool is_memory = field.property == Property::MemoryReported;
        const Result<double> value =
            is_memory ? memory_of(accelerator).map([](Bytes bytes) { return bytes.value; })
                      : known(accelerator, field.property);
        if (value)
          own[name] = *value;
        else
          given.fault(value.error().front().message,
                      fmt::format("give {} here too, if you know it", name));
    }
  }

  bool take_preset(const YamlCursor& entry, FieldValues& own) {
    const YamlCursor given = *entry.find("preset");
    const auto name = given.text();
    if (!name) return false;
    const Result<PlatformPreset> preset = preset_named(*name, context_);
    if (!preset) {
      faults_.add(located(preset.error(), given.where()));
      return false;
    }
    for (const std::string_view shape : {"node_devices", "node_cards"})
      if (const auto theirs = preset->values.find(shape);
          theirs != preset->values.end() && own.contains(shape) &&
          own.find(shape)->second != theirs->second) {
        given.fault(fmt::format("nodes of {} have {} {}, those of the machine {}", *name, shape,
                                std::get<std::int64_t>(theirs->second),
                                std::get<std::int64_t>(own.find(shape)->second)),
                    "nodes of one machine have equally many");
        return false;
      }
    for (const NodeField& field : kind_.node_fields)
      if (field.otherwise == NodeField::Otherwise::Catalogue &&
          !preset->values.contains(field.name)) {
        given.fault(
            fmt::format("{} is of kind {}, which has no {}", *name, preset->kind, field.name),
            fmt::format("nodes of a {} are taken from presets of kinds that have it", kind_.name));
        return false;
      }
    own["accelerator"] = preset->values.find("accelerator")->second;
    for (const NodeField& field : kind_.node_fields)
      if (const auto theirs = preset->values.find(field.name); theirs != preset->values.end())
        own[std::string(field.name)] = theirs->second;
    return true;
  }

  void read_field(const YamlCursor& entry, const NodeField& field, FieldValues& own) {
    const auto given = entry.find(field.name);
    if (const auto value = given ? given->field(info_of(field.name)) : std::nullopt)
      own[std::string(field.name)] = *value;
  }

  const PlatformKind& kind_;
  const FieldValues& values_;
  const ReadContext& context_;
  ReadCache& cache_;
  FaultList& faults_;
  std::vector<Range> taken_;
};

}  // namespace

std::vector<NodePart> read_platform_parts(const YamlCursor& platform, const PlatformKind& kind,
                                          const FieldValues& values, const ReadContext& context,
                                          FaultList& faults) {
  const auto list = platform.find("accelerators");
  if (!list) return {};
  if (kind.parts_of.empty()) {
    list->fault_at_key(
        fmt::format("a platform of kind {} has one node, of equal devices", kind.name),
        "take a kind of several nodes, such as rail-cluster");
    return {};
  }
  if (!list->is_list()) {
    list->fault("accelerators must be a list",
                fmt::format("such as [{{{}: 4-7, accelerator: a100_sxm4_80gb}}]", kind.parts_of));
    return {};
  }
  ReadCache own;
  PartsReader reader(kind, values, context, context.cache != nullptr ? *context.cache : own,
                     faults);
  for (std::size_t i = 0; i < list->size(); ++i) reader.read(list->item(i));
  return std::move(reader.parts);
}

}  // namespace pipecast
