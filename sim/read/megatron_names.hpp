#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pipecast {

/// What an argument that this program does not read means for a forecast.
enum class MegatronName : std::uint8_t {
  Harmless,    ///< Megatron's or its launcher's: changes neither shape, memory nor placement
  Unmodelled,  ///< Megatron's, and it may change precision, memory, time or the model
  Unknown,     ///< of neither: Megatron's parser stops at it
};

/// Names as on a command line, without the leading `--`, with dashes. Megatron-Core 0.16 with the
/// older names it replaced. O(names).
MegatronName megatron_name(std::string_view name);

/// Whether the argument belongs to what starts the processes: torchrun, srun, docker and the like.
bool is_launcher_name(std::string_view name);

/// Every name of Megatron that is listed, for suggestions; names this program reads are not among
/// them.
std::vector<std::string> listed_megatron_names();

}  // namespace pipecast
