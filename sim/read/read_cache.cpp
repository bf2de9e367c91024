#include "sim/read/read_cache.hpp"

#include <algorithm>

#include "sim/read/accelerator.hpp"
#include "sim/read/kernel_facts.hpp"
#include "sim/read/scenario.hpp"
#include "sim/read/yaml_tree.hpp"

namespace pipecast {
namespace {

/// Platforms of tens of thousands of devices take tens of megabytes.
constexpr std::size_t kMachinesKept = 8;

/// The machine a choice names; `devices` of a constant delay.
Result<Platform> machine_of(const PlatformChoice& choice, int devices,
                            std::span<const PlatformKind> kinds) {
  if (choice.kind.empty()) return constant_delay_platform(devices, choice.delay);
  const auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const PlatformKind& each) {
    return each.name == choice.kind;
  });
  if (kind == kinds.end())
    return fail(
        input_error("platform kind '" + choice.kind + "' is not registered", {}, choice.where));
  Result<Platform> platform = kind->expand(choice.values, choice.parts);
  if (!platform) return fail(located(std::move(platform.error()), choice.where));
  if (Diagnostics faults = check(*platform); !faults.empty())
    return fail(located(std::move(faults), choice.where));
  return platform;
}

}  // namespace

Result<const Platform*> ReadCache::machine(const PlatformChoice& choice, int devices,
                                           std::span<const PlatformKind> kinds) {
  const int needed = choice.kind.empty() ? devices : 0;
  const auto known = std::find_if(machines_.begin(), machines_.end(), [&](const Machine& machine) {
    return machine.kind == choice.kind && machine.devices == needed &&
           machine.delay == choice.delay && machine.values == choice.values &&
           machine.parts == choice.parts;
  });
  if (known != machines_.end()) {
    std::rotate(known, known + 1, machines_.end());
    return &machines_.back().platform;
  }
  Result<Platform> platform = machine_of(choice, needed, kinds);
  if (!platform) return fail(std::move(platform.error()));
  if (machines_.size() == kMachinesKept) machines_.erase(machines_.begin());
  machines_.push_back(
      {choice.kind, choice.values, choice.parts, choice.delay, needed, std::move(*platform)});
  return &machines_.back().platform;
}

Result<const DeviceModel*> ReadCache::device(const std::string& accelerator,
                                             std::span<const std::string> preset_folders) {
  const auto known = devices_.find(accelerator);
  if (known != devices_.end()) return &known->second;
  Result<DeviceModel> device = find_device_model(accelerator, preset_folders);
  if (!device) return fail(std::move(device.error()));
  return &devices_.emplace(accelerator, std::move(*device)).first->second;
}

Result<const Accelerator*> ReadCache::accelerator(const std::string& id,
                                                  std::span<const std::string> preset_folders) {
  const auto known = accelerators_.find(id);
  if (known != accelerators_.end()) return &known->second;
  Result<Accelerator> accelerator = find_accelerator(id, preset_folders);
  if (!accelerator) return fail(std::move(accelerator.error()));
  return &accelerators_.emplace(id, std::move(*accelerator)).first->second;
}

std::optional<ModelShape> ReadCache::model(const YamlCursor& block, const std::string& file,
                                           std::span<const std::string> preset_folders) {
  const std::string key = file + '\n' + flow_text(block.node());
  if (const auto known = models_.find(key); known != models_.end()) return known->second;
  std::optional<ModelShape> shape = read_model_block(block, file, preset_folders);
  if (shape) models_.emplace(key, *shape);
  return shape;
}

}  // namespace pipecast
