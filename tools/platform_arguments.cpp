#include "tools/platform_arguments.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/read/astra_network.hpp"
#include "sim/read/platform_preset.hpp"
#include "sim/read/platform_xml.hpp"
#include "sim/read/text_file.hpp"
#include "sim/study/simulate.hpp"
#include "tools/scenario_arguments.hpp"

namespace pipecast {
namespace {

/// `--set field=value` over the values of a preset, with the checks of the kind's field table.
Result<Platform> built(const PlatformKind& kind, FieldValues values,
                       const std::vector<Override>& overrides) {
  Diagnostics faults;
  std::vector<std::string> names;
  for (const FieldInfo& field : kind.fields) names.push_back(field.name);
  for (const Override& given : overrides) {
    const auto field =
        std::find_if(kind.fields.begin(), kind.fields.end(),
                     [&](const FieldInfo& info) { return info.name == given.key_path; });
    if (field == kind.fields.end()) {
      faults.push_back(input_error(
          fmt::format("platform kind {} has no field '{}'", kind.name, shown(given.key_path)),
          suggest(given.key_path, names)));
      continue;
    }
    const auto value = parse_field(*field, given.value);
    if (value)
      values[field->name] = *value;
    else
      faults.push_back(input_error(value.error()));
  }
  if (!faults.empty()) return fail(std::move(faults));
  return make_platform(kind, values);
}

Result<Platform> of_preset(const Result<PlatformPreset>& preset, const Session& session,
                           const std::vector<Override>& overrides) {
  if (!preset) return fail(preset.error());
  Result<Platform> platform =
      built(*find_platform_kind(session.platform_kinds, preset->kind), preset->values, overrides);
  if (platform) platform->name = preset->name;
  return platform;
}

/// Presets have no pipeline.
bool is_scenario(std::string_view text) {
  return text.starts_with("pipeline:") || text.find("\npipeline:") != std::string_view::npos;
}

/// The machine of a scenario, as it is without imperfections.
Result<Platform> of_scenario(std::string_view text, const std::string& path, const Session& session,
                             const std::vector<Override>& overrides) {
  const Result<Scenario> scenario = read_scenario(text, path, session.context(), overrides);
  if (!scenario) return fail(scenario.error());
  Result<Platform> platform = pipecast::platform_of(*scenario, session.context());
  if (platform && !scenario->platform.preset.empty()) platform->name = scenario->platform.preset;
  return platform;
}

Result<Platform> of_file(const std::string& path, const Session& session,
                         const std::vector<Override>& overrides) {
  const Result<std::string> text = read_text_file(path, kMaxYamlBytes);
  if (!text) return fail(text.error());
  const bool is_xml = path.ends_with(".xml");
  if (!is_xml && is_scenario(*text)) return of_scenario(*text, path, session, overrides);
  if (!is_xml && !looks_like_astra_network(*text))
    return of_preset(read_platform_preset(*text, path, session.platform_kinds), session, overrides);
  if (!overrides.empty())
    return fail(input_error(fmt::format("{} has no fields that --set could change", path)));
  return is_xml ? read_platform_xml(*text, path) : read_astra_network(*text, path);
}

}  // namespace

void declare_platform_options(CLI::App& app) {
  value_option(app, "platform", "PLATFORM",
               "a preset, a file (.yaml, .xml; of a scenario: its machine), or a kind of "
               "fabric")
      ->required();
  declare_scenario_options(app);
}

Result<Platform> platform_of(const CLI::App& app, const Session& plain_session) {
  const auto overrides = overrides_of(app);
  if (!overrides) return fail(input_error(overrides.error()));
  const Session session = with_presets(app, plain_session);
  const std::string name = *text_of(app, "platform");
  const bool is_path = name.find('/') != std::string::npos || name.ends_with(".xml") ||
                       name.ends_with(".yaml") || name.ends_with(".yml");
  if (is_path) return of_file(name, session, *overrides);
  if (const PlatformKind* kind = find_platform_kind(session.platform_kinds, name))
    return built(*kind, parse_fields(kind->fields, {}).value_or(FieldValues{}), *overrides);
  return of_preset(find_platform_preset(name, session.preset_folders, session.platform_kinds),
                   session, *overrides);
}

Result<DeviceId> device_of(const std::string& text, const Platform& platform) {
  const auto number = parse_integer(text);
  const auto count = static_cast<std::int64_t>(platform.devices.size());
  if (number && *number >= 0 && *number < count)
    return DeviceId{static_cast<std::int32_t>(*number)};
  for (std::size_t device = 0; device < platform.devices.size(); ++device)
    if (platform.devices[device].name == text) return DeviceId{static_cast<std::int32_t>(device)};
  return fail(input_error(
      fmt::format("platform {} has no device '{}'", platform.name, shown(text)),
      fmt::format("0 to {}, or a name such as {}", count - 1, platform.devices.front().name)));
}

}  // namespace pipecast
