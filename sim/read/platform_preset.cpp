#include "sim/read/platform_preset.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "sim/read/platform_parameters.hpp"

namespace pipecast {
namespace {

std::vector<std::string> kind_names(std::span<const PlatformKind> kinds) {
  std::vector<std::string> names;
  for (const PlatformKind& kind : kinds) names.emplace_back(kind.name);
  return names;
}

std::string optional_text(const YamlCursor& map, std::string_view key) {
  const auto given = map.find(key);
  return given ? given->text().value_or("") : std::string{};
}

std::optional<StatedValue> read_parameter(const YamlCursor& given, const FieldInfo& field,
                                          FieldValues& values) {
  StatedValue stated;
  std::optional<YamlCursor> value = given;
  if (given.is_map()) {
    given.expect_map({"value", "source", "certainty", "note"});
    value = given.require("value");
    stated.source = optional_text(given, "source");
    stated.certainty = optional_text(given, "certainty");
    stated.note = optional_text(given, "note");
  }
  if (!value) return std::nullopt;
  const auto parsed = value->field(field);
  if (!parsed) return std::nullopt;
  values[field.name] = *parsed;
  stated.text = value->text().value_or("");
  return stated;
}

void keep_sources(const YamlCursor& node, std::vector<std::pair<std::string, std::string>>& kept) {
  if (node.kind() == YamlKind::Scalar)
    kept.emplace_back(node.path(), node.text().value_or(""));
  else
    for (const YamlCursor& child : node.children()) keep_sources(child, kept);
}

bool plain_name(std::string_view name) {
  return !name.empty() && name.front() != '.' && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.' || c == '+';
  });
}

}  // namespace

const PlatformKind* read_platform_kind(const YamlCursor& name,
                                       std::span<const PlatformKind> kinds) {
  const auto word = name.text();
  if (!word) return nullptr;
  const auto found = std::find_if(kinds.begin(), kinds.end(),
                                  [&](const PlatformKind& kind) { return kind.name == *word; });
  if (found != kinds.end()) return &*found;
  name.fault(fmt::format("unknown platform kind '{}'", shown(*word)),
             suggest(*word, kind_names(kinds)));
  return nullptr;
}

FieldValues default_values(const PlatformKind& kind) {
  return parse_fields(kind.fields, {}).value_or(FieldValues{});
}

std::map<std::string, StatedValue, std::less<>> read_platform_parameters(
    const YamlCursor& map, const PlatformKind& kind, std::initializer_list<std::string_view> also,
    FieldValues& values) {
  std::vector<std::string> names;
  for (const FieldInfo& field : kind.fields) names.push_back(field.name);
  names.insert(names.end(), also.begin(), also.end());
  std::map<std::string, StatedValue, std::less<>> stated;
  if (!map.expect_map(std::span<const std::string>(names))) return stated;
  for (const FieldInfo& field : kind.fields) {
    const auto given = map.find(field.name);
    if (!given) {
      if (!map.has(field.name) && !values.contains(field.name)) map.require(field.name, field.help);
      continue;
    }
    // In a scenario the list `devices` maps ranks to devices, also where a kind has a field
    // `devices`, which is a number.
    if (given->is_list() && std::find(also.begin(), also.end(), field.name) != also.end()) continue;
    if (auto value = read_parameter(*given, field, values)) stated[field.name] = std::move(*value);
  }
  return stated;
}

Result<PlatformPreset> read_platform_preset(std::string_view text, const std::string& file,
                                            std::span<const PlatformKind> kinds) {
  const auto document = parse_yaml(text, file);
  if (!document) return fail(document.error());
  FaultList faults;
  const YamlCursor root = YamlCursor::root(*document, faults);
  PlatformPreset preset;
  preset.name = std::filesystem::path(file).stem().string();
  if (!root.is_map()) {
    root.expect_map({"kind", "description", "sources"});
    return fail(faults.take(file));
  }
  preset.description = optional_text(root, "description");
  if (const auto sources = root.find("sources")) keep_sources(*sources, preset.sources);
  const auto name = root.require("kind", suggest("", kind_names(kinds)));
  const PlatformKind* kind = name ? read_platform_kind(*name, kinds) : nullptr;
  if (kind != nullptr) {
    preset.kind = std::string(kind->name);
    preset.values = default_values(*kind);
    preset.stated =
        read_platform_parameters(root, *kind, {"kind", "description", "sources"}, preset.values);
  }
  if (!faults.empty()) return fail(faults.take(file));
  return preset;
}

Result<PlatformPreset> find_platform_preset(const std::string& name,
                                            std::span<const std::string> folders,
                                            std::span<const PlatformKind> kinds) {
  if (!plain_name(name))
    return fail(input_error(fmt::format("a preset is a name, '{}' is not", shown(name)),
                            "write the kind and its parameters here, or name a preset"));
  for (const std::string& folder : folders) {
    const auto path = std::filesystem::path(folder) / (name + ".yaml");
    std::error_code error;
    if (!std::filesystem::exists(path, error)) continue;
    const auto text = read_text_file(path.string(), kMaxYamlBytes);
    if (!text) return fail(text.error());
    return read_platform_preset(*text, path.string(), kinds);
  }
  const auto names = platform_preset_names(folders);
  return fail(input_error(
      fmt::format("unknown platform preset '{}'", shown(name)),
      names.empty() ? "there are no presets in the preset folders" : suggest(name, names)));
}

std::vector<std::string> platform_preset_names(std::span<const std::string> folders) {
  std::set<std::string> names;
  for (const std::string& folder : folders) {
    std::error_code error;
    for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
         entry.increment(error))
      if (entry->path().extension() == ".yaml") names.insert(entry->path().stem().string());
  }
  return {names.begin(), names.end()};
}

}  // namespace pipecast
