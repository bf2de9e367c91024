#pragma once
#include <span>
#include <string>

#include "sim/model/accelerator.hpp"
#include "sim/read/platform_preset.hpp"

namespace pipecast {

/// One line per accelerator of the catalogue, with the numbers a purchase starts from.
Result<std::string> accelerator_table(std::span<const std::string> preset_folders);

/// Everything the catalogue says about one device: each number with certainty and source, what is
/// unknown, what nothing is said about, and price indications with their dates.
std::string accelerator_text(const Accelerator& accelerator);

/// The fields that a preset states, each with certainty and source.
std::string sources_text(const PlatformPreset& preset);

}  // namespace pipecast
