#pragma once
#include <array>
#include <cstdint>
#include <string_view>

namespace pipecast {

/// A direction in which a model is spread over devices.
enum class ParallelDimension : std::uint8_t { Tensor, Context, Expert, Data, Pipeline };

/// Dimensions whose devices compute a stage together and exchange inside its operations.
inline constexpr std::array kGroupDimensions{ParallelDimension::Tensor, ParallelDimension::Context,
                                             ParallelDimension::Expert};

/// `tensor`, `context`, …
std::string_view dimension_name(ParallelDimension dimension);
/// `tp`, `cp`, `ep`, `dp`, `pp`.
std::string_view dimension_abbreviation(ParallelDimension dimension);

}  // namespace pipecast
