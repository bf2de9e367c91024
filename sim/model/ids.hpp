#pragma once
#include <compare>
#include <cstdint>

namespace pipecast {

/// A position in one kind of list; indices of different kinds do not mix.
template <class Kind>
struct Index {
  std::int32_t value = 0;
  constexpr auto operator<=>(const Index&) const = default;
  constexpr std::size_t at() const { return static_cast<std::size_t>(value); }
};

using Rank = Index<struct RankKind>;    ///< a pipeline rank, 0 … P−1
using Stage = Index<struct StageKind>;  ///< a model part in pipeline order, 0 … P·v−1
using Microbatch = Index<struct MicrobatchKind>;  ///< 0 … m−1
using TaskId = Index<struct TaskKind>;            ///< a vertex of the task graph
using DeviceId = Index<struct DeviceKind>;        ///< a GPU or NPU of the platform
using LinkId = Index<struct LinkKind>;            ///< one direction of a wire

}  // namespace pipecast
