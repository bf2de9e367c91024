#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <map>

#include "sim/read/accelerator.hpp"
#include "sim/read/astra_network.hpp"
#include "sim/read/platform_parameters.hpp"
#include "sim/read/platform_parts.hpp"
#include "sim/read/platform_xml.hpp"
#include "sim/read/scenario_parts.hpp"
#include "sim/read/xml_tree.hpp"

namespace pipecast {
namespace {

/// Device numbers are bounded by what a platform can hold; whether it has so many is checked when
/// it is built.
constexpr std::int64_t kMaxDevice = (std::int64_t{1} << 24) - 1;

struct Delay {
  Seconds delay;
};
const std::array<Field<Delay>, 1> kDelayField{
    {{"delay", &Delay::delay, "of every message between two ranks", 0, 1e6, {}}}};

std::vector<int> read_devices(const YamlCursor& list, std::optional<int> ranks) {
  std::vector<int> devices;
  std::map<std::int64_t, std::size_t> rank_of;
  for (std::size_t rank = 0; rank < list.size(); ++rank) {
    const YamlCursor given = list.item(rank);
    const auto device = given.integer(0, kMaxDevice);
    if (!device) continue;
    const auto [earlier, is_new] = rank_of.try_emplace(*device, rank);
    if (!is_new)
      given.fault(fmt::format("device {} is given to rank {} already", *device, earlier->second),
                  "every rank needs a device of its own");
    devices.push_back(static_cast<int>(*device));
  }
  if (ranks && list.size() != static_cast<std::size_t>(*ranks))
    list.fault(fmt::format("{} names {} devices for {} ranks", list.path(), list.size(), *ranks));
  return devices;
}

void read_device_list(const YamlCursor& platform, std::span<const FieldInfo> fields,
                      std::optional<int> ranks, PlatformChoice& choice) {
  const auto given = platform.find("devices");
  if (!given) return;
  if (given->is_list()) {
    choice.devices = read_devices(*given, ranks);
    return;
  }
  for (const FieldInfo& field : fields)
    if (field.name == "devices") return;
  given->fault(fmt::format("{} must be a list: the device of each rank", given->path()));
}

void read_delay(const YamlCursor& platform, PlatformChoice& choice) {
  const auto fields = describe<Delay>(kDelayField);
  choice.delay = pipecast::bind<Delay>(kDelayField, platform.fields(fields)).delay;
}

/// Another accelerator than the preset's brings its own memory, unless that is given too. Its links
/// stay the preset's.
void take_memory(const YamlCursor& platform, const std::string& before, const ReadContext& context,
                 FaultList& faults, FieldValues& values) {
  const auto given = platform.find("accelerator");
  const auto named = values.find("accelerator");
  if (!given || named == values.end() || platform.has("memory") || !values.contains("memory"))
    return;
  const std::string& id = std::get<std::string>(named->second);
  if (id == before) return;
  const auto accelerator = find_accelerator(id, context.preset_folders);
  if (!accelerator) {
    faults.add(located(Diagnostics(accelerator.error()), given->where()));
    return;
  }
  if (const Result<Bytes> bytes = memory_of(*accelerator))
    values["memory"] = bytes->value;
  else
    given->fault("how much memory " + id + " has is not known", "give platform.memory too");
}

/// `card_bandwidth 25 GB/s (memory)`.
std::vector<std::string> unverified_of(const PlatformPreset& preset, const YamlCursor& platform) {
  std::vector<std::string> lines;
  for (const auto& [key, stated] : preset.stated)
    if ((stated.certainty == "memory" || stated.certainty == "estimate") && !platform.has(key))
      lines.push_back(fmt::format("{} {} ({})", key, stated.text, stated.certainty));
  return lines;
}

void read_preset(const YamlCursor& platform, std::optional<int> ranks, const ReadContext& context,
                 FaultList& faults, PlatformChoice& choice) {
  const auto given = platform.find("preset");
  const auto name = given ? given->text() : std::nullopt;
  if (!name) return;
  auto preset = preset_named(*name, context);
  if (!preset) {
    faults.add(located(std::move(preset.error()), given->where()));
    return;
  }
  for (const PlatformKind& kind : context.platform_kinds) {
    if (kind.name != preset->kind) continue;
    choice.kind = preset->kind;
    choice.preset = preset->name;
    choice.unverified = unverified_of(*preset, platform);
    choice.values = std::move(preset->values);
    const auto own = choice.values.find("accelerator");
    const std::string before = own == choice.values.end() ? "" : std::get<std::string>(own->second);
    read_platform_parameters(platform, kind, {"preset", "devices", "accelerators"}, choice.values);
    take_memory(platform, before, context, faults, choice.values);
    choice.parts = read_platform_parts(platform, kind, choice.values, context, faults);
    read_device_list(platform, kind.fields, ranks, choice);
    return;
  }
}

void read_inline(const YamlCursor& platform, std::optional<int> ranks, const ReadContext& context,
                 FaultList& faults, PlatformChoice& choice) {
  const auto given = platform.find("kind");
  const PlatformKind* kind = given ? read_platform_kind(*given, context.platform_kinds) : nullptr;
  if (kind == nullptr) return;
  choice.kind = std::string(kind->name);
  choice.values = default_values(*kind);
  read_platform_parameters(platform, *kind, {"kind", "devices", "accelerators"}, choice.values);
  choice.parts = read_platform_parts(platform, *kind, choice.values, context, faults);
  read_device_list(platform, kind->fields, ranks, choice);
}

/// What the devices of a file are where the file does not say.
struct FileDevices {
  std::string accelerator;
  Bytes memory;
};
const std::array<Field<FileDevices>, 2> kFileFields{{
    {"accelerator", &FileDevices::accelerator, "of devices whose file names none", 0, 0, {}},
    {"memory", &FileDevices::memory, "of devices whose file names none", 0, 1e15, {}},
}};

/// Memory that is not given is what the catalogue says of the accelerator.
FileDevices read_file_devices(const YamlCursor& platform, std::string_view format,
                              const ReadContext& context, FaultList& faults) {
  const auto fields = describe<FileDevices>(kFileFields);
  FileDevices given =
      pipecast::bind<FileDevices>(kFileFields, platform.fields(fields, {format, "devices"}));
  if (given.accelerator.empty()) return given;
  auto accelerator = find_accelerator(given.accelerator, context.preset_folders);
  if (!accelerator)
    faults.add(located(std::move(accelerator.error()), platform.find("accelerator")->where()));
  else if (!(given.memory.value > 0))
    given.memory = memory_of(*accelerator).value_or(Bytes{});
  return given;
}

/// A device that the file names an accelerator for has that one's memory, where the catalogue knows
/// it.
void fill_devices(Platform& platform, const FileDevices& otherwise, const ReadContext& context) {
  std::map<std::string, Bytes, std::less<>> memory{{otherwise.accelerator, otherwise.memory}};
  for (Device& device : platform.devices) {
    if (device.accelerator.empty()) device.accelerator = otherwise.accelerator;
    if (device.memory.value > 0) continue;
    if (!memory.contains(device.accelerator)) {
      const Result<Accelerator> known =
          find_accelerator(device.accelerator, context.preset_folders);
      const Result<Bytes> bytes = known ? memory_of(*known) : fail(known.error());
      memory.emplace(device.accelerator, bytes.value_or(Bytes{}));
    }
    device.memory = memory.find(device.accelerator)->second;
  }
}

/// `{xml: machine.xml}` or `{astra: network.yml}`.
void read_file(const YamlCursor& platform, std::string_view format, const std::string& scenario,
               std::optional<int> ranks, const ReadContext& context, FaultList& faults,
               PlatformChoice& choice) {
  const FileDevices otherwise = read_file_devices(platform, format, context, faults);
  read_device_list(platform, {}, ranks, choice);
  const auto given = platform.find(format);
  const auto path = given ? given->text() : std::nullopt;
  if (!path) return;
  choice.file_format = std::string(format);
  if (!otherwise.accelerator.empty()) choice.values["accelerator"] = otherwise.accelerator;
  if (otherwise.memory.value > 0) choice.values["memory"] = otherwise.memory.value;
  choice.file = (std::filesystem::path(scenario).parent_path() / *path).string();
  const Result<std::string> text =
      read_text_file(choice.file, format == "xml" ? kMaxXmlBytes : kMaxYamlBytes);
  if (!text) {
    faults.add(located(text.error(), given->where()));
    return;
  }
  Result<Platform> read = format == "xml" ? read_platform_xml(*text, choice.file)
                                          : read_astra_network(*text, choice.file);
  if (!read) {
    faults.add(std::move(read.error()));
    return;
  }
  fill_devices(*read, otherwise, context);
  choice.file_platform = std::move(*read);
}

}  // namespace

Result<PlatformPreset> preset_named(const std::string& name, const ReadContext& context) {
  for (const PlatformPreset& preset : context.presets)
    if (preset.name == name) return preset;
  return find_platform_preset(name, context.preset_folders, context.platform_kinds);
}

std::vector<DeviceId> devices_of(const PlatformChoice& choice, const ParallelLayout& layout) {
  std::vector<DeviceId> devices;
  for (const int device : choice.devices) devices.push_back({device});
  if (!devices.empty()) return devices;
  for (int device = 0; device < layout.devices(); ++device) devices.push_back({device});
  return devices;
}

PlatformChoice read_platform(const YamlCursor& platform, const std::string& file,
                             std::optional<int> ranks, const ReadContext& context,
                             FaultList& faults) {
  PlatformChoice choice;
  choice.where = platform.key_where();
  if (!platform.is_map()) {
    platform.expect_map({"preset", "kind", "xml", "astra", "delay", "devices"});
    return choice;
  }
  int ways = 0;
  for (const char* way : {"preset", "kind", "xml", "astra", "delay"}) ways += platform.has(way);
  if (ways != 1) {
    platform.fault_at_key(
        ways == 0 ? "platform names no machine"
                  : "platform takes one of preset, kind, xml, astra and delay, not several",
        "preset: name, or kind: name with its parameters, or xml: file, or "
        "astra: file, or delay: 601 us");
    return choice;
  }
  if (platform.has("preset")) read_preset(platform, ranks, context, faults, choice);
  if (platform.has("kind")) read_inline(platform, ranks, context, faults, choice);
  for (const char* format : {"xml", "astra"})
    if (platform.has(format)) read_file(platform, format, file, ranks, context, faults, choice);
  if (platform.has("delay")) read_delay(platform, choice);
  return choice;
}

}  // namespace pipecast
