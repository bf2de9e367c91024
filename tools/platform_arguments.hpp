#pragma once
#include "sim/model/platform.hpp"
#include "tools/arguments.hpp"
#include "tools/commands.hpp"

namespace pipecast {

/// `PLATFORM`, `--set` and `--presets`, which every command about one platform has.
void declare_platform_options(CLI::App& app);

/// The platform that the command line names: a preset, a file of the same form, a SimGrid platform
/// (`.xml`), ASTRA-sim's network (a YAML file with npus_count), or a kind of fabric by its name;
/// with `--set field=value` over it where it has fields.
Result<Platform> platform_of(const CLI::App& app, const Session& session);

/// A device by its number or its name.
Result<DeviceId> device_of(const std::string& text, const Platform& platform);

}  // namespace pipecast
