#pragma once
#include <vector>

#include "sim/base/diagnostic.hpp"
#include "sim/model/program.hpp"

/// Programs that span several weight updates without stopping the pipeline in between, and programs
/// whose microbatches are cut along the sequence.
namespace pipecast {

/// What one stage copy keeps of its weights.
struct WeightUse {
  int versions = 1;   ///< versions held at once, at most: those in use and the newest
  int staleness = 0;  ///< updates by which a microbatch's weights trail a flush before its group
  bool operator==(const WeightUse&) const = default;
};

/// [direction · stages + stage], as Placement::rank_of. A stage copy updates its weights when the
/// last weight gradient of a group has been computed there. O(operations).
std::vector<WeightUse> weight_use(const Program& program);

/// Microbatches divide into steps, cuts and updates; shares of a cut are positive and add up to 1.
Diagnostics check_units(const Program& program);

/// Every forward finds the weights its rule names: under Flush no group starts early, under
/// OneBatchBehind the group before the last is done. A cut's forward follows the cut before it, a
/// cut's backward the cut behind it. For programs that pass the other checks. O(operations).
Diagnostics check_weights(const Program& program);

}  // namespace pipecast
