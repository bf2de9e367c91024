#pragma once
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/diagnostic.hpp"
#include "sim/model/accelerator.hpp"
#include "sim/model/platform.hpp"

namespace pipecast {

/// Text of a catalogue file → value, or every fault of the file.
///
///     name: NVIDIA H100 SXM5 80GB
///     vendor: NVIDIA
///     scale_up: NVLink 4
///     peak_bf16: {value: 989.4 TFLOP/s, source: data sheet, certainty: vendor, note: dense}
///     peak_fp4: {value: unknown, source: data sheet, certainty: vendor}
///     prices: [{what: device hour, low: 2 USD, high: 3 USD, date: "2026", source: …, certainty:
///     …}]
///
/// Properties are those of property_table(); a property may be left out. `file` gives the id.
Result<Accelerator> read_accelerator(std::string_view text, const std::string& file);

/// `accelerators/<id>.yaml` in the first preset folder that has it.
Result<Accelerator> find_accelerator(const std::string& id,
                                     std::span<const std::string> preset_folders);

/// Catalogue id → record, of every accelerator that a device of the platform names: peaks, memory
/// and bandwidth of device d are those of `at(platform.devices[d].accelerator)`. Devices that name
/// none are left out; a name that the catalogue lacks is an error. O(devices).
Result<std::map<std::string, Accelerator, std::less<>>> accelerators_of(
    const Platform& platform, std::span<const std::string> preset_folders);

/// Ids of all accelerators in the preset folders, sorted, each once.
std::vector<std::string> accelerator_ids(std::span<const std::string> preset_folders);

}  // namespace pipecast
